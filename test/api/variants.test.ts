import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PaymentSession } from '../../src/api/session-view.ts';
import { startApi } from '../support/api-server.ts';
import type { HttpAnswer } from '../support/signed-client.ts';
import { expectError } from './expect-error.ts';

const checked: string[] = [];
const api = await startApi({
  async checkWebhookUrl(url, mode) {
    checked.push(`${mode} ${url}`);
    return url.includes('10.0.0.1') ? 'webhook_url leads to a private address.' : null;
  },
});
const CREATE = '/api/v1/checkout/sessions/create';
const QUICK = '/v1/payment/sessions';

type Envelope = Readonly<{
  base: Readonly<{ code: number; message: string }>;
  session: Readonly<Record<string, unknown>> & Readonly<{ session_id: string }>;
}>;

let orders = 0;
const quick = (more: object = {}) => ({
  order_id: `quick-${++orders}`,
  amount: { value: '10.50', currency: 'USD' },
  ...more,
});
const byMode = (more: object = {}) => ({
  mode: 'payment',
  order_id: `mode-${++orders}`,
  amount: '10.50',
  payment_method_types: ['crypto'],
  payment_method_options: { crypto: { currency: 'USDT' } },
  ...more,
});
const envelope = (answer: HttpAnswer): Envelope => {
  assert.is(answer.status, 200, answer.text);
  return answer.json as Envelope;
};
const reference = async (id: string): Promise<PaymentSession> =>
  (await api.send('GET', `/api/v1/checkout/sessions/${id}`)).json as PaymentSession;

// ── /v1/payment/sessions ─────────────────────────────────────────────────────────────────────────────────────────────

test('the quick-start call makes a session like any other, read by any name', async () => {
  const answer = await api.send('POST', QUICK, quick({ merchant_id: api.merchantId }));
  const { session } = envelope(answer);
  const { amount_total, payer_url, payment_options } = await reference(session.session_id);
  const address = payment_options?.[0]?.address;
  assert.is(amount_total, 1050);
  assert.equal(
    [session.payer_url, session.ethereum_address, session.bsc_address, session.qr_code_data],
    [payer_url, address, address, address],
  );
  const body = session.session_id.slice(3);
  for (const name of [`cs_${body}`, `sess_${body}`, body]) {
    assert.equal((await api.send('GET', `${QUICK}/${name}`)).json, answer.json);
  }
});

test('decimal amounts are read by the currency’s exponent', async () => {
  const rows: [string, string, number, string][] = [
    ['10.50', 'USD', 1050, '10.50'],
    ['10.5', 'USD', 1050, '10.50'],
    ['10.000', 'USD', 1000, '10.00'],
    ['1500', 'JPY', 1500, '1500'],
    ['1.001', 'KWD', 1001, '1.001'],
    ['90071992547409.91', 'USD', Number.MAX_SAFE_INTEGER, '90071992547409.91'],
  ];
  for (const [value, currency, minor, shown] of rows) {
    const { session } = envelope(await api.send('POST', QUICK, quick({ amount: { value, currency } })));
    assert.is((await reference(session.session_id)).amount_total, minor, `${value} ${currency}`);
    assert.equal(session.amount, { value: shown, currency });
  }
});

