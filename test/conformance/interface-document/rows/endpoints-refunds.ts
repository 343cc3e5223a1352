/** Endpoints of refunds: parameters, answers, status codes and every code of the error table. */
import * as assert from 'uvu/assert';
import type { Json } from '../installation.ts';
import {
  askRefund,
  create,
  otherMerchant,
  paidIn,
  pay,
  REFUNDS,
  refundBody,
  refundCanceled,
  refundedIn,
  refundPending,
  refundsRejected,
  refundTooLate,
} from '../journeys.ts';
import { row, section } from '../row.ts';
import { accepted, type Merchant, refused, type Shop } from '../shop.ts';

const NO_SESSION = `cs_${'0'.repeat(26)}`;
const unsigned = { headers: { 'X-Service-Signature': '0'.repeat(64) } };

const SUBSET = [
  'refund_id',
  'session_id',
  'order_id',
  'amount',
  'currency',
  'status',
  'reason',
  'description',
  'created_at',
  'metadata',
];

/** Asks for a refund of the order that was paid in USDT on BSC, with some fields changed. */
async function ask(shop: Shop, fields: object, merchant: Merchant = shop) {
  const { paid } = await paidIn(shop, 'bsc', 'USDT');
  return merchant.call('POST', `${REFUNDS}/create`, { ...refundBody(paid.id, 'USDT', '0.10'), ...fields });
}

const read = async (merchant: Merchant, body: Json) => merchant.call('GET', `${REFUNDS}/${body.refund_id}`);

/** An order of 12,000.00, which is more than a day's refunds. */
const large = (shop: Shop) =>
  shop.once('large order', async () => {
    const { paid } = await pay(shop, { network: 'bsc', currency: 'USDT' }, { amount: 1_200_000 });
    return shop.call('POST', `${REFUNDS}/create`, refundBody(paid.id, 'USDT', '10000.01'));
  });

