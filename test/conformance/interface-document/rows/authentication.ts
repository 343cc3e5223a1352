/** Authentication: the headers of a request, and the rules of its signature. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { create, liveMerchant, order, paidIn, REFUNDS, refundBody, SESSIONS } from '../journeys.ts';
import { row, section } from '../row.ts';
import { accepted, refused, type Shop } from '../shop.ts';

/** Reads a session with some of its headers changed. */
async function read(shop: Shop, bend: Parameters<Shop['call']>[3]) {
  const { id } = await shop.once('order to read', () => create(shop));
  return shop.call('GET', `${SESSIONS}/${id}`, '', bend);
}

const without = (shop: Shop, name: string) => read(shop, { headers: { [name]: null } });

export const authenticationSections = [
  section(
    'Authentication',
    row('Content-Type: application/json', async (shop) => {
      const bend = { headers: { 'Content-Type': 'text/plain' } };
      refused(await shop.call('POST', `${SESSIONS}/create`, order(shop), bend), 400);
    }),
    row('Content-Type may be omitted on GET', async (shop) => accepted(await without(shop, 'Content-Type'))),
    row('Authorization: Bearer <API_KEY>, required', async (shop) => {
      refused(await without(shop, 'Authorization'), 401, undefined, 'Authorization');
      refused(await read(shop, { headers: { Authorization: `Basic ${shop.apiKey}` } }), 401);
    }),
    row('Production keys start with sk_live_', async (shop) => {
      assert.match((await liveMerchant(shop)).apiKey, /^sk_live_/);
    }),
    row('test keys start with sk_test_', (shop) => assert.match(shop.apiKey, /^sk_test_/)),
    row('X-Service-Timestamp: Unix time in seconds, required', async (shop) => {
      refused(await without(shop, 'X-Service-Timestamp'), 401, undefined, 'X-Service-Timestamp');
      refused(await read(shop, { timestamp: String(Date.now()) }), 401);
    }),
    row('X-Service-Nonce: random string (a UUID is recommended), required', async (shop) => {
      refused(await without(shop, 'X-Service-Nonce'), 401, undefined, 'X-Service-Nonce');
      accepted(await read(shop, { nonce: randomUUID() }));
    }),
    row('X-Service-Nonce: single-use', async (shop) => {
      const nonce = randomUUID();
      accepted(await read(shop, { nonce }));
      refused(await read(shop, { nonce }), 401);
    }),
    row('X-Service-Signature: HMAC-SHA256, hex encoded, required', async (shop) => {
      refused(await without(shop, 'X-Service-Signature'), 401, undefined, 'X-Service-Signature');
      refused(await read(shop, { headers: { 'X-Service-Signature': '0'.repeat(64) } }), 401);
    }),
    row('X-Merchant-Id: merchant id assigned by the platform', async (shop) => {
      const { paid } = await paidIn(shop, 'bsc', 'USDT');
      const send = (id: string) =>
        shop.call('POST', `${REFUNDS}/create`, refundBody(paid.id, 'USDT', '0.10'), {
          headers: { 'X-Merchant-Id': id },
        });
      accepted(await send(shop.merchantId), 201);
      refused(await send('mer_other'), 403, 'FORBIDDEN');
    }),
  ),
  section(
    'Signature rules',
    row('requestBody is the exact JSON text of the body', async (shop) => {
      const body = order(shop);
      const spaced = JSON.stringify(body, null, 2);
      refused(await shop.call('POST', `${SESSIONS}/create`, spaced, { signedBody: JSON.stringify(body) }), 401);
      accepted(await shop.call('POST', `${SESSIONS}/create`, spaced));
    }),
    row('For GET, or when there is no body, it is an empty string', async (shop) => {
      accepted(await read(shop, { signedBody: '' }));
      const { id } = await create(shop);
      accepted(await shop.call('POST', `${SESSIONS}/${id}/cancel`, '', { signedBody: '' }));
    }),
    row('It is never null', async (shop) => refused(await read(shop, { signedBody: 'null' }), 401)),
    row('signString is timestamp, a dot, nonce, a dot, requestBody', async (shop) => {
      accepted(await read(shop, {}));
      refused(await read(shop, { signedBody: '.' }), 401);
    }),
    row('keyed with the secret paired with the API key', async (shop) => {
      refused(await read(shop, { secret: shop.endpointSecret }), 401);
    }),
    row(
      [
        'The server rejects a timestamp outside the allowed window (typically 5 minutes)',
        'Limits: timestamp tolerance',
      ],
      async (shop) => {
        for (const clockOffS of [-310, 310]) refused(await read(shop, { clockOffS }), 401);
        for (const clockOffS of [-280, 280]) accepted(await read(shop, { clockOffS }));
      },
    ),
    row('The server rejects a nonce that was already used', async (shop) => {
      const [nonce, body] = [randomUUID(), order(shop)];
      accepted(await shop.call('POST', `${SESSIONS}/create`, body, { nonce }));
      refused(await shop.call('POST', `${SESSIONS}/create`, body, { nonce }), 401);
    }),
    row('The server recomputes the signature and compares it with the header', async (shop) => {
      const body = order(shop);
      const changed = { ...body, amount: 1 };
      refused(await shop.call('POST', `${SESSIONS}/create`, changed, { signedBody: JSON.stringify(body) }), 401);
    }),
    row('Failed authentication gives 401 (code invalid_api_key for an invalid key)', async (shop) => {
      const bend = { headers: { Authorization: `Bearer sk_test_${'0'.repeat(32)}` } };
      refused(await read(shop, bend), 401, 'invalid_api_key');
    }),
  ),
];
