import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as epusdt from '../../src/doors/epusdt/codec.ts';
import { spelled, spellings } from '../../src/doors/epusdt/numbers.ts';
import { isDoorFault } from '../../src/doors/faults.ts';
import { verify } from '../../src/doors/signed.ts';
import { shortest } from '../../src/doors/words.ts';
import { column } from '../support/fields.ts';
import { answerOf, bodyOf, type EpusdtClient, epusdtClients } from './epusdt-clients.ts';
import { paidDoorOrder } from './paid-order.ts';
import { md5Of, type Values } from './requests.ts';

const KEY = 'Qs7kEpusdtTestKey000000000000001';
const door = { key: KEY, currency: 'CNY', algorithm: 'dual' } as const;

function read(client: EpusdtClient, text = bodyOf(client, KEY), given: Parameters<typeof epusdt.readOrder>[2] = door) {
  const body = epusdt.readBody(text, client.sends.startsWith('{'));
  return isDoorFault(body) ? body : epusdt.readOrder(client.dialect, body, given, client.isChoice ?? false);
}

for (const client of epusdtClients) {
  test(`${client.name}: its request is an order, its notice is accepted and acknowledged, a forged one is not`, () => {
    const order = read(client);
    assert.not(isDoorFault(order), JSON.stringify(order));
    if (isDoorFault(order)) return;
    assert.is(order.terms.algorithm, client.algorithm ?? 'md5');
    assert.equal(read(client, bodyOf(client, `${KEY}2`)), { field: 'signature', code: 'signature' });
    const changed = bodyOf(client, KEY).replace(/("?amount"?[=:]\s*"?)[0-9.]+/, '$10.01');
    assert.equal(read(client, changed), { field: 'signature', code: 'signature' });

    const paid = paidDoorOrder({ ...order, pid: 1002 });
    const notice = epusdt.notice(client.dialect, paid, KEY);
    const answer = answerOf(client, notice, KEY);
    assert.is(answer, client.answers[0], notice);
    assert.ok(epusdt.isAccepted(200, answer));
    assert.is(answerOf(client, notice, `${KEY}2`), client.answers[1]);
    assert.not(epusdt.isAccepted(200, client.answers[1]));
    // The request itself is no notice to a client that looks for a status.
    if (client.compares.includes('status') && client.sends.startsWith('{')) {
      assert.is(answerOf(client, bodyOf(client, KEY), KEY), client.answers[1]);
    }
  });
}

/** Texts before the key, with what the programs' own documents and code make of them. */
const GMPAY =
  'amount=100&currency=cny&name=VIP&network=tron&notify_url=https://merchant.example/notify&order_id=ORD202605230001&pid=1000&redirect_url=https://merchant.example/return&token=usdt';
const vectors = [
  [
    'amount=42&notify_url=http://example.com/notify&order_id=20220201030210321&redirect_url=http://example.com/redirect',
    'epusdt_password_xasddawqe',
    'md5',
    '1cd4b52df5587cfb1968b0c0c6e156cd',
  ],
  [GMPAY, 'epusdt_secret_key', 'md5', '476412c422f4dd75c3d533f5c47a9cac'],
  [GMPAY, 'epusdt_secret_key', 'hmac_sha256', '6f874b1919d95081835e2809b620e354a5866f5a6dbb2e432d1627f1eb10059d'],
] as const;

test('published signatures are verified, each by its own algorithm only', () => {
  for (const [text, key, algorithm, signature] of vectors) {
    const fields = new Map(text.split('&').map((pair) => pair.split('=') as [string, string]));
    assert.is(verify(fields, signature, key, ['hmac_sha256', 'md5']), algorithm);
    assert.is(verify(fields, signature, key, [algorithm === 'md5' ? 'hmac_sha256' : 'md5']), null);
  }
});

test('a key that is set to HMAC-SHA256 takes no MD5, and the other way round', () => {
  for (const client of epusdtClients.filter(({ dialect }) => dialect === 'gmpay')) {
    const own = client.algorithm ?? 'md5';
    assert.not(isDoorFault(read(client, undefined, { ...door, algorithm: own })));
    const other = own === 'md5' ? 'hmac_sha256' : 'md5';
    assert.equal(read(client, undefined, { ...door, algorithm: other }), { field: 'signature', code: 'signature' });
  }
});

test('numbers are written as languages write them', () => {
  const table = [
    ['1000000', 'go', '1e+06'],
    ['1234567.89', 'go', '1.23456789e+06'],
    ['999999.99', 'go', '999999.99'],
    ['123456.78', 'twelve', '123456.779999999999'],
    ['9.90', 'twelve', '9.9'],
    ['10.00', 'shortest', '10'],
  ] as const;
  for (const [text, spelling, written] of table) assert.is(spelled(text, spelling), written);
  assert.is(shortest('100'), '100');
  assert.equal(column(spellings('42'), 'text'), ['42', '42', '42.00', '42.0', '42', '42']);
});

test('a notice is written specially only for an order that was signed so', () => {
  const spellingOf = (name: RegExp): unknown => {
    const client = epusdtClients.find((one) => name.test(one.name));
    const order = client && read(client);
    return order && !isDoorFault(order) ? order.terms.spelling : order;
  };
  assert.is(spellingOf(/twelve/), 'twelve');
  assert.is(spellingOf(/Go program/), 'go');
  assert.is(spellingOf(/Java/), 'shortest');
  assert.is(spellingOf(/card-gateway/), 'shortest');
});

const base = { order_id: 'a1', amount: 10, notify_url: 'https://panel.example/n' };
/** Returns what is read from a body that is signed in the plain way. */
function readSigned(dialect: epusdt.EpusdtDialect, values: Values, isChoice = false) {
  const signature = md5Of(values, KEY);
  const body = epusdt.readBody(JSON.stringify({ ...values, signature }), true);
  return isDoorFault(body) ? body : epusdt.readOrder(dialect, body, door, isChoice);
}

test('a request becomes an order and its terms', () => {
  assert.equal(readSigned('bepusdt', { ...base, name: 'VIP', redirect_url: 'https://panel.example/r' }), {
    orderNo: 'a1',
    terms: {
      money: '10.00',
      name: 'VIP',
      notifyUrl: base.notify_url,
      returnUrl: 'https://panel.example/r',
      param: null,
      type: 'usdt.trc20',
      method: { network: 'tron', coin: 'USDT' },
      spelling: 'shortest',
      algorithm: 'md5',
    },
  });
});

test('a way to pay is fixed, usual or the payer’s, by the dialect', () => {
  const methodOf = (...args: Parameters<typeof readSigned>) => {
    const order = readSigned(...args);
    return isDoorFault(order) ? order : order.terms.method;
  };
  const usual = { network: 'tron', coin: 'USDT' };
  assert.equal(methodOf('epusdt', base), usual);
  assert.equal(methodOf('bepusdt', base), usual);
  assert.is(methodOf('bepusdt', base, true), null);
  assert.is(methodOf('gmpay', base), null);
  assert.equal(methodOf('gmpay', { ...base, token: 'usdc', network: 'binance' }), { network: 'bsc', coin: 'USDC' });
  assert.equal(methodOf('gmpay', { ...base, token: 'usdc' }), { field: 'token', code: 'method_off' });
  assert.equal(methodOf('bepusdt', { ...base, trade_type: 'tron.trx' }), { field: 'trade_type', code: 'method_off' });
});

test('a signed request is refused by its field', () => {
  const table: readonly (readonly [epusdt.EpusdtDialect, Values, string, string])[] = [
    ['gmpay', { currency: 'usd' }, 'currency', 'currency'],
    ['bepusdt', { fiat: 'USD' }, 'fiat', 'currency'],
    ['epusdt', { amount: 10.001 }, 'amount', 'malformed'],
    ['epusdt', { amount: 0 }, 'amount', 'malformed'],
    ['epusdt', { amount: '' }, 'amount', 'missing'],
    ['epusdt', { order_id: 'a&b' }, 'order_id', 'malformed'],
    ['epusdt', { notify_url: 'x' }, 'notify_url', 'malformed'],
    ['epusdt', { redirect_url: 'javascript:1' }, 'redirect_url', 'malformed'],
  ];
  for (const [dialect, changes, field, code] of table) {
    assert.equal(readSigned(dialect, { ...base, ...changes }), { field, code });
  }
});

test('a body that two readers could understand differently is refused', () => {
  const table = [
    '[]',
    '{',
    '1',
    '{"a":1,"a":2}',
    '{"a":[1]}',
    '{"a":true}',
    '{"a":"\\u0000"}',
    '{"a":"\\ud800"}',
    '{"a[]":1}',
  ];
  for (const text of table) assert.ok(isDoorFault(epusdt.readBody(text, true)), text);
  assert.equal(epusdt.readBody(`"${'a'.repeat(9000)}"`, true), { field: 'request', code: 'too_large' });
});

const order: epusdt.OpenOrder = {
  ...paidDoorOrder({ terms: { money: '10.50' } }),
  currency: 'CNY',
  state: 'waiting',
  offer: { address: 'TXYZ', network: 'bsc', coin: 'USDT', units: 1_390_000n, decimals: 6 },
  createdAtMs: 1_795_845_600_000,
  expiresAtMs: 1_795_847_400_000,
  pageUrl: 'https://pay.example/pay/cs_1',
};

test('an answer has the numbers, texts and times of its dialect', () => {
  const nowMs = order.createdAtMs;
  const dataOf = (dialect: epusdt.EpusdtDialect, one = order) => epusdt.createdAnswer(dialect, one, nowMs).data;
  const own = { trade_id: order.tradeNo, order_id: 'a1', payment_url: order.pageUrl };
  const seconds = order.expiresAtMs / 1000;
  const numbers = { ...own, amount: 10.5, actual_amount: 1.39, expiration_time: seconds };
  assert.equal(dataOf('epusdt'), { ...numbers, token: 'TXYZ' });
  const gmpay = { ...numbers, currency: 'CNY', receive_address: 'TXYZ', token: 'USDT', status: 1 };
  assert.equal(dataOf('gmpay'), gmpay);
  const open = { ...gmpay, actual_amount: 0, receive_address: '', token: '', status: 4 };
  assert.equal(dataOf('gmpay', { ...order, offer: null }), open);
  const bepusdt = { ...own, amount: '10.5', fiat: 'CNY', expiration_time: 1800, status: 1 };
  assert.equal(dataOf('bepusdt'), { ...bepusdt, actual_amount: '1.39', token: 'TXYZ' });
  assert.equal(dataOf('bepusdt', { ...order, offer: null }), bepusdt);
});

test('a state has the number of its dialect', () => {
  const numbersOf = (dialect: epusdt.EpusdtDialect) =>
    (['waiting', 'paid', 'expired', 'canceled', 'failed'] as const).map(
      (state) => epusdt.statusAnswer(dialect, { ...order, state }).status,
    );
  assert.equal(numbersOf('epusdt'), [1, 2, 3, 3, 3]);
  assert.equal(numbersOf('gmpay'), [1, 2, 3, 3, 3]);
  assert.equal(numbersOf('bepusdt'), [1, 2, 3, 4, 6]);
});

test('a choice of a network is answered in milliseconds and in Epusdt’s words', () => {
  const { data } = epusdt.checkoutAnswer('gmpay', order);
  assert.is(Reflect.get(data, 'network'), 'binance');
  assert.is(Reflect.get(data, 'expiration_time'), order.expiresAtMs);
  assert.is(Reflect.get(data, 'is_selected'), true);
});

test('a BEpusdt notice has its seven fields and a signature, a GMPay notice the coin and the address', () => {
  const notice = JSON.parse(epusdt.notice('bepusdt', paidDoorOrder({}), KEY)) as Readonly<Record<string, unknown>>;
  assert.is(
    Object.keys(notice).sort().join(),
    'actual_amount,amount,block_transaction_id,order_id,signature,status,token,trade_id',
  );
  assert.equal([notice.amount, notice.actual_amount, notice.status], [10, '1.39', 2]);
  const { payment } = paidDoorOrder({});
  assert.is(notice.token, payment?.address);
  const gmpay = JSON.parse(epusdt.notice('gmpay', paidDoorOrder({}), KEY)) as Readonly<Record<string, unknown>>;
  assert.equal([gmpay.token, gmpay.receive_address], ['USDT', payment?.address]);
});

test('an acknowledgement is the word alone, with status 200', () => {
  for (const body of ['ok', 'OK\n', 'success', ' Success ']) assert.ok(epusdt.isAccepted(200, body), body);
  for (const body of ['', 'fail', 'ok ok', '<p>ok</p>', '{"msg":"ok"}']) assert.not(epusdt.isAccepted(200, body), body);
  assert.not(epusdt.isAccepted(500, 'ok'));
});

test('a refusal has the status that its dialect’s clients read', () => {
  const fault = { field: 'signature', code: 'signature' } as const;
  assert.equal([epusdt.faultAnswer(fault, true).status, epusdt.faultAnswer(fault, false).status], [401, 200]);
  assert.is(epusdt.faultAnswer(fault, false).body.status_code, 401);
  const codes = (['amount', 'notify_url', 'order_id'] as const).map(
    (field) => epusdt.faultAnswer({ field, code: 'malformed' }, true).body.status_code,
  );
  assert.equal(codes, [10004, 10041, 10009]);
  assert.is(epusdt.faultAnswer({ field: 'amount', code: 'changed' }, false).body.status_code, 10002);
  assert.is(epusdt.faultAnswer({ field: 'amount', code: 'malformed' }, false).body.status_code, 400);
});

test.run();