export const refundEndpointSections = [
  section(
    'POST /api/v1/refunds/create',
    row('order_id: the payment session id (of the form sess_<id>), not the merchant order id', async (shop) => {
      const { paid } = await paidIn(shop, 'bsc', 'USDT');
      const written = `sess_${paid.id.replace(/^[a-z]+_/, '')}`;
      assert.is(accepted(await ask(shop, { order_id: written }), 201).session_id, paid.id);
      refused(await ask(shop, { order_id: paid.metadata.order_id }), 404, 'SESSION_NOT_FOUND');
    }),
    row('refund_id: merchant-unique; idempotency key', async (shop) => {
      const { paid } = await paidIn(shop, 'bsc', 'USDT');
      const body = refundBody(paid.id, 'USDT', '0.10');
      const [first, ...again] = await Promise.all([1, 2, 3].map(() => askRefund(shop, body)));
      for (const one of again) assert.equal(one, first);
    }),
    row('amount: decimal string', async (shop) => {
      assert.is(accepted(await ask(shop, { amount: '0.2' }), 201).amount, '0.20');
      refused(await ask(shop, { amount: 0.2 }), 400, 'INVALID_AMOUNT', 'amount');
    }),
    row('currency: USDT or USDC', async (shop) => {
      refused(await ask(shop, { currency: 'EUR' }), 400, 'INVALID_CURRENCY', 'currency');
    }),
    row('reason: one of the refund reasons, not required', async (shop) => {
      accepted(await ask(shop, { reason: undefined }), 201);
      refused(await ask(shop, { reason: 'because' }), 400, undefined, 'reason');
    }),
    row('description: string, not required', async (shop) => {
      accepted(await ask(shop, { description: undefined }), 201);
      refused(await ask(shop, { description: 7 }), 400, undefined, 'description');
    }),
    row('metadata: object, key-value pairs, not required', async (shop) => {
      accepted(await ask(shop, { metadata: undefined }), 201);
      refused(await ask(shop, { metadata: 'cold' }), 400, undefined, 'metadata');
    }),
    row('Response body (Refund subset)', async (shop) => {
      const { created } = await refundedIn(shop, 'bsc', 'USDT');
      for (const field of SUBSET) assert.ok(field in created, field);
    }),
    row('201 created', async (shop) => assert.is((await ask(shop, {})).status, 201)),
    row('400 bad parameters', async (shop) => refused(await ask(shop, { amount: 'much' }), 400)),
    row('401 authentication failed', async (shop) => {
      const { paid } = await paidIn(shop, 'bsc', 'USDT');
      refused(await shop.call('POST', `${REFUNDS}/create`, refundBody(paid.id, 'USDT'), unsigned), 401);
    }),
    row('403 no access to the session', async (shop) => {
      const { merchant } = await otherMerchant(shop);
      refused(await ask(shop, {}, merchant), 403);
    }),
    row('404 session not found', async (shop) => refused(await ask(shop, { order_id: NO_SESSION }), 404)),
    row('429 daily refund limit exceeded', async (shop) => refused(await large(shop), 429)),
  ),
  section(
    'GET /api/v1/refunds/{refund_id}',
    row('refund_id: string, required', async (shop) => {
      const { body } = await refundedIn(shop, 'bsc', 'USDT');
      assert.is(accepted(await read(shop, body)).refund_id, body.refund_id);
    }),
    row('No body', async (shop) => {
      const { body } = await refundedIn(shop, 'bsc', 'USDT');
      const bend = { headers: { 'Content-Type': null } };
      accepted(await shop.call('GET', `${REFUNDS}/${body.refund_id}`, '', bend));
    }),
    row('Response: the full Refund (transaction_hash, receipt_number, processed_at)', async (shop) => {
      const { completed } = await refundedIn(shop, 'bsc', 'USDC');
      for (const field of [...SUBSET, 'transaction_hash', 'receipt_number', 'processed_at']) {
        assert.ok(field in completed, field);
      }
    }),
    row('Response: the full Refund (failure_reason)', async (shop) => {
      assert.ok('failure_reason' in (await refundsRejected(shop)).processing.failed);
    }),
    row('200', async (shop) => assert.is((await read(shop, (await refundedIn(shop, 'bsc', 'USDT')).body)).status, 200)),
    row('401', async (shop) => {
      const { body } = await refundPending(shop);
      refused(await shop.call('GET', `${REFUNDS}/${body.refund_id}`, '', unsigned), 401);
    }),
    row('403 (no access to the refund)', async (shop) => {
      const { body } = await refundPending(shop);
      refused(await read(shop, body), 403);
    }),
    row('404 (refund not found)', async (shop) => refused(await read(shop, { refund_id: 'refund-none' }), 404)),
  ),
  section(
    'POST /api/v1/refunds/{refund_id}/cancel',
    row('refund_id: string, required', async (shop) => {
      const { body, answer } = await refundCanceled(shop);
      assert.is(answer.refund_id, body.refund_id);
    }),
    row('Body is empty', async (shop) => assert.is((await refundCanceled(shop)).canceled.status, 'canceled')),
    row('Response body: refund_id (string)', async (shop) => {
      assert.type((await refundCanceled(shop)).answer.refund_id, 'string');
    }),
    row('Response body: status (string, canceled)', async (shop) => {
      assert.is((await refundCanceled(shop)).answer.status, 'canceled');
    }),
    row('Response body: canceled_at (number, Unix seconds)', async (shop) => {
      const { answer, processing } = await refundCanceled(shop);
      assert.ok(Number.isInteger(answer.canceled_at) && answer.canceled_at >= processing.created_at);
    }),
    row('200', async (shop) => assert.is((await refundCanceled(shop)).answer.status, 'canceled')),
    row('400 (current state does not allow cancelling)', async (shop) => {
      const { merchant, body } = await refundPending(shop);
      refused(await cancel(merchant, body), 400, 'CANNOT_CANCEL_REFUND');
    }),
    row('401', async (shop) => {
      const { body } = await refundPending(shop);
      refused(await shop.call('POST', `${REFUNDS}/${body.refund_id}/cancel`, '', unsigned), 401);
    }),
    row('403', async (shop) => {
      const { body } = await refundPending(shop);
      refused(await cancel(shop, body), 403);
    }),
    row('404', async (shop) => refused(await cancel(shop, { refund_id: 'refund-none' }), 404)),
  ),
  section(
    'Refund endpoint error codes',
    row('invalid_api_key, 401', async (shop) => {
      const bend = { headers: { Authorization: `Bearer sk_test_${'x'.repeat(32)}` } };
      refused(await shop.call('GET', `${REFUNDS}/refund-none`, '', bend), 401, 'invalid_api_key');
    }),
    row('MISSING_CHARGE, 400: payment session id missing', async (shop) => {
      refused(await ask(shop, { order_id: undefined }), 400, 'MISSING_CHARGE', 'order_id');
    }),
    row('MISSING_REFUND_ID, 400: refund id missing', async (shop) => {
      refused(await ask(shop, { refund_id: undefined }), 400, 'MISSING_REFUND_ID', 'refund_id');
    }),
    row('INVALID_JSON, 400: malformed request', async (shop) => {
      refused(await shop.call('POST', `${REFUNDS}/create`, '{"order_id":'), 400, 'INVALID_JSON');
    }),
    row('INVALID_CURRENCY, 400: unsupported currency', async (shop) => {
      refused(await ask(shop, { currency: 'DAI' }), 400, 'INVALID_CURRENCY', 'currency');
      refused(await ask(shop, { currency: 'USDC' }), 400, 'INVALID_CURRENCY');
    }),
    row('INVALID_AMOUNT, 400: bad amount format, or amount not above zero', async (shop) => {
      for (const amount of ['1.234', '-1', '1e2', '0', '0.00', '']) {
        refused(await ask(shop, { amount }), 400, 'INVALID_AMOUNT', 'amount');
      }
    }),
    row('SESSION_NOT_FOUND, 404', async (shop) => {
      refused(await ask(shop, { order_id: NO_SESSION }), 404, 'SESSION_NOT_FOUND');
    }),
    row('session_access_denied, 403', async (shop) => {
      const { merchant } = await otherMerchant(shop);
      refused(await ask(shop, {}, merchant), 403, 'session_access_denied');
    }),
    row('REFUND_NOT_FOUND, 404', async (shop) => {
      refused(await read(shop, { refund_id: 'refund-none' }), 404, 'REFUND_NOT_FOUND');
    }),
    row('FORBIDDEN, 403: no access to the refund', async (shop) => {
      const { body } = await refundPending(shop);
      refused(await read(shop, body), 403, 'FORBIDDEN');
    }),
    row('INVALID_SESSION_STATUS, 400: only paid sessions can be refunded', async (shop) => {
      refused(await ask(shop, { order_id: (await create(shop)).id }), 400, 'INVALID_SESSION_STATUS');
    }),
    row('REFUND_AMOUNT_EXCEEDED, 400', async (shop) => {
      refused(await ask(shop, { amount: '10.51' }), 400, 'REFUND_AMOUNT_EXCEEDED');
    }),
    row('REFUND_TIME_EXPIRED, 400: refund window has passed', async (shop) => {
      refused(await refundTooLate(shop), 400, 'REFUND_TIME_EXPIRED');
    }),
    row('CANNOT_CANCEL_REFUND, 400', async (shop) => {
      refused(await cancel(shop, (await refundedIn(shop, 'bsc', 'USDT')).body), 400, 'CANNOT_CANCEL_REFUND');
    }),
    row('DAILY_REFUND_LIMIT_EXCEEDED, 429', async (shop) => {
      refused(await large(shop), 429, 'DAILY_REFUND_LIMIT_EXCEEDED');
    }),
  ),
];

const cancel = async (merchant: Merchant, { refund_id }: Json) =>
  merchant.call('POST', `${REFUNDS}/${refund_id}/cancel`);
