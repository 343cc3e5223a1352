/** States and transitions of sessions and refunds. */
import * as assert from 'uvu/assert';
import { column } from '../../../support/fields.ts';
import type { Json } from '../installation.ts';
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
import { type Merchant, refused, type Shop } from '../shop.ts';

const ask = (shop: Shop, session: string, amount?: string) =>
  shop.call('POST', `${REFUNDS}/create`, refundBody(session, 'USDT', amount));
const cancel = (merchant: Merchant, { refund_id }: Json) => merchant.call('POST', `${REFUNDS}/${refund_id}/cancel`);

export const stateSections = [
  section(
    'Payment session states',
    row('paid; pending, on-chain confirmation: paid (completed), webhook payment.completed', async (shop) => {
      const { created, paid, hook } = await paidIn(shop, 'solana', 'USDC');
      assert.is(created.payment_status, 'pending');
      assert.is(paid.payment_status, 'paid');
      assert.is(hook.event.data.object.status, 'completed');
    }),
    row('failed', async (shop) => assert.is((await failed(shop)).failed.payment_status, 'failed')),
    row('expired; pending, session expiry: expired, webhook payment.expired', async (shop) => {
      const { created, expired: read, hook } = await expired(shop);
      assert.is(created.payment_status, 'pending');
      assert.is(read.payment_status, 'expired');
      assert.ok(hook.event.created_at >= created.expires_at);
    }),
    row(
      [
        'pending (unpaid); canceled; pending, cancel operation: webhook payment.cancelled',
        'The merchant can read and cancel (expire) a session',
      ],
      async (shop) => {
        const { created, canceled: read, answer, hook } = await canceled(shop);
        assert.is(created.payment_status, 'pending');
        assert.is(read.payment_status, 'canceled');
        assert.is(answer.id, created.id);
        assert.is(hook.event.data.object.session_id, created.id);
      },
    ),
  ),
  section(
    'Refund states',
    row(
      [
        'Initial state is pending (the create response shows it); pending, processing starts: processing',
        'processing, processing succeeds: completed; transaction_hash and receipt_number set',
        'processing, processing succeeds: webhook refund.succeeded; Final states: completed: no further moves',
      ],
      async (shop) => {
        const { body, created, processing, completed, hook } = await refundedIn(shop, 'tron', 'USDT');
        assert.equal(column([created, processing, completed], 'status'), ['pending', 'processing', 'completed']);
        assert.ok(completed.transaction_hash && completed.receipt_number);
        assert.is(hook.event.data.object.refund_id, body.refund_id);
        refused(await cancel(shop, body), 400, 'CANNOT_CANCEL_REFUND');
      },
    ),
    row(
      [
        'pending, request rejected: failed',
        'processing, processing fails: failed; failure_reason set; webhook refund.failed',
        'Final states: failed: no further moves',
      ],
      async (shop) => {
        const { merchant, pending, processing } = await refundsRejected(shop);
        assert.equal(
          [pending.before, pending.failed, processing.before, processing.failed].map(({ status }) => status),
          ['pending', 'failed', 'processing', 'failed'],
        );
        assert.ok(processing.failed.failure_reason);
        assert.is(processing.hook.event.data.object.refund_id, processing.body.refund_id);
        refused(await cancel(merchant, processing.body), 400, 'CANNOT_CANCEL_REFUND');
      },
    ),
    row('pending, refund cancelled: the cancel endpoint does not allow it on a pending refund', async (shop) => {
      const { merchant, body } = await refundPending(shop);
      refused(await cancel(merchant, body), 400, 'CANNOT_CANCEL_REFUND');
    }),
    row(
      [
        'processing, merchant cancels: canceled; canceled_at returned; Final states: canceled: no further moves',
        'A refund can be read and cancelled while it is processing',
      ],
      async (shop) => {
        const { body, processing, answer, canceled: read } = await refundCanceled(shop);
        assert.equal(column([processing, answer, read], 'status'), ['processing', 'canceled', 'canceled']);
        assert.ok(Number.isInteger(answer.canceled_at));
        refused(await cancel(shop, body), 400, 'CANNOT_CANCEL_REFUND');
      },
    ),
  ),
  section(
    'Refund creation preconditions',
    row(
      [
        'The referenced session must be in paid state (else INVALID_SESSION_STATUS)',
        'Limits: refundable sessions: only paid sessions',
      ],
      async (shop) => {
        const { id } = await create(shop);
        for (const one of [id, (await canceled(shop)).created.id, (await failed(shop)).created.id]) {
          refused(await ask(shop, one), 400, 'INVALID_SESSION_STATUS');
        }
      },
    ),
    row(
      [
        'The amount must be greater than zero',
        'The amount must be at most the original payment amount (else REFUND_AMOUNT_EXCEEDED)',
        'Limits: refund per request: must not exceed the original payment amount',
      ],
      async (shop) => {
        const { paid } = await paidIn(shop, 'bsc', 'USDT');
        refused(await ask(shop, paid.id, '0.00'), 400, 'INVALID_AMOUNT', 'amount');
        refused(await ask(shop, paid.id, '10.51'), 400, 'REFUND_AMOUNT_EXCEEDED');
      },
    ),
    row(
      [
        'The sum of all refunds for one session must not exceed the original payment amount',
        'Limits: refund total per session: the sum must not exceed the original payment amount',
      ],
      async (shop) => {
        const { session } = await refundedTwice(shop);
        refused(await ask(shop, session.id, '0.01'), 400, 'REFUND_AMOUNT_EXCEEDED');
      },
    ),
  ),
];
