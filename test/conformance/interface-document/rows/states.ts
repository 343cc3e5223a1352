/** States and transitions of sessions and refunds. */
import * as assert from 'uvu/assert';
import {
  canceled,
  create,
  expired,
  failed,
  paidIn,
  REFUNDS,
  refundBody,
  refundCanceled,
  refundedIn,
  refundedTwice,
  refundPending,
  refundsRejected,
} from '../journeys.ts';
import { row, section } from '../row.ts';
import { refused } from '../shop.ts';

export const stateSections = [
  section(
    'Payment session states',
    row('pending (unpaid)', async (shop) => assert.is((await create(shop)).payment_status, 'pending')),
    row('paid', async (shop) => assert.is((await paidIn(shop, 'solana', 'USDC')).paid.payment_status, 'paid')),
    row('failed', async (shop) => assert.is((await failed(shop)).failed.payment_status, 'failed')),
    row('expired', async (shop) => assert.is((await expired(shop)).expired.payment_status, 'expired')),
    row('canceled', async (shop) => assert.is((await canceled(shop)).canceled.payment_status, 'canceled')),
    row('pending, session expiry: expired, webhook payment.expired', async (shop) => {
      const { created, expired: read, hook } = await expired(shop);
      assert.is(created.payment_status, 'pending');
      assert.is(read.payment_status, 'expired');
      assert.ok(hook.event.created_at >= created.expires_at);
    }),
    row('pending, cancel operation: webhook payment.cancelled', async (shop) => {
      const { created, answer, hook } = await canceled(shop);
      assert.is(created.payment_status, 'pending');
      assert.is(answer.id, created.id);
      assert.is(hook.event.data.object.session_id, created.id);
    }),
    row('pending, on-chain confirmation: paid (completed), webhook payment.completed', async (shop) => {
      const { created, paid, hook } = await paidIn(shop, 'ethereum', 'USDT');
      assert.is(created.payment_status, 'pending');
      assert.is(paid.payment_status, 'paid');
      assert.is(hook.event.data.object.status, 'completed');
    }),
  ),
  section(
    'Refund states',
    row('Initial state is pending (the create response shows it)', async (shop) => {
      assert.is((await refundedIn(shop, 'tron', 'USDT')).created.status, 'pending');
    }),
    row('pending, processing starts: processing', async (shop) => {
      const { created, processing } = await refundedIn(shop, 'tron', 'USDT');
      assert.equal([created.status, processing.status], ['pending', 'processing']);
    }),
    row('pending, request rejected: failed', async (shop) => {
      const { pending } = await refundsRejected(shop);
      assert.equal([pending.before.status, pending.failed.status], ['pending', 'failed']);
    }),
    row('pending, refund cancelled: the cancel endpoint does not allow it on a pending refund', async (shop) => {
      const { merchant, body } = await refundPending(shop);
      refused(await merchant.call('POST', `${REFUNDS}/${body.refund_id}/cancel`), 400, 'CANNOT_CANCEL_REFUND');
    }),
    row('processing, processing succeeds: completed; transaction_hash and receipt_number set', async (shop) => {
      const { completed } = await refundedIn(shop, 'tron', 'USDT');
      assert.is(completed.status, 'completed');
      assert.ok(completed.transaction_hash && completed.receipt_number);
    }),
    row('processing, processing succeeds: webhook refund.succeeded', async (shop) => {
      const { body, hook } = await refundedIn(shop, 'tron', 'USDT');
      assert.is(hook.event.data.object.refund_id, body.refund_id);
    }),
    row('processing, processing fails: failed; failure_reason set; webhook refund.failed', async (shop) => {
      const { processing } = await refundsRejected(shop);
      assert.equal([processing.before.status, processing.failed.status], ['processing', 'failed']);
      assert.ok(processing.failed.failure_reason);
      assert.is(processing.hook.event.data.object.refund_id, processing.body.refund_id);
    }),
    row('processing, merchant cancels: canceled; canceled_at returned', async (shop) => {
      const { processing, answer, canceled: read } = await refundCanceled(shop);
      assert.equal([processing.status, answer.status, read.status], ['processing', 'canceled', 'canceled']);
      assert.ok(Number.isInteger(answer.canceled_at));
    }),
    row('Final states: completed: no further moves', async (shop) => {
      const { body } = await refundedIn(shop, 'tron', 'USDC');
      refused(await shop.call('POST', `${REFUNDS}/${body.refund_id}/cancel`), 400, 'CANNOT_CANCEL_REFUND');
    }),
    row('Final states: failed: no further moves', async (shop) => {
      const { merchant, processing } = await refundsRejected(shop);
      const answer = await merchant.call('POST', `${REFUNDS}/${processing.body.refund_id}/cancel`);
      refused(answer, 400, 'CANNOT_CANCEL_REFUND');
    }),
    row('Final states: canceled: no further moves', async (shop) => {
      const { body } = await refundCanceled(shop);
      refused(await shop.call('POST', `${REFUNDS}/${body.refund_id}/cancel`), 400, 'CANNOT_CANCEL_REFUND');
    }),
  ),
  section(
    'Refund creation preconditions',
    row('The referenced session must be in paid state (else INVALID_SESSION_STATUS)', async (shop) => {
      const { id } = await create(shop);
      const sessions = [id, (await canceled(shop)).created.id, (await failed(shop)).created.id];
      for (const one of sessions) {
        refused(await shop.call('POST', `${REFUNDS}/create`, refundBody(one, 'USDT')), 400, 'INVALID_SESSION_STATUS');
      }
    }),
    row('The amount must be greater than zero', async (shop) => {
      const { paid } = await paidIn(shop, 'bsc', 'USDT');
      const answer = await shop.call('POST', `${REFUNDS}/create`, refundBody(paid.id, 'USDT', '0.00'));
      refused(answer, 400, 'INVALID_AMOUNT', 'amount');
    }),
    row('The amount must be at most the original payment amount (else REFUND_AMOUNT_EXCEEDED)', async (shop) => {
      const { paid } = await paidIn(shop, 'bsc', 'USDT');
      const answer = await shop.call('POST', `${REFUNDS}/create`, refundBody(paid.id, 'USDT', '10.51'));
      refused(answer, 400, 'REFUND_AMOUNT_EXCEEDED');
    }),
    row('The sum of all refunds for one session must not exceed the original payment amount', async (shop) => {
      const { session } = await refundedTwice(shop);
      const answer = await shop.call('POST', `${REFUNDS}/create`, refundBody(session.id, 'USDT', '0.01'));
      refused(answer, 400, 'REFUND_AMOUNT_EXCEEDED');
    }),
  ),
];
