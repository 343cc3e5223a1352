/** Endpoints of payment sessions: parameters, answers and status codes. */
import * as assert from 'uvu/assert';
import type { Json } from '../installation.ts';
import { canceled, create, expired, full, order, otherMerchant, readSession, SESSIONS, unsigned } from '../journeys.ts';
import { refuses, row, section } from '../row.ts';
import { accepted, refused, type Shop } from '../shop.ts';

const REQUIRED_FIELDS = ['id', 'amount_total', 'currency', 'payment_status', 'created', 'expires_at', 'url'];
const NO_SESSION = `cs_${'0'.repeat(26)}`;

const createWith = (shop: Shop, fields: object) => shop.call('POST', `${SESSIONS}/create`, order(shop, fields));

function isPaymentSession(body: Json): void {
  for (const field of REQUIRED_FIELDS) assert.ok(field in body, field);
}

/** Returns a row about a field of the create call: values that it takes, and others that it refuses. */
const field = (title: string, param: string, takes: readonly unknown[], refusals: readonly unknown[]) =>
  row(title, async (shop) => {
    for (const value of takes) isPaymentSession(accepted(await createWith(shop, { [param]: value })));
    for (const value of refusals) refused(await createWith(shop, { [param]: value }), 400, undefined, param);
  });

/** A line item of 10.50 USD. */
const item = (fields: object) => ({
  price_data: { currency: 'USD', unit_amount: 1050, product_data: { name: 'Coffee' }, ...fields },
});

/** Returns a row about a line item that is refused. @param place the wrong field of its price data */
const wrongItem = (title: string, place: string, ...lines: readonly object[]) =>
  row(title, async (shop) => {
    const param = `line_items[0].price_data${place}`;
    for (const line of lines) refused(await createWith(shop, { line_items: [line] }), 400, undefined, param);
  });

