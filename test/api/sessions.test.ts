import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PaymentSession } from '../../src/api/session-view.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { startApi, withApi } from '../support/api-server.ts';
import { claimDue } from '../support/record-attempt.ts';
import type { Bend, HttpAnswer, SignedClient } from '../support/signed-client.ts';
import { expectError } from './expect-error.ts';

const api = await startApi();
const SESSIONS = '/api/v1/checkout/sessions';
const CREATE = `${SESSIONS}/create`;

let orders = 0;
const order = (more: object = {}) => ({ amount: 1050, currency: 'USD', order_id: `session-${++orders}`, ...more });
const sessionIn = (answer: HttpAnswer): PaymentSession => {
  assert.is(answer.status, 200, answer.text);
  return answer.json as PaymentSession;
};
const create = async (more: object = {}): Promise<PaymentSession> =>
  sessionIn(await api.send('POST', CREATE, order(more)));
const read = async (id: string): Promise<PaymentSession> => sessionIn(await api.send('GET', `${SESSIONS}/${id}`));
const cancel = (id: string, bend: Bend = {}): Promise<HttpAnswer> =>
  api.send('POST', `${SESSIONS}/${id}/cancel`, '', bend);

test('a session shows everything that was sent, under the documented names', async () => {
  const line_items = [
    {
      price_data: { currency: 'USD', unit_amount: 400, product_data: { name: 'Coffee', description: '1 kg' } },
      quantity: 2,
    },
    { price_data: { currency: 'USD', unit_amount: 50, product_data: { name: 'Bag' } } },
  ];
  const session = await create({
    line_items,
    tax_amount: 0,
    shipping_amount: 200,
    description: 'Breakfast',
    success_url: 'https://shop.example/thanks',
    cancel_url: 'https://shop.example/cart',
    metadata: { cart: 'c-77' },
    expires_in: 600,
  });
  const { id, payment_options, payer_url, ...rest } = session;
  const nowS = api.clock.nowS();
  assert.match(id, /^cs_[0-9a-hjkmnp-tv-z]{26}$/);
  assert.match(payer_url ?? '', new RegExp(`^https://pay\\.shop\\.example/pay/${id}\\?k=[0-9a-f]{32}$`));
  assert.equal(rest, {
    amount_total: 1050,
    currency: 'USD',
    payment_status: 'pending',
    created: nowS,
    expires_at: nowS + 600,
    url: `https://pay.shop.example/pay/${id}`,
    line_items: [line_items[0], { ...line_items[1], quantity: 1 }],
    tax_amount: 0,
    shipping_amount: 200,
    metadata: { cart: 'c-77', order_id: `session-${orders}` },
    payments: [],
    payments_total: 0,
    underpaid: false,
    overpaid: false,
    paid_late: false,
  });
  const address = payment_options?.[0]?.address ?? '';
  assert.match(address, /^0x[0-9a-fA-F]{40}$/);
  assert.not.equal(address, address.toLowerCase(), 'the address carries its checksum');
  const link = (token: string, chain: string, units: string) =>
    `ethereum:0x${token.repeat(40)}@${chain}/transfer?address=${address}&uint256=${units}`;
  const shared = { address, amount: '10.50', qr_code_data: address };
  const onEthereum = { ...shared, network: 'ethereum', confirmations_required: 12 };
  const onBsc = { ...shared, network: 'bsc', confirmations_required: 15 };
  assert.equal(payment_options, [
    { ...onEthereum, currency: 'USDT', deep_link: link('1', '8401', '10500000') },
    { ...onEthereum, currency: 'USDC', deep_link: link('2', '8401', '10500000') },
    { ...onBsc, currency: 'USDT', deep_link: link('3', '8456', '10500000000000000000') },
    { ...onBsc, currency: 'USDC', deep_link: link('4', '8456', '10500000000000000000') },
  ]);
  assert.equal(await read(id), session, 'reading shows the same');
});

test('fields that were not sent are left out, not null', async () => {
  const session = await create();
  assert.not(Object.values(session).includes(null as never));
  assert.equal(session.metadata, { order_id: `session-${orders}` });
  assert.is((await create({ metadata: { order_id: 'their own' } })).metadata?.order_id, 'their own');
});

