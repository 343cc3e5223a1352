/** Endpoints of payment sessions: parameters, answers and status codes. */
import * as assert from 'uvu/assert';
import type { Json } from '../installation.ts';
import { canceled, create, expired, full, order, otherMerchant, readSession, SESSIONS } from '../journeys.ts';
import { row, section } from '../row.ts';
import { accepted, refused, type Shop } from '../shop.ts';

const REQUIRED_FIELDS = ['id', 'amount_total', 'currency', 'payment_status', 'created', 'expires_at', 'url'];
const NO_SESSION = `cs_${'0'.repeat(26)}`;

const createWith = (shop: Shop, fields: object) => shop.call('POST', `${SESSIONS}/create`, order(shop, fields));

function isPaymentSession(body: Json): void {
  for (const field of REQUIRED_FIELDS) assert.ok(field in body, field);
}

/** A call that nobody signed. */
const unsigned = { headers: { 'X-Service-Signature': '0'.repeat(64) } };

export const sessionEndpointSections = [
  section(
    'POST /api/v1/checkout/sessions/create',
    row('amount: int64, required, minor units', async (shop) => {
      refused(await createWith(shop, { amount: undefined }), 400, undefined, 'amount');
      for (const amount of ['1050', 10.5, 0, -1]) refused(await createWith(shop, { amount }), 400, undefined, 'amount');
    }),
    row('amount: must equal the sum of the line item amounts, the tax and the shipping, as given', async (shop) => {
      const { body, created } = await full(shop);
      assert.is(created.amount_total, body.amount);
      const other = { ...body, order_id: shop.orderId(), amount: body.amount + 1 };
      refused(await shop.call('POST', `${SESSIONS}/create`, other), 400, undefined, 'amount');
    }),
    row('currency: string, required, currency code', async (shop) => {
      refused(await createWith(shop, { currency: undefined }), 400, undefined, 'currency');
      refused(await createWith(shop, { currency: 'XQX' }), 400, undefined, 'currency');
    }),
    row('order_id: string, required', async (shop) => {
      refused(await createWith(shop, { order_id: undefined }), 400, undefined, 'order_id');
    }),
    row('order_id: must be unique', async (shop) => {
      const body = order(shop);
      const { id } = await create(shop, body);
      refused(await shop.call('POST', `${SESSIONS}/create`, { ...body, amount: 2000 }), 400, undefined, 'order_id');
      // The same request again is the same order.
      assert.is(accepted(await shop.call('POST', `${SESSIONS}/create`, body)).id, id);
    }),
    row('description: string, not required', async (shop) => {
      isPaymentSession(accepted(await createWith(shop, { description: 'Two coffees' })));
      refused(await createWith(shop, { description: 7 }), 400, undefined, 'description');
    }),
    row('line_items: array, not required', async (shop) => {
      isPaymentSession(accepted(await createWith(shop, { line_items: undefined })));
      refused(await createWith(shop, { line_items: 'coffee' }), 400, undefined, 'line_items');
    }),
    row('line_items[].price_data: object, required when line_items is given', async (shop) => {
      refused(await createWith(shop, { line_items: [{}] }), 400, undefined, 'line_items[0].price_data');
    }),
    row('line_items[].price_data.currency: must equal the top-level currency', async (shop) => {
      const line_items = [item({ currency: 'EUR' })];
      refused(await createWith(shop, { line_items }), 400, undefined, 'line_items[0].price_data.currency');
    }),
    row('line_items[].price_data.unit_amount: int64, required, minor units', async (shop) => {
      const line_items = [item({ unit_amount: undefined })];
      refused(await createWith(shop, { line_items }), 400, undefined, 'line_items[0].price_data.unit_amount');
    }),
    row('line_items[].price_data.product_data: object, required', async (shop) => {
      const line_items = [item({ product_data: undefined })];
      refused(await createWith(shop, { line_items }), 400, undefined, 'line_items[0].price_data.product_data');
    }),
    row('line_items[].price_data.product_data.name: string, required', async (shop) => {
      const line_items = [item({ product_data: { description: 'hot' } })];
      refused(await createWith(shop, { line_items }), 400, undefined, 'line_items[0].price_data.product_data.name');
    }),
    row('line_items[].price_data.product_data.description: string, not required', async (shop) => {
      const line_items = [item({ product_data: { name: 'Coffee', description: 'hot' } })];
      const [first] = accepted(await createWith(shop, { line_items })).line_items;
      assert.equal(first.price_data.product_data, { name: 'Coffee', description: 'hot' });
    }),
    row('line_items[].quantity: number, default 1', async (shop) => {
      const [first] = accepted(await createWith(shop, { line_items: [item({})] })).line_items;
      assert.is(first.quantity, 1);
      accepted(await createWith(shop, { amount: 3150, line_items: [{ ...item({}), quantity: 3 }] }));
    }),
    row('tax_amount: int64, not required, minor units', async (shop) => {
      assert.is(accepted(await createWith(shop, { tax_amount: 50 })).tax_amount, 50);
      refused(await createWith(shop, { tax_amount: '50' }), 400, undefined, 'tax_amount');
    }),
    row('shipping_amount: int64, not required, minor units', async (shop) => {
      assert.is(accepted(await createWith(shop, { shipping_amount: 50 })).shipping_amount, 50);
      refused(await createWith(shop, { shipping_amount: -1 }), 400, undefined, 'shipping_amount');
    }),
    row('success_url: redirect after success', async (shop) => {
      isPaymentSession(accepted(await createWith(shop, { success_url: 'https://shop.example/thanks' })));
      refused(await createWith(shop, { success_url: 'thanks' }), 400, undefined, 'success_url');
    }),
    row('cancel_url: redirect after cancel', async (shop) => {
      const { url } = accepted(await createWith(shop, { cancel_url: 'https://shop.example/basket-77' }));
      assert.match(await (await fetch(url)).text(), /https:\/\/shop\.example\/basket-77/);
    }),
    row('metadata: object, key-value pairs', async (shop) => {
      assert.is(accepted(await createWith(shop, { metadata: { cart: 'c-1' } })).metadata.cart, 'c-1');
      refused(await createWith(shop, { metadata: 'cart' }), 400, undefined, 'metadata');
    }),
    row('expires_in: integer, seconds, 60 to 3600; default is 30 minutes', async (shop) => {
      for (const expires_in of [59, 3601, 90.5, '90']) {
        refused(await createWith(shop, { expires_in }), 400, undefined, 'expires_in');
      }
      const { created, expires_at } = await create(shop);
      assert.is(expires_at - created, 1800);
    }),
    row('Response: PaymentSession', async (shop) => isPaymentSession((await full(shop)).created)),
    row('200 success', async (shop) => assert.is((await createWith(shop, {})).status, 200)),
    row('400 bad request', async (shop) => {
      refused(await shop.call('POST', `${SESSIONS}/create`, '{"amount":'), 400, 'invalid_json');
    }),
    row('401 authentication failed', async (shop) => {
      refused(await shop.call('POST', `${SESSIONS}/create`, order(shop), unsigned), 401);
    }),
    row('503 service unavailable (the exchange-rate service is unavailable)', async (shop) => {
      refused(await createWith(shop, { currency: 'RON' }), 503, 'exchange_rate_unavailable');
    }),
  ),
  section(
    'GET /api/v1/checkout/sessions/{session_id}',
    row('session_id: string, required', async (shop) => {
      const { id } = await create(shop);
      assert.is((await readSession(shop, id)).id, id);
    }),
    row('No body; Content-Type is not needed', async (shop) => {
      const { id } = await create(shop);
      const answer = await shop.call('GET', `${SESSIONS}/${id}`, '', { headers: { 'Content-Type': null } });
      assert.is(accepted(answer).id, id);
    }),
    row('Response: PaymentSession', async (shop) => {
      const { created } = await full(shop);
      isPaymentSession(await readSession(shop, created.id));
    }),
    row('200', async (shop) => {
      assert.is((await shop.call('GET', `${SESSIONS}/${(await create(shop)).id}`)).status, 200);
    }),
    row('401', async (shop) => {
      refused(await shop.call('GET', `${SESSIONS}/${(await create(shop)).id}`, '', unsigned), 401);
    }),
    row('404 (session does not exist)', async (shop) => {
      refused(await shop.call('GET', `${SESSIONS}/${NO_SESSION}`), 404, 'session_not_found');
    }),
    row('404 (session is not accessible to the caller)', async (shop) => {
      const { merchant } = await otherMerchant(shop);
      refused(await merchant.call('GET', `${SESSIONS}/${(await create(shop)).id}`), 404, 'session_not_found');
    }),
  ),
  section(
    'POST /api/v1/checkout/sessions/{session_id}/cancel',
    row('Cancels (expires) the session', async (shop) => {
      assert.is((await canceled(shop)).canceled.payment_status, 'canceled');
    }),
    row('session_id: string, required', async (shop) => {
      const { created, answer } = await canceled(shop);
      assert.is(answer.id, created.id);
    }),
    row('Response: PaymentSession', async (shop) => isPaymentSession((await canceled(shop)).answer)),
    row('200', async (shop) => {
      assert.is((await shop.call('POST', `${SESSIONS}/${(await create(shop)).id}/cancel`)).status, 200);
    }),
    row('400 (session already expired)', async (shop) => {
      const { created } = await expired(shop);
      refused(await shop.call('POST', `${SESSIONS}/${created.id}/cancel`), 400, 'session_expired');
    }),
    row('401', async (shop) => {
      const { id } = await create(shop);
      refused(await shop.call('POST', `${SESSIONS}/${id}/cancel`, '', unsigned), 401);
      assert.is((await readSession(shop, id)).payment_status, 'pending');
    }),
    row('404 (session does not exist)', async (shop) => {
      refused(await shop.call('POST', `${SESSIONS}/${NO_SESSION}/cancel`), 404, 'session_not_found');
    }),
    row('404 (session is not accessible)', async (shop) => {
      const { merchant } = await otherMerchant(shop);
      const { id } = await create(shop);
      refused(await merchant.call('POST', `${SESSIONS}/${id}/cancel`), 404, 'session_not_found');
      assert.is((await readSession(shop, id)).payment_status, 'pending');
    }),
  ),
];

/** A line item of 10.50 USD. */
const item = (fields: object) => ({
  price_data: { currency: 'USD', unit_amount: 1050, product_data: { name: 'Coffee' }, ...fields },
});
