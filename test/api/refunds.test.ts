/** The refund endpoints over real HTTP: every row of the documented tables. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import type { Currency } from '../../src/core/transfer.ts';
import { type ApiServer, startApi, withApi } from '../support/api-server.ts';
import { approve } from '../support/approve.ts';
import { counted } from '../support/nonces.ts';
import type { HttpAnswer } from '../support/signed-client.ts';

const CREATE = '/api/v1/refunds/create';
const payerAddress = chains.evm.address.format('c0ffee'.padStart(40, '1'));

const api = await startApi();
let orders = 0;

/** Creates a paid and confirmed session of this price. @returns its id */
async function paidSession(
  server: ApiServer,
  cents = 10_00,
  currency: Currency = 'USDT',
  extraUnits = 0n,
): Promise<string> {
  const order_id = `order-${++orders}`;
  const made = await server.send('POST', '/api/v1/checkout/sessions/create', {
    amount: cents,
    currency: 'USD',
    order_id,
  });
  const session = await server.database().sessions.find(String(fields(made).id));
  assert.ok(session);
  const units = BigInt(cents) * 10_000n + extraUnits;
  const block = await server.chain('ethereum').mine([{ to: session.addresses.evm ?? '', currency, units }]);
  await server.chain('ethereum').confirm(block);
  return session.id;
}

const refundBody = (order_id: string, refund_id: string, more: object = {}) => ({
  order_id,
  refund_id,
  amount: '4.50',
  currency: 'USDT',
  ...more,
});

const refundTo = (order_id: string, refund_id: string, more: object = {}) =>
  refundBody(order_id, refund_id, { metadata: { refund_address: payerAddress }, ...more });

/** Returns the fields of a JSON answer. */
const fields = (answer: HttpAnswer) => answer.json as Readonly<Record<string, unknown>>;

/** Returns status, code and param of an error. */
function codeOf(answer: HttpAnswer): (string | number | undefined)[] {
  const { error } = answer.json as { error?: { code: string; param?: string } };
  return [answer.status, error?.code, error?.param];
}

/** Runs what is due for refunds by time. */
const tick = (server: ApiServer) => server.database().refunds.advance(server.clock.nowMs(), 100);

test('a refund of a paid session gets 201 and the documented fields', async () => {
  const session = await paidSession(api);
  const answer = await api.send(
    'POST',
    CREATE,
    refundTo(session, 'r-1', { reason: 'duplicate', description: 'twice' }),
  );
  assert.is(answer.status, 201);
  assert.equal(answer.json, {
    refund_id: 'r-1',
    session_id: session,
    order_id: `order-${orders}`,
    amount: '4.50',
    currency: 'USDT',
    status: 'pending',
    reason: 'duplicate',
    description: 'twice',
    created_at: api.clock.nowS(),
    metadata: { refund_address: payerAddress },
    destination: { network: 'ethereum', address: payerAddress },
    destination_source: 'merchant',
  });
});

test('the same refund_id with the same body refunds once; another body is refused', async () => {
  const session = await paidSession(api);
  const first = await api.send('POST', CREATE, refundTo(session, 'r-2'));
  await tick(api);
  const again = await api.send('POST', CREATE, refundTo(session.replace('cs_', 'sess_'), 'r-2'));
  assert.is(again.status, 201);
  assert.is(again.headers['idempotent-replayed'], 'true');
  assert.equal(again.json, first.json, 'the first answer, though the refund is processing now');
  assert.equal(codeOf(await api.send('POST', CREATE, refundTo(session, 'r-2', { amount: '4.51' }))), [
    400,
    'DUPLICATE_REFUND_ID',
    'refund_id',
  ]);
});