test('a stablecoin session takes that coin, a USD session takes any', async () => {
  const offered = async (currency: string) => {
    const { payment_options, exchange_rate } = await create({ currency });
    assert.is(exchange_rate, undefined);
    return payment_options?.map((option) => `${option.network} ${option.currency} ${option.amount}`);
  };
  assert.equal(await offered('USDT'), ['ethereum USDT 10.50', 'bsc USDT 10.50']);
  assert.equal(await offered('USDC'), ['ethereum USDC 10.50', 'bsc USDC 10.50']);
  assert.is((await offered('USD'))?.length, 4);
});

test('a currency that no network of the mode takes is unsupported', async () => {
  const live = api.client(api.liveKey);
  expectError(await live.send('POST', CREATE, order({ currency: 'USDC' })), {
    status: 400,
    code: 'unsupported_currency',
    param: 'currency',
  });
  const { payment_options } = sessionIn(await live.send('POST', CREATE, order()));
  assert.equal(
    payment_options?.map(({ currency }) => currency),
    ['USDT'],
  );
});

test('a session that cannot be found is 404, whatever the reason', async () => {
  const { id } = await create();
  const other = api.client(await api.addKey(await api.addMerchant(), 'test'));
  const live = api.client(api.liveKey);
  const expected = { status: 404, code: 'session_not_found', param: null };
  for (const client of [other, live]) {
    expectError(await client.send('GET', `${SESSIONS}/${id}`), expected);
    expectError(await client.send('POST', `${SESSIONS}/${id}/cancel`), expected);
    expectError(await client.send('GET', `/v1/payment/sessions/${id}`), expected);
  }
  const body = id.slice(3);
  const names = [
    `cs_${'0'.repeat(26)}`,
    `cs_${body}0`,
    `cs_${body.slice(1)}`,
    `cs_${body.toUpperCase()}`,
    `ps_${body}`,
    `cs_cs_${body}`,
    `cs_sess_${body}`,
    'x',
    '12345',
    'null',
    `${body}%20`,
    `${body}%00`,
    `${body}'--`,
    '%F0%9F%98%80',
    'x'.repeat(5000),
  ];
  for (const name of names) {
    expectError(await api.send('GET', `${SESSIONS}/${name}`), expected, name);
    expectError(await cancel(name), expected, name);
  }
  assert.is((await read(id)).payment_status, 'pending');
});

// ── Sent again ───────────────────────────────────────────────────────────────────────────────────────────────────────

test('a repeated order with the same meaning returns the same session as it is now', async () => {
  const plain = order();
  await api.send('POST', CREATE, plain);
  const withNothing = await api.send('POST', CREATE, { ...plain, metadata: {}, line_items: [] });
  assert.is(withNothing.headers['idempotent-replayed'], 'true');

  const body = order({ metadata: { a: '1', b: '2' }, line_items: [], shipping_amount: 10 });
  const first = await api.send('POST', CREATE, body);
  assert.is(first.headers['idempotent-replayed'], undefined);
  const { id } = sessionIn(first);
  const again: (object | string)[] = [
    body,
    { ...body, metadata: { b: '2', a: '1' } },
    { ...body, line_items: null, description: null, expires_in: 1800, unknown: 'field' },
    JSON.stringify(body, null, 4),
    Object.fromEntries(Object.entries(body).reverse()),
  ];
  for (const same of again) {
    const answer = await api.send('POST', CREATE, same);
    assert.is(answer.headers['idempotent-replayed'], 'true');
    assert.equal(answer.json, first.json);
  }
  const keyed = { headers: { 'Idempotency-Key': 'as-it-is-now' } };
  await api.send('POST', CREATE, body, keyed);
  await cancel(id);
  const { json } = await api.send('POST', CREATE, body, keyed);
  assert.equal([(json as PaymentSession).id, (json as PaymentSession).payment_status], [id, 'canceled']);
});

test('a repeated order with another meaning is a conflict', async () => {
  const item = (quantity: number, name = 'Coffee') => ({
    price_data: { currency: 'USD', unit_amount: 1050, product_data: { name } },
    quantity,
  });
  const body = order({ line_items: [item(1)], metadata: { a: '1' }, success_url: 'https://shop.example/a' });
  await api.send('POST', CREATE, body);
  const others = [
    { ...body, amount: 2100, line_items: [item(2)] },
    { ...body, amount: 2100, line_items: null },
    { ...body, line_items: null },
    { ...body, line_items: [item(1, 'Tea')] },
    { ...body, currency: 'USDT', line_items: null },
    { ...body, metadata: { a: '2' } },
    { ...body, metadata: { a: '1', b: '' } },
    { ...body, metadata: null },
    { ...body, success_url: null },
    { ...body, success_url: null, cancel_url: 'https://shop.example/a' },
    { ...body, description: 'x' },
    { ...body, tax_amount: 0 },
    { ...body, expires_in: 1801 },
  ];
  for (const other of others) {
    const answer = await api.send('POST', CREATE, other);
    expectError(answer, { status: 400, code: 'order_id_conflict', param: 'order_id' }, JSON.stringify(other));
  }
});