export const sessionEndpointSections = [
  section(
    'POST /api/v1/checkout/sessions/create',
    field('amount: int64, required, minor units', 'amount', [1], [undefined, '1050', 10.5, 0, -1]),
    row('amount: must equal the sum of the line item amounts, the tax and the shipping, as given', async (shop) => {
      const { body, created } = await full(shop);
      assert.is(created.amount_total, body.amount);
      const other = { ...body, order_id: shop.orderId(), amount: body.amount + 1 };
      refused(await shop.call('POST', `${SESSIONS}/create`, other), 400, undefined, 'amount');
    }),
    field('currency: string, required, currency code', 'currency', ['USDC'], [undefined, 'XQX']),
    field('order_id: string, required', 'order_id', [], [undefined]),
    row('order_id: must be unique', async (shop) => {
      const body = order(shop);
      const { id } = await create(shop, body);
      refused(await shop.call('POST', `${SESSIONS}/create`, { ...body, amount: 2000 }), 400, undefined, 'order_id');
      // A repeated request is the same order.
      assert.is(accepted(await shop.call('POST', `${SESSIONS}/create`, body)).id, id);
    }),
    field('description: string, not required', 'description', ['Two coffees', undefined], [7]),
    field('line_items: array, not required', 'line_items', [undefined], ['coffee']),
    wrongItem('line_items[].price_data: object, required when line_items is given', '', {}),
    wrongItem(
      'line_items[].price_data.currency: must equal the top-level currency',
      '.currency',
      item({ currency: 'EUR' }),
    ),
    wrongItem(
      'line_items[].price_data.unit_amount: int64, required, minor units',
      '.unit_amount',
      ...[undefined, '1050'].map((unit_amount) => item({ unit_amount })),
    ),
    wrongItem(
      'line_items[].price_data.product_data: object, required',
      '.product_data',
      ...[undefined, 'Coffee'].map((product_data) => item({ product_data })),
    ),
    wrongItem(
      'line_items[].price_data.product_data.name: string, required',
      '.product_data.name',
      item({ product_data: { description: 'hot' } }),
    ),
    row('line_items[].quantity: number, default 1', async (shop) => {
      const [first] = accepted(await createWith(shop, { line_items: [item({})] })).line_items;
      assert.is(first.quantity, 1);
      accepted(await createWith(shop, { amount: 3150, line_items: [{ ...item({}), quantity: 3 }] }));
    }),
    field('tax_amount: int64, not required, minor units', 'tax_amount', [50], ['50']),
    field('shipping_amount: int64, not required, minor units', 'shipping_amount', [50], [-1]),
    field('success_url: redirect after success', 'success_url', ['https://shop.example/thanks'], ['thanks']),
    row('cancel_url: redirect after cancel', async (shop) => {
      const { url } = accepted(await createWith(shop, { cancel_url: 'https://shop.example/basket-77' }));
      assert.match(await (await fetch(url)).text(), /https:\/\/shop\.example\/basket-77/);
    }),
    field('metadata: object, key-value pairs', 'metadata', [{ cart: 'c-1' }], ['cart']),
    field('expires_in: integer, seconds, 60 to 3600', 'expires_in', [60, 3600], [59, 3601, 90.5, '90']),
    row('Response: PaymentSession; 200 success', async (shop) => isPaymentSession((await full(shop)).created)),
    refuses('400 bad request', (shop) => shop.call('POST', `${SESSIONS}/create`, '{"amount":'), 'invalid_json'),
    refuses('401 authentication failed', (shop) => shop.call('POST', `${SESSIONS}/create`, order(shop), unsigned)),
    refuses(
      '503 service unavailable (the exchange-rate service is unavailable)',
      (shop) => createWith(shop, { currency: 'RON' }),
      'exchange_rate_unavailable',
    ),
  ),
  section(
    'GET /api/v1/checkout/sessions/{session_id}',
    row(
      ['session_id: string, required', 'No body; Content-Type is not needed', 'Response: PaymentSession', '200'],
      async (shop) => {
        const { created } = await full(shop);
        const answer = await shop.call('GET', `${SESSIONS}/${created.id}`, '', { headers: { 'Content-Type': null } });
        isPaymentSession(accepted(answer));
        assert.is(answer.body.id, created.id);
      },
    ),
    refuses('401', async (shop) => shop.call('GET', `${SESSIONS}/${(await create(shop)).id}`, '', unsigned)),
    refuses(
      '404 (session does not exist)',
      (shop) => shop.call('GET', `${SESSIONS}/${NO_SESSION}`),
      'session_not_found',
    ),
    refuses(
      '404 (session is not accessible to the caller)',
      async (shop) => {
        const { merchant } = await otherMerchant(shop);
        return merchant.call('GET', `${SESSIONS}/${(await create(shop)).id}`);
      },
      'session_not_found',
    ),
  ),
  section(
    'POST /api/v1/checkout/sessions/{session_id}/cancel',
    row(
      ['Cancels (expires) the session', 'session_id: string, required', 'Response: PaymentSession', '200'],
      async (shop) => {
        const { created, answer, canceled: read } = await canceled(shop);
        isPaymentSession(answer);
        assert.is(answer.id, created.id);
        assert.is(read.payment_status, 'canceled');
      },
    ),
    refuses(
      '400 (session already expired)',
      async (shop) => shop.call('POST', `${SESSIONS}/${(await expired(shop)).created.id}/cancel`),
      'session_expired',
    ),
    row('401; 404 (session is not accessible)', async (shop) => {
      const { merchant } = await otherMerchant(shop);
      const { id } = await create(shop);
      refused(await shop.call('POST', `${SESSIONS}/${id}/cancel`, '', unsigned), 401);
      refused(await merchant.call('POST', `${SESSIONS}/${id}/cancel`), 404, 'session_not_found');
      assert.is((await readSession(shop, id)).payment_status, 'pending');
    }),
    refuses(
      '404 (session does not exist)',
      (shop) => shop.call('POST', `${SESSIONS}/${NO_SESSION}/cancel`),
      'session_not_found',
    ),
  ),
];