test('every wrong field has its documented code', async () => {
  const session = await paidSession(api);
  const fine = refundTo(session, 'r-fields');
  const rows: [object | string, (string | number | undefined)[]][] = [
    ['{"order_id":', [400, 'INVALID_JSON', undefined]],
    [{ ...fine, order_id: undefined }, [400, 'MISSING_CHARGE', 'order_id']],
    [{ ...fine, order_id: '' }, [400, 'MISSING_CHARGE', 'order_id']],
    [{ ...fine, order_id: 7 }, [400, 'INVALID_JSON', 'order_id']],
    [{ ...fine, refund_id: null }, [400, 'MISSING_REFUND_ID', 'refund_id']],
    [{ ...fine, refund_id: 'r'.repeat(129) }, [400, 'INVALID_JSON', 'refund_id']],
    [{ ...fine, refund_id: 'a\nb' }, [400, 'INVALID_JSON', 'refund_id']],
    ...['create', '.', '..'].map((id): [object, (string | number)[]] => [
      { ...fine, refund_id: id },
      [400, 'INVALID_JSON', 'refund_id'],
    ]),
    [{ ...fine, amount: undefined }, [400, 'INVALID_AMOUNT', 'amount']],
    ...['0', '0.00', '-1', '+1', '01', '1.', '.5', '1.234', ' 1', '1e2', '1,5', '9'.repeat(23), 4.5].map(
      (amount): [object, (string | number)[]] => [{ ...fine, amount }, [400, 'INVALID_AMOUNT', 'amount']],
    ),
    [{ ...fine, currency: undefined }, [400, 'INVALID_CURRENCY', 'currency']],
    [{ ...fine, currency: 'usdt' }, [400, 'INVALID_CURRENCY', 'currency']],
    [{ ...fine, currency: 'EUR' }, [400, 'INVALID_CURRENCY', 'currency']],
    [{ ...fine, currency: 'USDC' }, [400, 'INVALID_CURRENCY', 'currency']],
    [{ ...fine, reason: 'because' }, [400, 'INVALID_JSON', 'reason']],
    [{ ...fine, description: 5 }, [400, 'INVALID_JSON', 'description']],
    [{ ...fine, metadata: 'x' }, [400, 'INVALID_JSON', 'metadata']],
    [{ ...fine, metadata: { text: 'x'.repeat(9000) } }, [400, 'INVALID_JSON', 'metadata']],
    [{ ...fine, metadata: { refund_address: 5 } }, [400, 'INVALID_JSON', 'metadata.refund_address']],
    [{ ...fine, metadata: { refund_address: '0x12' } }, [400, 'INVALID_JSON', 'metadata.refund_address']],
  ];
  for (const [body, expected] of rows) {
    assert.equal(codeOf(await api.send('POST', CREATE, body)), expected, JSON.stringify(body));
  }
  assert.is((await api.send('POST', CREATE, fine)).status, 201, 'none of them left anything behind');
});

test('metadata may have at most 32 levels, however deep it is', async () => {
  const session = await paidSession(api);
  const nested = (levels: number, leaf = '') => {
    const text = `${'['.repeat(levels - 1)}${leaf}${']'.repeat(levels - 1)}`;
    const body = refundBody(session, `r-deep-${levels}-${leaf}`, { amount: '0.01', metadata: { a: 'here' } });
    return api.send('POST', CREATE, JSON.stringify(body).replace('"here"', text));
  };
  assert.is((await nested(32)).status, 201);
  assert.is((await nested(32, '1.0')).status, 201, 'a number is no level');
  for (const levels of [33, 999, 1001, 2501, 4001, 100_000]) {
    assert.equal(codeOf(await nested(levels)), [400, 'INVALID_JSON', 'metadata'], `${levels} levels`);
  }
});

test('metadata is returned as it was sent, to the digit', async () => {
  const session = await paidSession(api);
  const sent = `{"price":10.0,"exp":1e2,"long":123456789012345678901234567890,"zero":-0,"list":[0.10,{"__proto__":1.50}],"__proto__":"kept"}`;
  const body = JSON.stringify(refundBody(session, 'r-exact', { metadata: { refund_address: payerAddress } }));
  const exact = body.replace(`"metadata":{`, `"metadata":${sent.slice(0, -1)},`);
  const created = await api.send('POST', CREATE, exact);
  assert.is(created.status, 201, created.text);
  const expected = `"metadata":${sent.slice(0, -1)},"refund_address"`;
  assert.ok(created.text.includes(expected), created.text);
  const again = await api.send('POST', CREATE, exact);
  assert.is(again.headers['idempotent-replayed'], 'true');
  assert.is(again.text, created.text);
  const read = await api.send('GET', '/api/v1/refunds/r-exact');
  assert.ok(read.text.includes(expected), read.text);
  const other = await api.send('POST', CREATE, exact.replace('10.0', '10.00'));
  assert.equal(codeOf(other), [400, 'DUPLICATE_REFUND_ID', 'refund_id']);
});