test('an Idempotency-Key returns the first success, and no refusal', async () => {
  const bend = { headers: { 'Idempotency-Key': 'key-of-a-creation' } };
  const refused = order({ amount: 0 });
  expectError(await api.send('POST', CREATE, refused, bend), { status: 400, code: 'invalid_parameter' });
  const body = order();
  const { id } = sessionIn(await api.send('POST', CREATE, body, bend));
  const again = await api.send('POST', CREATE, body, bend);
  assert.is(sessionIn(again).id, id);
  assert.is(again.headers['idempotent-replayed'], 'true');
  const conflict = { status: 400, code: 'idempotency_key_conflict', param: 'Idempotency-Key' };
  expectError(await api.send('POST', CREATE, order(), bend), conflict);
  assert.is((await cancel(id, bend)).status, 200, 'scoped to the path');
});

test('an Idempotency-Key is 1 to 255 visible ASCII characters', async () => {
  const wrong = ['', 'k'.repeat(256), 'with blank', 'schlüssel'];
  for (const key of wrong) {
    const answer = await api.send('POST', CREATE, order(), { headers: { 'Idempotency-Key': key } });
    expectError(answer, { status: 400, code: 'invalid_parameter', param: 'Idempotency-Key' }, key);
  }
  const { id } = await create();
  assert.is((await api.send('POST', CREATE, order(), { headers: { 'Idempotency-Key': 'k'.repeat(255) } })).status, 200);
  assert.is((await api.send('GET', `${SESSIONS}/${id}`, '', { headers: { 'Idempotency-Key': '' } })).status, 200);
});

// ── Canceling ────────────────────────────────────────────────────────────────────────────────────────────────────────

test('a cancel repeated with its key is marked as replayed', async () => {
  const { id } = await create();
  const bend = { headers: { 'Idempotency-Key': 'key-of-a-cancel' } };
  assert.is((await cancel(id, bend)).headers['idempotent-replayed'], undefined);
  const again = await cancel(`sess_${id.slice(3)}`, bend);
  assert.is(again.headers['idempotent-replayed'], 'true', 'the session is the same by whatever name');
  assert.is(sessionIn(again).payment_status, 'canceled');

  const other = await create();
  const answer = await cancel(other.id, bend);
  assert.is(answer.headers['idempotent-replayed'], undefined, 'the key belongs to the path');
  assert.equal([sessionIn(answer).id, sessionIn(answer).payment_status], [other.id, 'canceled']);
});

test('no session is created before a network is read', () =>
  withApi({ ready: false }, async (early) => {
    const refused = await early.send('POST', CREATE, order());
    expectError(refused, { status: 503, code: 'no_network_followed', param: null });
    assert.ok(Number(refused.headers['retry-after']) > 0);
    await early.chain('bsc').mine();
    const { payment_options } = sessionIn(await early.send('POST', CREATE, order()));
    assert.equal(
      payment_options?.map(({ network }) => network),
      ['bsc', 'bsc'],
    );
  }));

test('no session is created in a mode without networks', () =>
  withApi({ networks: [] }, async (bare) => {
    expectError(await bare.send('POST', CREATE, order()), { status: 503, code: 'no_network_followed' });
  }));

test('an order that ended unpaid can be tried again', async () => {
  const body = { amount: 1000, currency: 'USD', order_id: 'tried again' };
  const post = async (more: object = {}) => {
    const answer = await api.send('POST', CREATE, { ...body, ...more });
    assert.is(answer.status, 200, answer.text);
    const replayed = answer.headers['idempotent-replayed'] === 'true';
    return { id: (answer.json as PaymentSession).id, replayed };
  };
  const first = await post();
  assert.equal(await post(), { ...first, replayed: true });
  await api.send('POST', `/api/v1/checkout/sessions/${first.id}/cancel`);
  const second = await post({ amount: 1200 });
  assert.equal([second.replayed, second.id === first.id], [false, false]);
  assert.equal(await post({ amount: 1200 }), { ...second, replayed: true });
  const conflict = { status: 400, code: 'order_id_conflict', param: 'order_id' };
  expectError(await api.send('POST', CREATE, body), conflict, 'the newest session counts, and it is open');
});

