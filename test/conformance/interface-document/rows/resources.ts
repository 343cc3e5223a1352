/** Resources and their fields: PaymentSession and Refund. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { Json } from '../installation.ts';
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
  SESSIONS,
} from '../journeys.ts';
import { row, section } from '../row.ts';
import { accepted, nowS, refused, type Shop } from '../shop.ts';

const isInt64 = (value: unknown): boolean => Number.isSafeInteger(value);
/** A clock's difference that is no fault. */
const CLOCK_S = 300;
const isNow = (value: unknown): boolean => isInt64(value) && Math.abs(Number(value) - nowS()) <= CLOCK_S;

/** Units of each currency for about ten dollars, in its minor unit: yen have none, dinars have three decimals. */
const PRICES: Readonly<Record<string, number>> = {
  EUR: 1000,
  GBP: 1000,
  CHF: 1000,
  JPY: 1500,
  AED: 4000,
  AUD: 1500,
  BRL: 6000,
  CAD: 1400,
  CNY: 7000,
  CZK: 23000,
  DKK: 7000,
  HKD: 8000,
  HUF: 370000,
  IDR: 16000000,
  ILS: 3700,
  INR: 85000,
  KRW: 14000,
  KWD: 3000,
  MXN: 18000,
  MYR: 4500,
  NGN: 1500000,
  NOK: 11000,
  NZD: 1700,
  PHP: 58000,
  PLN: 4000,
  SAR: 3800,
  SEK: 11000,
  SGD: 1300,
  THB: 35000,
  TRY: 35000,
  VND: 255000,
  ZAR: 18000,
};
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
      assert.equal(
        seen.map(({ payment_status }) => payment_status),
        ['pending', 'paid', 'failed', 'expired', 'canceled'],
      );
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
    row('line_items: array of LineItem', async (shop) => {
      const { body, created } = await full(shop);
      assert.is(created.line_items.length, body.line_items.length);
    }),
    row('tax_amount: int64, minor units', async (shop) => assert.is((await full(shop)).created.tax_amount, 90)),
    row('shipping_amount: int64, minor units', async (shop) =>
      assert.is((await full(shop)).created.shipping_amount, 10),
    ),
    row(
      'exchange_rate: decimal string such as 4 decimal places, present only when a conversion applies',
      async (shop) => {
        const { exchange_rate } = (await converted(shop)).created;
        assert.match(exchange_rate, /^\d+\.\d{4,}$/);
        assert.not.ok('exchange_rate' in (await create(shop)));
      },
    ),
    row('target_currency: settlement crypto currency, normally USDT or USDC', async (shop) => {
      assert.ok(['USDT', 'USDC'].includes((await converted(shop)).created.target_currency));
    }),
    row('target_amount_total: crypto amount the payer must pay, minor units', async (shop) => {
      const { created, hook } = await converted(shop);
      assert.is(created.target_amount_total, convert(1000, created.exchange_rate, 2));
      assert.is(hook.event.data.object.amount, created.target_amount_total);
      const due = (created.target_amount_total / 100).toFixed(2);
      for (const { amount } of created.payment_options) assert.is(amount, due);
    }),
    row('rate_locked_at: present when a conversion applies. The rate does not change while locked', async (shop) => {
      const { created, paid } = await converted(shop);
      assert.ok(isNow(created.rate_locked_at));
      assert.is(paid.exchange_rate, created.exchange_rate);
      assert.is(paid.rate_locked_at, created.rate_locked_at);
    }),
    row('metadata: key-value pairs supplied by the merchant', async (shop) => {
      const { body, created } = await full(shop);
      for (const [key, value] of Object.entries(body.metadata)) assert.is(created.metadata[key], value);
    }),
    row('The create response may also contain an order_id key in it', async (shop) => {
      const { body, created } = await full(shop);
      assert.is(created.metadata.order_id, body.order_id);
    }),
  ),
  section(
    'LineItem, PriceData, ProductData',
    row('price_data: object, required', async (shop) => {
      const answer = await shop.call('POST', `${SESSIONS}/create`, withItem(shop, { quantity: 1 }));
      refused(answer, 400, undefined, 'line_items[0].price_data');
    }),
    row('quantity: number, default 1', async (shop) => {
      const { created } = await full(shop);
      assert.equal(
        created.line_items.map(({ quantity }: Json) => quantity),
        [2, 1],
      );
    }),
    row('currency: string, must equal the session currency', async (shop) => {
      const { body, created } = await full(shop);
      assert.is(created.line_items[0].price_data.currency, body.currency);
      const answer = await shop.call('POST', `${SESSIONS}/create`, withItem(shop, priced({ currency: 'EUR' })));
      refused(answer, 400, undefined, 'line_items[0].price_data.currency');
    }),
    row('unit_amount: int64, minor units', async (shop) => {
      assert.is((await full(shop)).created.line_items[0].price_data.unit_amount, 400);
      const answer = await shop.call('POST', `${SESSIONS}/create`, withItem(shop, priced({ unit_amount: '1050' })));
      refused(answer, 400, undefined, 'line_items[0].price_data.unit_amount');
    }),
    row('product_data: object', async (shop) => {
      const answer = await shop.call('POST', `${SESSIONS}/create`, withItem(shop, priced({ product_data: 'Coffee' })));
      refused(answer, 400, undefined, 'line_items[0].price_data.product_data');
    }),
    row('name: string, required', async (shop) => {
      assert.is((await full(shop)).created.line_items[0].price_data.product_data.name, 'Coffee');
      const answer = await shop.call('POST', `${SESSIONS}/create`, withItem(shop, priced({ product_data: {} })));
      refused(answer, 400, undefined, 'line_items[0].price_data.product_data.name');
    }),
    row('description: string, optional', async (shop) => {
      const { created } = await full(shop);
      assert.is(created.line_items[0].price_data.product_data.description, 'Coffee from the valley');
      accepted(await shop.call('POST', `${SESSIONS}/create`, withItem(shop, priced({}))));
    }),
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
      const prices = Object.entries(PRICES);
      assert.ok(prices.length >= 30);
      for (const [currency, amount] of prices) {
        const { exchange_rate, target_amount_total } = await create(shop, { amount, currency });
        assert.is(target_amount_total, convert(amount, exchange_rate, EXPONENTS[currency] ?? 2), currency);
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
    row('session_id: payment session identifier', async (shop) => {
      const { completed, session } = await refundedIn(shop, 'bsc', 'USDT');
      assert.is(completed.session_id, session.id);
    }),
    row('order_id: the merchant’s order identifier in responses', async (shop) => {
      const { created, completed, session } = await refundedIn(shop, 'bsc', 'USDT');
      assert.is(created.order_id, session.metadata.order_id);
      assert.is(completed.order_id, session.metadata.order_id);
    }),
    row('amount: decimal string of the refund amount', async (shop) => {
      assert.is((await refundedIn(shop, 'bsc', 'USDT')).completed.amount, '4.50');
    }),
    row('currency: USDT or USDC', async (shop) => {
      for (const coin of ['USDT', 'USDC'] as const)
        assert.is((await refundedIn(shop, 'bsc', coin)).completed.currency, coin);
    }),
    row('status: pending, processing, completed, failed, canceled', async (shop) => {
      const { created, processing, completed } = await refundedIn(shop, 'ethereum', 'USDC');
      const { processing: lost } = await refundsRejected(shop);
      assert.equal(
        [created.status, processing.status, completed.status, lost.failed.status],
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
      const { processing } = await refundsRejected(shop);
      assert.ok(processing.failed.failure_reason);
      assert.not.ok((await refundedIn(shop, 'bsc', 'USDT')).completed.failure_reason);
    }),
    row('transaction_hash: blockchain transaction hash, only when completed', async (shop) => {
      const { processing, completed } = await refundedIn(shop, 'ethereum', 'USDT');
      assert.match(completed.transaction_hash, /^0x[0-9a-f]{64}$/);
      assert.not.ok('transaction_hash' in processing);
    }),
    row('receipt_number: only when completed', async (shop) => {
      const { processing, completed } = await refundedIn(shop, 'ethereum', 'USDT');
      assert.type(completed.receipt_number, 'string');
      assert.not.ok('receipt_number' in processing);
    }),
    row('created_at: Unix timestamp, seconds', async (shop) => {
      assert.ok(isNow((await refundedIn(shop, 'bsc', 'USDT')).created.created_at));
    }),
    row('processed_at: processing completion time, Unix seconds', async (shop) => {
      const { created, processing, completed } = await refundedIn(shop, 'bsc', 'USDT');
      assert.ok(isNow(completed.processed_at) && completed.processed_at >= created.created_at);
      assert.not.ok('processed_at' in processing);
    }),
    row('metadata: object (any values), optional', async (shop) => {
      const { body, completed } = await refundedIn(shop, 'bsc', 'USDT');
      for (const [key, value] of Object.entries(body.metadata)) assert.equal(completed.metadata[key], value);
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
    row('reason: one of requested_by_customer, duplicate, fraudulent, expired_uncaptured', async (shop) => {
      const { paid } = await paidIn(shop, 'bsc', 'USDT');
      const body = { ...refundBody(paid.id, 'USDT', '1.00'), reason: 'other', refund_id: randomUUID() };
      refused(await shop.call('POST', `${REFUNDS}/create`, body), 400, undefined, 'reason');
    }),
  ),
];

/** An order with one item, whatever the item is. */
const withItem = (shop: Shop, item: object) => ({
  amount: 1050,
  currency: 'USD',
  order_id: shop.orderId(),
  line_items: [item],
});

const priced = (fields: object) => ({
  price_data: { currency: 'USD', unit_amount: 1050, product_data: { name: 'Coffee' }, ...fields },
});