test('bad quick-start bodies get the ordinary error body', async () => {
  const amount = (value: unknown, currency: unknown = 'USD') => quick({ amount: { value, currency } });
  const rows: [object, string, string?][] = [
    [quick({ amount: undefined }), 'amount', 'missing_parameter'],
    [quick({ amount: '10.50' }), 'amount'],
    [quick({ amount: { currency: 'USD' } }), 'amount.value', 'missing_parameter'],
    [quick({ amount: { value: '1' } }), 'amount.currency', 'missing_parameter'],
    ...[
      ...['0', '0.00', '-1', '+1', '1.', '.5', '01', '1e2', '1,50', ' 1', '', 'NaN', '0.000', '10.505'],
      ...['90071992547409.92', '9'.repeat(200)],
    ].map((value): [object, string] => [amount(value), 'amount.value']),
    [amount('1.5', 'JPY'), 'amount.value'],
    [amount(10.5), 'amount.value'],
    [amount('1', 'usd'), 'amount.currency', 'unsupported_currency'],
    [amount('1', 'XXX'), 'amount.currency', 'unsupported_currency'],
    [quick({ order_id: undefined }), 'order_id', 'missing_parameter'],
    [quick({ order_id: '' }), 'order_id'],
    [quick({ success_url: 'shop' }), 'success_url'],
    [quick({ webhook_url: 7 }), 'webhook_url'],
    [quick({ webhook_url: 'https://10.0.0.1/hook' }), 'webhook_url'],
    [quick({ webhook_url: `https://shop.example/${'x'.repeat(2048)}` }), 'webhook_url'],
    [quick({ merchant_id: 7 }), 'merchant_id'],
  ];
  for (const [body, param, code = 'invalid_parameter'] of rows) {
    expectError(await api.send('POST', QUICK, body), { status: 400, code, param }, JSON.stringify(body).slice(0, 100));
  }
  expectError(await api.send('POST', QUICK, quick({ merchant_id: 'mer_other' })), {
    status: 403,
    code: 'FORBIDDEN',
    param: 'merchant_id',
  });
  expectError(await api.send('GET', `${QUICK}/unknown`), { status: 404, code: 'session_not_found' });
});

test('the endpoint of a session is checked for the key’s mode', async () => {
  const url = 'https://shop.example/of-this-session';
  envelope(await api.send('POST', QUICK, quick({ webhook_url: url })));
  assert.ok(checked.includes(`test ${url}`));
});

// ── The mode shape ───────────────────────────────────────────────────────────────────────────────────────────────────

test('the top-level currency applies, else that of the payment method', async () => {
  const currencyOf = async (more: object) => {
    const { currency, payment_options } = await reference(
      envelope(await api.send('POST', CREATE, byMode(more))).session.session_id,
    );
    return `${currency}: ${payment_options?.map((option) => `${option.network} ${option.currency}`).join(', ')}`;
  };
  const crypto = (options: object) => ({ payment_method_options: { crypto: options } });
  assert.is(await currencyOf({}), 'USDT: ethereum USDT, bsc USDT');
  assert.is(await currencyOf({ currency: null }), 'USDT: ethereum USDT, bsc USDT');
  assert.is(await currencyOf({ currency: 'USD' }), 'USD: ethereum USDT, bsc USDT');
  assert.is(await currencyOf({ currency: 'EUR', ...crypto({ network: 'BSC', currency: 'USDC' }) }), 'EUR: bsc USDC');
  assert.is(
    await currencyOf({ currency: 'USD', ...crypto({ network: 'ethereum' }) }),
    'USD: ethereum USDT, ethereum USDC',
  );
  assert.is(
    await currencyOf({ currency: 'USD', payment_method_options: null }),
    'USD: ethereum USDT, ethereum USDC, bsc USDT, bsc USDC',
  );
});

test('with a decimal string, either of its fields makes it the mode shape', async () => {
  for (const missing of ['mode', 'payment_method_types']) {
    assert.is(envelope(await api.send('POST', CREATE, byMode({ [missing]: undefined }))).base.code, 0);
  }
  const neither = byMode({ mode: undefined, payment_method_types: undefined, currency: 'USD' });
  expectError(await api.send('POST', CREATE, neither), { status: 400, code: 'invalid_parameter', param: 'amount' });
  const integer = await api.send('POST', CREATE, byMode({ amount: 1050, currency: 'USD' }));
  assert.is((integer.json as PaymentSession).amount_total, 1050, 'an integer amount is the reference shape');
});

test.after(() => api.close());
test.run();
