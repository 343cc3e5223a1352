/** Endpoints of refunds: parameters, answers, status codes and every code of the error table. */
import * as assert from 'uvu/assert';
import { has } from '../../../support/fields.ts';
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
  unsigned,
} from '../journeys.ts';
import { refuses, row, section } from '../row.ts';
import { accepted, type Merchant, refused, type Shop } from '../shop.ts';

const NO_SESSION = `cs_${'0'.repeat(26)}`;
const NO_REFUND = { refund_id: 'refund-none' };

const SUBSET = 'refund_id session_id order_id amount currency status reason description created_at metadata'.split(' ');

/** Asks for a refund of the order that was paid in USDT on BSC, with some fields changed. */
async function ask(shop: Shop, fields: object, merchant: Merchant = shop) {
  const { paid } = await paidIn(shop, 'bsc', 'USDT');
  return merchant.call('POST', `${REFUNDS}/create`, { ...refundBody(paid.id, 'USDT', '0.10'), ...fields });
}

const read = async (merchant: Merchant, { refund_id }: Json, bend = {}) =>
  merchant.call('GET', `${REFUNDS}/${refund_id}`, '', bend);
const cancel = async (merchant: Merchant, { refund_id }: Json, bend = {}) =>
  merchant.call('POST', `${REFUNDS}/${refund_id}/cancel`, '', bend);

/** An order of 12,000.00, which is more than a day's refunds. */
const large = (shop: Shop) =>
  shop.once('large order', async () => {
    const { paid } = await pay(shop, { network: 'bsc', currency: 'USDT' }, { amount: 1_200_000 });
    return shop.call('POST', `${REFUNDS}/create`, refundBody(paid.id, 'USDT', '10000.01'));
  });

/** Returns a row about a field of the create call that may be absent, and is refused with this value. */
const optional = (title: string, param: string, wrong: unknown) =>
  row(title, async (shop) => {
    accepted(await ask(shop, { [param]: undefined }), 201);
    refused(await ask(shop, { [param]: wrong }), 400, undefined, param);
  });

/** Returns a row about a code that these values of a field get. */
const wrongField = (title: string, param: string, values: readonly unknown[]) =>
  row(title, async (shop) => {
    const [code] = title.split(',');
    for (const value of values) refused(await ask(shop, { [param]: value }), 400, code, param);
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
    optional('reason: one of the refund reasons, not required', 'reason', 'because'),
    optional('description: string, not required', 'description', 7),
    optional('metadata: object, key-value pairs, not required', 'metadata', 'cold'),
    row('Response body (Refund subset); 201 created', async (shop) => {
      const { created } = await refundedIn(shop, 'bsc', 'USDT');
      for (const field of SUBSET) assert.ok(field in created, field);
    }),
    refuses('401 authentication failed', (shop) => shop.call('POST', `${REFUNDS}/create`, {}, unsigned)),
  ),
  section(
    'GET /api/v1/refunds/{refund_id}',
    row('refund_id: string, required; No body; 200', async (shop) => {
      const { body } = await refundedIn(shop, 'bsc', 'USDT');
      const answer = await read(shop, body, { headers: { 'Content-Type': null } });
      assert.is(accepted(answer).refund_id, body.refund_id);
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
    refuses('401', async (shop) => read(shop, (await refundPending(shop)).body, unsigned)),
  ),
  section(
    'POST /api/v1/refunds/{refund_id}/cancel',
    row(
      [
        'refund_id: string, required; Body is empty; Response body: refund_id (string)',
        'Response body: status (string, canceled); Response body: canceled_at (number, Unix seconds); 200',
      ],
      async (shop) => {
        const { body, answer, processing, canceled } = await refundCanceled(shop);
        has(answer, { refund_id: body.refund_id, status: 'canceled' });
        assert.is(canceled.status, 'canceled');
        assert.ok(Number.isInteger(answer.canceled_at) && answer.canceled_at >= processing.created_at);
      },
    ),
    refuses(
      '400 (current state does not allow cancelling)',
      async (shop) => {
        const { merchant, body } = await refundPending(shop);
        return cancel(merchant, body);
      },
      'CANNOT_CANCEL_REFUND',
    ),
    refuses('401', async (shop) => cancel(shop, (await refundPending(shop)).body, unsigned)),
    refuses('403', async (shop) => cancel(shop, (await refundPending(shop)).body)),
    refuses('404', (shop) => cancel(shop, NO_REFUND)),
  ),
  section(
    'Refund endpoint error codes, with the statuses of the endpoints',
    refuses('invalid_api_key, 401', (shop) =>
      read(shop, NO_REFUND, { headers: { Authorization: `Bearer sk_test_${'x'.repeat(32)}` } }),
    ),
    wrongField('MISSING_CHARGE, 400: payment session id missing', 'order_id', [undefined]),
    wrongField('MISSING_REFUND_ID, 400: refund id missing', 'refund_id', [undefined]),
    refuses(['INVALID_JSON, 400: malformed request', 'create: 400 bad parameters'], (shop) =>
      shop.call('POST', `${REFUNDS}/create`, '{"order_id":'),
    ),
    wrongField('INVALID_CURRENCY, 400: unsupported currency', 'currency', ['EUR', 'DAI', 'USDC']),
    wrongField('INVALID_AMOUNT, 400: bad amount format, or amount not above zero', 'amount', [
      ...['1.234', '-1', '1e2', '0', '0.00', ''],
    ]),
    refuses(['SESSION_NOT_FOUND, 404', 'create: 404 session not found'], (shop) => ask(shop, { order_id: NO_SESSION })),
    refuses(['session_access_denied, 403', 'create: 403 no access to the session'], async (shop) =>
      ask(shop, {}, (await otherMerchant(shop)).merchant),
    ),
    refuses(['REFUND_NOT_FOUND, 404', 'read: 404 (refund not found)'], (shop) => read(shop, NO_REFUND)),
    refuses(['FORBIDDEN, 403: no access to the refund', 'read: 403 (no access to the refund)'], async (shop) =>
      read(shop, (await refundPending(shop)).body),
    ),
    refuses('INVALID_SESSION_STATUS, 400: only paid sessions can be refunded', async (shop) =>
      ask(shop, { order_id: (await create(shop)).id }),
    ),
    refuses('REFUND_AMOUNT_EXCEEDED, 400', (shop) => ask(shop, { amount: '10.51' })),
    refuses('REFUND_TIME_EXPIRED, 400: refund window has passed', refundTooLate),
    refuses('CANNOT_CANCEL_REFUND, 400', async (shop) => cancel(shop, (await refundedIn(shop, 'bsc', 'USDT')).body)),
    refuses(['DAILY_REFUND_LIMIT_EXCEEDED, 429', 'create: 429 daily refund limit exceeded'], large),
  ),
];
