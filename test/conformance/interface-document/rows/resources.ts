/** Resources and their fields: PaymentSession and Refund. */
import * as assert from 'uvu/assert';
import { column } from '../../../support/fields.ts';
import {
  askRefund,
  canceled,
  converted,
  create,
  expired,
  failed,
  full,
  paidIn,
  pay,
  REFUNDS,
  readSession,
  refundBody,
  refundedIn,
  refundsRejected,
} from '../journeys.ts';
import { row, section } from '../row.ts';
import { accepted, nowS, refused } from '../shop.ts';

const isInt64 = (value: unknown): boolean => Number.isSafeInteger(value);
/** A clock's difference that is no fault. */
const CLOCK_S = 300;
const isNow = (value: unknown): boolean => isInt64(value) && Math.abs(Number(value) - nowS()) <= CLOCK_S;

/** Currencies that a session can be priced in, besides those at par. */
const CURRENCIES = [
  ...'AED AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF IDR ILS INR JPY'.split(' '),
  ...'KRW KWD MXN MYR NGN NOK NZD PHP PLN SAR SEK SGD THB TRY VND ZAR'.split(' '),
];
/** Minor units: ten dollars or more in each of them. */
const PRICE = 100_000_000;
const EXPONENTS: Readonly<Record<string, number>> = { JPY: 0, KRW: 0, VND: 0, KWD: 3 };

/** The amount in stablecoin minor units that follows from a rate, rounded up. */
function convert(amount: number, rate: string, exponent: number): number {
  const [whole = '', decimals = ''] = rate.split('.');
  const scale = 10n ** BigInt(decimals.length + exponent);
  return Number((BigInt(amount) * BigInt(whole + decimals) * 100n + scale - 1n) / scale);
}

const RATE_FIELDS = ['exchange_rate', 'target_currency', 'target_amount_total', 'rate_locked_at'];