test('the endpoint of a session is taken by the reference call too, and checked', async () => {
  const body = { amount: 1000, currency: 'USD', order_id: 'with an endpoint' };
  for (const webhook_url of [7, 'x'.repeat(3000)]) {
    const answer = await api.send('POST', CREATE, { ...body, webhook_url });
    expectError(answer, { status: 400, code: 'invalid_parameter', param: 'webhook_url' });
  }
  const url = 'https://shop.example/of-this-order';
  const made = await api.send('POST', CREATE, { ...body, webhook_url: url });
  assert.is(made.status, 200, made.text);
  await api.send('POST', `/api/v1/checkout/sessions/${(made.json as PaymentSession).id}/cancel`);
  const [delivery] = (await claimDue(api.database(), api.clock.nowMs())).filter((one) => one.url === url);
  assert.is(delivery?.eventType, 'payment.cancelled');
  const { object } = JSON.parse(delivery?.body ?? '').data;
  assert.equal(
    { amount: object.amount, currency: object.currency, exchange_rate: object.exchange_rate },
    { amount: 1000, currency: 'USDT', exchange_rate: '1.0000' },
  );
});

// ── Conversion ──────────────────────────────────────────────────────────────────────────────────────────────────────

const priced = (amount: number, currency: string) => order({ amount, currency });
const convert = async (amount: number, currency: string, send: SignedClient['send'] = api.send) =>
  sessionIn(await send('POST', CREATE, priced(amount, currency)));

test('amounts are converted by the currency’s exponent, at the shown rate, rounded up', async () => {
  // [amount in minor units, currency, shown rate, stablecoin cents, decimal amount]
  const rows: [number, string, string, number, string][] = [
    [10_50, 'EUR', '1.08340', 11_38, '11.38'], // 11.3757
    [1000, 'JPY', '0.00660000', 6_60, '6.60'], // 6.6 exactly, without decimals in the yen
    [1001, 'KWD', '3.25000', 3_26, '3.26'], // 3.25325; one dinar has 1000 fils
    [8_333_333_34, 'BTN', '0.00000120000', 10_01, '10.01'], // 10.000000008: never a cent too little
  ];
  for (const [amount, currency, rate, target, shown] of rows) {
    const session = await convert(amount, currency);
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
  const session = await convert(10_50, 'EUR', send);
  assert.is(session.target_currency, 'USDC');
  assert.is(session.target_amount_total, 11_38);
});

test('a price that exceeds the exact integers when converted is refused', async () => {
  const { MAX_SAFE_INTEGER } = Number;
  expectError(await api.send('POST', CREATE, priced(MAX_SAFE_INTEGER, 'EUR')), {
    status: 400,
    code: 'invalid_parameter',
    param: 'amount',
  });
  assert.is((await convert(MAX_SAFE_INTEGER, 'KWD')).amount_total, MAX_SAFE_INTEGER);
});

// Last, because it lets the only rates become stale.
test('stale rates are 503 for new conversions only; locked rates stay', async () => {
  const body = priced(10_50, 'EUR');
  const first = await api.send('POST', CREATE, body);
  api.clock.advance(401 * DAY_MS);
  await api.follow();
  const refused = await api.send('POST', CREATE, priced(10_50, 'EUR'));
  expectError(refused, { status: 503, code: 'exchange_rate_unavailable', param: null });
  assert.is(refused.headers['retry-after'], '30');
  assert.match(api.logged(), /"why":"[^"]+","msg":"no exchange rate"/, 'the log says what the merchant does not see');
  assert.is((await convert(10_50, 'USD')).payment_status, 'pending');

  const again = await api.send('POST', CREATE, body);
  assert.is(again.headers['idempotent-replayed'], 'true');
  assert.equal(again.json, first.json);
  expectError(await api.send('POST', CREATE, { ...body, amount: 1 }), { status: 400, code: 'order_id_conflict' });
});

test.after(() => api.close());
test.run();
