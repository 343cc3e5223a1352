import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PaymentSession } from '../../src/api/session-view.ts';
import { startApi } from '../support/api-server.ts';
import type { SignedClient } from '../support/signed-client.ts';
import { expectError } from './expect-error.ts';

const api = await startApi();
const CREATE = '/api/v1/checkout/sessions/create';
const DAY_MS = 86_400_000;

let orders = 0;
const order = (amount: number, currency: string) => ({ amount, currency, order_id: `conversion-${++orders}` });
async function create(
  amount: number,
  currency: string,
  send: SignedClient['send'] = api.send,
): Promise<PaymentSession> {
  const answer = await send('POST', CREATE, order(amount, currency));
  assert.is(answer.status, 200, answer.text);
  return answer.json as PaymentSession;
}

test('amounts are converted by the currency’s exponent, at the shown rate, rounded up', async () => {
  // [amount in minor units, currency, shown rate, stablecoin cents, decimal amount]
  const rows: [number, string, string, number, string][] = [
    [10_50, 'EUR', '1.08340', 11_38, '11.38'], // 11.3757
    [1, 'EUR', '1.08340', 2, '0.02'], // 0.010834
    [100_00, 'EUR', '1.08340', 108_34, '108.34'], // exact
    [1, 'JPY', '0.00660000', 1, '0.01'], // 0.0066
    [1000, 'JPY', '0.00660000', 6_60, '6.60'], // 6.6 exactly, without decimals in the yen
    [1515, 'JPY', '0.00660000', 10_00, '10.00'], // 9.999
    [1, 'KWD', '3.25000', 1, '0.01'], // 0.00325
    [1000, 'KWD', '3.25000', 3_25, '3.25'], // one dinar has 1000 fils
    [1001, 'KWD', '3.25000', 3_26, '3.26'], // 3.25325
    [1, 'BTN', '0.00000120000', 1, '0.01'],
    [8_333_333_34, 'BTN', '0.00000120000', 10_01, '10.01'], // 10.000000008: never a cent too little
  ];
  for (const [amount, currency, rate, target, shown] of rows) {
    const session = await create(amount, currency);
    const what = `${amount} ${currency}`;
    assert.is(session.amount_total, amount, what);
    assert.is(session.currency, currency, what);
    assert.is(session.exchange_rate, rate, what);
    assert.is(session.target_currency, 'USDT', what);
    assert.is(session.target_amount_total, target, what);
    assert.is(session.rate_locked_at, session.created, what);
    for (const option of session.payment_options ?? []) assert.is(option.amount, shown, `${what} ${option.currency}`);
    assert.is(session.payment_options?.length, 4, 'either stablecoin may pay');
  }
});

test('the target is the settlement currency of the store', async () => {
  const merchant = await api.addMerchant('approved', { settlementCurrency: 'USDC' });
  const { send } = api.client(await api.addKey(merchant, 'test'));
  const session = await create(10_50, 'EUR', send);
  assert.is(session.target_currency, 'USDC');
  assert.is(session.target_amount_total, 11_38);
});

test('a price that exceeds the exact integers when converted is refused', async () => {
  const { MAX_SAFE_INTEGER } = Number;
  expectError(await api.send('POST', CREATE, order(MAX_SAFE_INTEGER, 'EUR')), {
    status: 400,
    code: 'invalid_parameter',
    param: 'amount',
  });
  assert.is((await create(MAX_SAFE_INTEGER, 'KWD')).amount_total, MAX_SAFE_INTEGER);
});

// Last, because it lets the only rates become stale.
test('stale rates are 503 for new conversions only; locked rates stay', async () => {
  const body = order(10_50, 'EUR');
  const first = await api.send('POST', CREATE, body);
  api.clock.advance(401 * DAY_MS);
  await api.follow();
  const refused = await api.send('POST', CREATE, order(10_50, 'EUR'));
  expectError(refused, { status: 503, code: 'exchange_rate_unavailable', param: null });
  assert.is(refused.headers['retry-after'], '30');
  assert.match(api.logged(), /"why":"[^"]+","msg":"no exchange rate"/, 'the log says what the merchant does not see');
  assert.is((await create(10_50, 'USD')).payment_status, 'pending');

  const again = await api.send('POST', CREATE, body);
  assert.is(again.headers['idempotent-replayed'], 'true');
  assert.equal(again.json, first.json);
  expectError(await api.send('POST', CREATE, { ...body, amount: 1 }), { status: 400, code: 'order_id_conflict' });
});

test.after(() => api.close());
test.run();