export const resourceSections = [
  section(
    'PaymentSession',
    row('id: string, session identifier', async (shop) => {
      const { id } = await create(shop);
      assert.match(id, /^(cs_|sess_)?[0-9a-z]+$/);
      const bare = id.replace(/^[a-z]+_/, '');
      for (const written of [id, `sess_${bare}`, bare]) assert.is((await readSession(shop, written)).id, id);
    }),
    row('amount_total: int64, total in minor currency units (for USD, 1 = 0.01)', async (shop) => {
      const { amount_total, payment_options } = await create(shop, { amount: 1051 });
      assert.is(amount_total, 1051);
      assert.is(payment_options[0].amount, '10.51');
    }),
    row('currency: currency code as sent by the merchant', async (shop) => {
      for (const currency of ['USD', 'EUR', 'USDC']) assert.is((await create(shop, { currency })).currency, currency);
    }),
    row('payment_status: one of pending, paid, failed, expired, canceled', async (shop) => {
      const seen = await Promise.all([
        create(shop),
        paidIn(shop, 'bsc', 'USDT').then(({ paid }) => paid),
        failed(shop).then((one) => one.failed),
        expired(shop).then((one) => one.expired),
        canceled(shop).then((one) => one.canceled),
      ]);
      assert.equal(column(seen, 'payment_status'), ['pending', 'paid', 'failed', 'expired', 'canceled']);
    }),
    row('created: Unix timestamp, seconds', async (shop) => assert.ok(isNow((await create(shop)).created))),
    row('expires_at: Unix timestamp, seconds', async (shop) => {
      const { created, expires_at } = await create(shop, { expires_in: 90 });
      assert.is(expires_at, created + 90);
    }),
    row('url: hosted payment page URL, of the form {checkout_url}/pay/<session_id>', async (shop) => {
      const { id, url } = await create(shop);
      assert.is(url, `${shop.installation.baseUrl}/pay/${id}`);
    }),
    row(
      [
        'line_items: array of LineItem; tax_amount: int64, minor units; shipping_amount: int64, minor units',
        'metadata: key-value pairs supplied by the merchant',
        'The create response may also contain an order_id key in it',
      ],
      async (shop) => {
        const { body, created } = await full(shop);
        assert.is(created.line_items.length, body.line_items.length);
        const { tax_amount, shipping_amount, metadata } = created;
        assert.equal({ tax_amount, shipping_amount }, { tax_amount: 90, shipping_amount: 10 });
        for (const [key, value] of Object.entries(body.metadata)) assert.is(metadata[key], value);
        assert.is(metadata.order_id, body.order_id);
      },
    ),
    row(
      [
        'exchange_rate: decimal string such as 4 decimal places, present only when a conversion applies',
        'target_currency: settlement crypto currency, normally USDT or USDC',
        'target_amount_total: crypto amount the payer must pay, minor units',
        'rate_locked_at: present when a conversion applies. The rate does not change while locked',
      ],
      async (shop) => {
        const { created, paid, hook } = await converted(shop);
        assert.match(created.exchange_rate, /^\d+\.\d{4,}$/);
        assert.ok(['USDT', 'USDC'].includes(created.target_currency));
        assert.is(created.target_amount_total, convert(1000, created.exchange_rate, 2));
        assert.is(hook.event.data.object.amount, created.target_amount_total);
        const due = (created.target_amount_total / 100).toFixed(2);
        for (const { amount } of created.payment_options) assert.is(amount, due);
        assert.ok(isNow(created.rate_locked_at));
        for (const field of RATE_FIELDS) assert.is(paid[field], created[field], field);
      },
    ),
  ),
  section(
    'LineItem, PriceData, ProductData (with what is refused: the create call)',
    row(
      [
        'price_data: object; quantity: number, default 1; currency: string, must equal the session currency',
        'unit_amount: int64, minor units; product_data: object; name: string; description: string, optional',
      ],
      async (shop) => {
        const { body, created } = await full(shop);
        const [first, second] = created.line_items;
        assert.equal(first, {
          price_data: {
            currency: body.currency,
            unit_amount: 400,
            product_data: { name: 'Coffee', description: 'Coffee from the valley' },
          },
          quantity: 2,
        });
        assert.is(second.quantity, 1);
      },
    ),
  ),
  section(
    'Conversion rule',
    row(
      'when the session currency is not USD, USDT or USDC, the service converts to the target currency',
      async (shop) => {
        const { created } = await converted(shop);
        for (const field of RATE_FIELDS) assert.ok(field in created, field);
      },
    ),
    row('exchange_rate is the rate from the merchant currency to the payment currency', async (shop) => {
      const { created } = await converted(shop);
      // A euro is worth more than a dollar, a yen less than a cent.
      assert.ok(Number(created.exchange_rate) > 1);
      assert.ok(Number((await create(shop, { amount: 1500, currency: 'JPY' })).exchange_rate) < 0.01);
    }),
    row('When the currency is USD, USDT or USDC, no exchange-rate fields are returned', async (shop) => {
      for (const currency of ['USD', 'USDT', 'USDC']) {
        const session = await create(shop, { currency });
        for (const field of RATE_FIELDS) assert.not.ok(field in session, `${currency}: ${field}`);
      }
    }),
    row('Accepted session currency codes: more than thirty besides USD, USDT and USDC', async (shop) => {
      assert.ok(CURRENCIES.length >= 30);
      for (const currency of CURRENCIES) {
        const { exchange_rate, target_amount_total } = await create(shop, { amount: PRICE, currency });
        assert.is(target_amount_total, convert(PRICE, exchange_rate, EXPONENTS[currency] ?? 2), currency);
      }
    }),
  ),
  section(
    'Refund',
    row('refund_id: merchant-supplied, unique on the merchant side, used for idempotency', async (shop) => {
      const { body, created, session } = await refundedIn(shop, 'bsc', 'USDT');
      assert.is(created.refund_id, body.refund_id);
      assert.equal(await askRefund(shop, body), created);
      const other = { ...body, amount: '1.00' };
      refused(await shop.call('POST', `${REFUNDS}/create`, other), 400);
      assert.is((await readSession(shop, session.id)).id, created.session_id);
    }),
    row(
      [
        'session_id: payment session identifier; order_id: the merchant’s order identifier in responses',
        'amount: decimal string of the refund amount; created_at: Unix timestamp, seconds',
        'processed_at: processing completion time, Unix seconds',
        'transaction_hash: blockchain transaction hash, only when completed; receipt_number: only when completed',
        'metadata: object (any values), optional',
      ],
      async (shop) => {
        const { body, created, processing, completed, session } = await refundedIn(shop, 'ethereum', 'USDT');
        assert.is(completed.session_id, session.id);
        for (const { order_id } of [created, completed]) assert.is(order_id, session.metadata.order_id);
        assert.is(completed.amount, '4.50');
        assert.ok(isNow(created.created_at));
        assert.ok(isNow(completed.processed_at) && completed.processed_at >= created.created_at);
        assert.match(completed.transaction_hash, /^0x[0-9a-f]{64}$/);
        assert.type(completed.receipt_number, 'string');
        for (const field of ['processed_at', 'transaction_hash', 'receipt_number']) assert.not.ok(field in processing);
        for (const [key, value] of Object.entries(body.metadata)) assert.equal(completed.metadata[key], value);
      },
    ),
    row('currency: USDT or USDC', async (shop) => {
      for (const coin of ['USDT', 'USDC'] as const)
        assert.is((await refundedIn(shop, 'bsc', coin)).completed.currency, coin);
    }),
    row('status: pending, processing, completed, failed, canceled', async (shop) => {
      const { created, processing, completed } = await refundedIn(shop, 'ethereum', 'USDC');
      const { processing: lost } = await refundsRejected(shop);
      assert.equal(
        [created, processing, completed, lost.failed].map(({ status }) => status),
        ['pending', 'processing', 'completed', 'failed'],
      );
    }),
    row('description: string, optional', async (shop) => {
      assert.is((await refundedIn(shop, 'bsc', 'USDT')).completed.description, 'One coffee was cold');
      const { paid } = await paidIn(shop, 'bsc', 'USDT');
      const { order_id, refund_id, amount, currency } = refundBody(paid.id, 'USDT', '0.10');
      assert.not.ok('description' in (await askRefund(shop, { order_id, refund_id, amount, currency })));
    }),
    row('failure_reason: string or null, only when failed', async (shop) => {
      assert.ok((await refundsRejected(shop)).processing.failed.failure_reason);
      assert.not.ok((await refundedIn(shop, 'bsc', 'USDT')).completed.failure_reason);
    }),
  ),
  section(
    'Refund reasons',
    ['requested_by_customer', 'duplicate', 'fraudulent', 'expired_uncaptured'].map((reason) =>
      row(reason, async (shop) => {
        const { paid } = await shop.once('order for reasons', () =>
          pay(shop, { network: 'bsc', currency: 'USDT' }, { amount: 1000 }),
        );
        const body = { ...refundBody(paid.id, 'USDT', '1.00'), reason };
        assert.is((await askRefund(shop, body)).reason, reason);
        assert.is(accepted(await shop.call('GET', `${REFUNDS}/${body.refund_id}`)).reason, reason);
      }),
    ),
  ),
];
