/** The error body, limits and versioning. */
import * as assert from 'uvu/assert';
import { type Json, RETRY_DELAYS_S } from '../installation.ts';
import { create, order, paidIn, REFUNDS, refundBody, refundedTwice, SESSIONS } from '../journeys.ts';
import { row, section } from '../row.ts';
import { accepted, nowS, refused, type Shop } from '../shop.ts';
import { slow, TIMEOUT_S } from './events.ts';

/** A refusal that names a parameter. */
const refusal = (shop: Shop): Promise<Json> =>
  shop.once(
    'refusal',
    async () => (await shop.call('POST', `${SESSIONS}/create`, order(shop, { amount: 'much' }))).body,
  );

export const errorSections = [
  section(
    'Error response body',
    row('error.type: string, for example invalid_request_error', async (shop) => {
      assert.is((await refusal(shop)).error.type, 'invalid_request_error');
    }),
    row('error.code: string', async (shop) => assert.type((await refusal(shop)).error.code, 'string')),
    row('error.message: string', async (shop) => assert.ok((await refusal(shop)).error.message.length > 10)),
    row('error.param: name of the offending parameter', async (shop) => {
      assert.is((await refusal(shop)).error.param, 'amount');
    }),
    row('error.doc_url: link to the error documentation', async (shop) => {
      const { doc_url, code } = (await refusal(shop)).error;
      const page = await fetch(doc_url);
      assert.is(page.status, 200);
      assert.ok((await page.text()).includes(code));
    }),
    row('request_id: string', async (shop) => assert.type((await refusal(shop)).request_id, 'string')),
    row('timestamp: number, Unix seconds', async (shop) => {
      const { timestamp } = await refusal(shop);
      assert.ok(Number.isInteger(timestamp) && Math.abs(timestamp - nowS()) < 3600);
    }),
  ),
  section(
    'Limits',
    row('Refund total per session: the sum must not exceed the original payment amount', async (shop) => {
      const { session } = await refundedTwice(shop);
      const answer = await shop.call('POST', `${REFUNDS}/create`, refundBody(session.id, 'USDT', '1.00'));
      refused(answer, 400, 'REFUND_AMOUNT_EXCEEDED');
    }),
    row('Refund per request: must not exceed the original payment amount', async (shop) => {
      const { paid } = await paidIn(shop, 'solana', 'USDC');
      const answer = await shop.call('POST', `${REFUNDS}/create`, refundBody(paid.id, 'USDC', '10.51'));
      refused(answer, 400, 'REFUND_AMOUNT_EXCEEDED');
    }),
    row('Refundable sessions: only paid sessions', async (shop) => {
      const { id } = await create(shop);
      refused(await shop.call('POST', `${REFUNDS}/create`, refundBody(id, 'USDT')), 400, 'INVALID_SESSION_STATUS');
    }),
    row('Refund count per session: several allowed', async (shop) => {
      const { parts } = await refundedTwice(shop);
      assert.is(new Set(parts.map(({ completed }) => completed.receipt_number)).size, 2);
    }),
    row('Timestamp tolerance: about 5 minutes (300 seconds)', async (shop) => {
      const { id } = await create(shop);
      const at = (clockOffS: number) => shop.call('GET', `${SESSIONS}/${id}`, '', { clockOffS });
      accepted(await at(-280));
      refused(await at(-310), 401);
    }),
    row('Session lifetime: default 30 minutes; expires_in 60 to 3600 seconds', async (shop) => {
      const [usual, short] = await Promise.all([create(shop), create(shop, { expires_in: 61 })]);
      assert.equal([usual.expires_at - usual.created, short.expires_at - short.created], [1800, 61]);
    }),
    row('Webhook timeout: 30 seconds', async (shop) => {
      assert.ok((await slow(shop)).openMs >= (TIMEOUT_S - 1) * 1000);
    }),
    row('Webhook retries: at most 10', (shop) => {
      assert.is(shop.installation.shipped().webhooks.retry_delays_s.length, 10);
      assert.is(RETRY_DELAYS_S.length, 10);
    }),
    row('Confirmations: TRON payments, 19 blocks by default', async (shop) => {
      const { paid } = await paidIn(shop, 'tron', 'USDC');
      assert.ok(paid.payments[0].confirmations >= 19);
    }),
  ),
  section(
    'Versioning',
    row('The path prefix /api/v1 carries the major version of the interface', async (shop) => {
      refused(await shop.call('GET', `/api/v2/checkout/sessions/${(await create(shop)).id}`), 404);
    }),
    row('a version header named after the service (Service-Version) with a date-form value', async (shop) => {
      const { id } = await create(shop);
      const plain = accepted(await shop.call('GET', `${SESSIONS}/${id}`));
      const bend = { headers: { 'Service-Version': '2025-01-01' } };
      assert.equal(accepted(await shop.call('GET', `${SESSIONS}/${id}`, '', bend)), plain);
    }),
  ),
];