test('an unknown id in a path is 404, whatever it looks like', async () => {
  const paths = [
    ['/api/v1/refunds/', ''],
    ['/api/v1/refunds/', '/cancel'],
    ['/api/v1/checkout/sessions/', ''],
    ['/api/v1/checkout/sessions/', '/cancel'],
    ['/v1/payment/sessions/', ''],
  ];
  const ids = [
    'x',
    'x'.repeat(129),
    'x'.repeat(8000),
    '%00',
    '%ff',
    '%2e%2e%2f',
    '%F0%9F%98%80'.repeat(200),
    '%ED%A0%80',
    "'",
    '*',
  ];
  for (const [before, after] of paths) {
    for (const id of ids) {
      const answer = await api.send(after === '' ? 'GET' : 'POST', `${before}${id}${after}`);
      assert.is(answer.status, 404, `${before}${id.slice(0, 40)}${after} ${answer.text}`);
    }
  }
});

test('a mistyped address, a token contract, a deposit address and an unspendable one are refused', async () => {
  const session = await paidSession(api);
  const own = (await api.database().sessions.find(session))?.addresses.evm ?? '';
  const wrongChecksum = payerAddress.replace(/[a-f]/, (letter) => letter.toUpperCase());
  const addresses = [
    ...(wrongChecksum === payerAddress ? [] : [wrongChecksum]),
    `0x${'1'.repeat(40)}`,
    chains.evm.address.format(own),
    `0x${'0'.repeat(40)}`,
    `0x${'0'.repeat(36)}dEaD`,
    'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
  ];
  for (const refund_address of addresses) {
    const answer = await api.send('POST', CREATE, refundTo(session, 'r-address', { metadata: { refund_address } }));
    assert.equal(codeOf(answer), [400, 'INVALID_JSON', 'metadata.refund_address'], refund_address);
  }
});

test('a hundred refunds at once never exceed what was received', async () => {
  const session = await paidSession(api, 10_00);
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, at) =>
      api.send('POST', CREATE, refundTo(session, `r-rush-${at}`, { amount: '0.73' })),
    ),
  );
  assert.is(answers.filter(({ status }) => status === 201).length, 13);
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    assert.equal(codeOf(answer), [400, 'REFUND_AMOUNT_EXCEEDED', 'amount']);
  }
});

test('a paid session shows what was received less the refunds that count, in the list too', async () => {
  const id = await paidSession(api, 10_00, 'USDT', 2_345_678n);
  const chain = api.chain('ethereum');
  const to = (await api.database().sessions.find(id))?.addresses.evm ?? '';
  const paidAtS = api.clock.nowS();
  api.clock.advance(1000);
  await chain.confirm(await chain.mine([{ to, currency: 'USDC', units: 1_000_000n }]));
  const shows = async (amount: string) => {
    const session = fields(await api.send('GET', `/api/v1/checkout/sessions/${id}`));
    const { data } = fields(await api.send('GET', '/api/v1/checkout/sessions')) as { data: { id: string }[] };
    for (const shown of [session, data.find((one) => one.id === id) as Readonly<Record<string, unknown>>]) {
      assert.is(shown.paid_at, paidAtS);
      assert.equal(shown.refundable, [
        { currency: 'USDT', amount },
        { currency: 'USDC', amount: '1.00' },
      ]);
    }
  };
  await shows('12.34');
  for (const amount of ['2.30', '0.04']) {
    // The newest comes first in lists.
    api.clock.advance(1000);
    assert.is((await api.send('POST', CREATE, refundBody(id, `r-of-${amount}`, { amount }))).status, 201);
  }
  await shows('10.00');
  const [, first] = await api.database().refunds.list({ sessionId: id, limit: 2 });
  await api.database().refunds.reject(first?.id ?? '', 'no', api.clock.nowMs());
  await shows('12.30');
});

test('the refund window and the daily limit of the store apply', async () => {
  await withApi({}, async (own) => {
    await own.database().stores.update(own.merchantId, { refundWindowS: 100, refundDailyMinor: 5_00 });
    const session = await paidSession(own);
    assert.is((await own.send('POST', CREATE, refundTo(session, 'a', { amount: '5.00' }))).status, 201);
    const over = await own.send('POST', CREATE, refundTo(session, 'b', { amount: '0.01' }));
    assert.equal(codeOf(over), [429, 'DAILY_REFUND_LIMIT_EXCEEDED', 'amount']);
    assert.is(over.headers['retry-after'], String(86_400 - (own.clock.nowS() % 86_400)));
    await tick(own);
    assert.is((await own.send('POST', '/api/v1/refunds/a/cancel')).status, 200);
    assert.is(
      (await own.send('POST', CREATE, refundTo(session, 'c', { amount: '5.00' }))).status,
      201,
      'a canceled one is free again',
    );
    own.clock.advance(101_000);
    const late = await own.send('POST', CREATE, refundTo(session, 'd', { amount: '0.01' }));
    assert.equal(codeOf(late), [400, 'REFUND_TIME_EXPIRED', 'order_id']);
  });
});

test('only a refund that is processing can be canceled; its amount is free again', async () => {
  const session = await paidSession(api);
  await api.send('POST', CREATE, refundTo(session, 'r-6', { amount: '10' }));
  const cancel = () => api.send('POST', '/api/v1/refunds/r-6/cancel');
  assert.equal(codeOf(await cancel()), [400, 'CANNOT_CANCEL_REFUND', undefined], 'pending');
  await tick(api);
  const network = 'test:ethereum' as const;
  await api.database().engines.settle(network, 0);
  const early = await cancel();
  assert.equal(codeOf(early), [400, 'CANNOT_CANCEL_REFUND', undefined], 'it may have been paid');
  assert.match(JSON.stringify(early.json), 'Try again in ten minutes');
  await api.database().engines.settle(network, null);
  const done = await cancel();
  assert.is(done.status, 200);
  const to = { destination: { network: 'ethereum', address: payerAddress }, destination_source: 'merchant' };
  assert.equal(done.json, { refund_id: 'r-6', status: 'canceled', canceled_at: api.clock.nowS(), ...to });
  assert.equal(codeOf(await cancel()), [400, 'CANNOT_CANCEL_REFUND', undefined], 'canceled');
  assert.is((await api.send('POST', CREATE, refundTo(session, 'r-6b', { amount: '10' }))).status, 201);
});

test('an Idempotency-Key repeats a cancel and an exact refund, and refuses another body', async () => {
  const session = await paidSession(api);
  const { send } = api.client(api.testKey);
  const withKey = (body: object) => send('POST', CREATE, body, { headers: { 'Idempotency-Key': 'k-1' } });
  assert.is((await withKey(refundTo(session, 'r-7'))).status, 201);
  assert.is((await withKey(refundTo(session, 'r-7'))).headers['idempotent-replayed'], 'true');
  assert.equal(codeOf(await withKey(refundTo(session, 'r-7b'))), [400, 'IDEMPOTENCY_KEY_CONFLICT', 'Idempotency-Key']);
  await tick(api);
  const cancel = () => send('POST', '/api/v1/refunds/r-7/cancel', '', { headers: { 'Idempotency-Key': 'k-2' } });
  const first = await cancel();
  assert.is(first.status, 200);
  const again = await cancel();
  assert.is(again.status, 200);
  assert.equal(again.json, first.json);
});

test('a refund fails when its claim link expires unused', async () => {
  await withApi({}, async (own) => {
    const session = await paidSession(own);
    await own.send('POST', CREATE, refundBody(session, 'late', { amount: '10' }));
    own.clock.advance(30 * 86_400_000 + 2_000);
    await tick(own);
    const json = fields(await own.send('GET', '/api/v1/refunds/late'));
    assert.is(json.status, 'failed');
    assert.is(json.failure_reason, 'claim_expired');
    assert.is((await own.send('POST', CREATE, refundTo(session, 'next', { amount: '10' }))).status, 201);
  });
});

test('an approval that the signer needs takes effect at once, and shortens no other wait', async () => {
  await withApi({}, async (own) => {
    const session = await paidSession(own);
    await own.send('POST', CREATE, refundTo(session, 'beyond'));
    await tick(own);
    const [refund] = await own.database().refunds.list({ sessionId: session, limit: 1 });
    assert.ok(refund);
    const isDue = async () => (await own.database().payouts.open(refund.network, own.clock.nowMs(), 10)).length === 1;
    const approveIt = () => approve(own.database(), refund.id, own.clock.nowMs());
    await approveIt();
    assert.is(await isDue(), false, 'it can still be canceled');
    own.clock.advance(60_000);
    assert.is(await isDue(), true);
    const wait = { code: 'signer_refused_approval', message: 'above the cap' };
    const nowMs = own.clock.nowMs();
    await own
      .database()
      .payouts.recordWait({ id: refund.id, generation: 0, wait, nextLookAtMs: nowMs + 300_000, nowMs });
    assert.is(await isDue(), false);
    await approveIt();
    assert.is(await isDue(), true);
  });
});

/** Asks for the first attempt of the open payout. @returns what became of it, and what the payout waits for */
async function allotFirst(own: ApiServer, payer: string): Promise<(string | undefined)[]> {
  const database = own.database();
  const [open] = await database.payouts.open('test:ethereum', own.clock.nowMs(), 10);
  assert.ok(open, 'it is due');
  const { id, intent } = open.payout;
  const { kind } = await database.payouts.allot({
    ...{ id, generation: 0, attempt: 0, intent, payer, payerRole: 'refund', nonce: 0, terms: {}, feeUnitsMax: 1n },
    nowMs: own.clock.nowMs(),
  });
  return [kind, (await database.payouts.find(id))?.wait?.code];
}

test('a refund that is not signed is held while its store is suspended, and goes on afterwards', async () => {
  await withApi({}, async (own) => {
    const database = own.database();
    const suspend = (to: 'suspend' | 'resume', storeId = own.merchantId) => {
      const act = { atMs: own.clock.nowMs(), operator: 'alice', command: `store ${to}`, reason: 'its key leaked' };
      return database.stores.decide(storeId, to, act);
    };
    const session = await paidSession(own);
    assert.is((await own.send('POST', CREATE, refundTo(session, 'held'))).status, 201);
    await tick(own);
    await own.chain('ethereum').confirm(await own.chain('ethereum').mine([]));
    await own.chain('ethereum').finalize(await own.chain('ethereum').mine([]));
    own.clock.advance(61_000);
    const payer = 'ab'.repeat(20);
    await database.payouts.offerNonce('test:ethereum', payer, counted(0), own.clock.nowMs());
    await suspend('suspend');
    for (let look = 0; look < 2; look++) {
      assert.equal(await allotFirst(own, payer), ['moved', 'refund_store_suspended']);
      own.clock.advance(300_000);
    }
    const alarms = await database.alarms.list(100);
    assert.is(alarms.filter(({ code }) => code === 'refund_store_suspended').length, 1, 'one alarm');
    await suspend('resume');
    assert.equal(await allotFirst(own, payer), ['allotted', undefined]);
  });
});

test('a refund whose payment was removed by a reorg is not signed until the payment is back', async () => {
  await withApi({}, async (own) => {
    const database = own.database();
    const session = await paidSession(own);
    assert.is((await own.send('POST', CREATE, refundTo(session, 'gone'))).status, 201);
    await tick(own);
    await own.chain('ethereum').orphanTip();
    own.clock.advance(61_000);
    const payer = 'ab'.repeat(20);
    await database.payouts.offerNonce('test:ethereum', payer, counted(0), own.clock.nowMs());
    const allotted = () => allotFirst(own, payer);
    assert.equal(await allotted(), ['moved', 'refund_uncovered']);
    own.clock.advance(300_000);
    assert.equal(await allotted(), ['moved', 'refund_uncovered']);
    const alarms = await database.alarms.list(100);
    assert.is(alarms.filter(({ code }) => code === 'refund_uncovered').length, 1, 'one alarm');

    const to = (await database.sessions.find(session))?.addresses.evm ?? '';
    const block = await own.chain('ethereum').mine([{ to, currency: 'USDT', units: 10_000_000n }]);
    await own.chain('ethereum').confirm(block);
    await own.chain('ethereum').finalize(block);
    own.clock.advance(300_000);
    assert.equal(await allotted(), ['allotted', undefined]);
  });
});

test.after(() => api.close());
test.run();
