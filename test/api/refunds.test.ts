/** The refund endpoints over real HTTP: every row of the documented tables. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { fullRefund } from '../../src/api/refund-view.ts';
import { chains } from '../../src/chains/index.ts';
import { startApi, withApi } from '../support/api-server.ts';
import {
  advanceRefunds,
  askRefund,
  confirmTip,
  openSale,
  paidSale,
  paidTo,
  refundAddress,
} from '../support/payment-scenes.ts';
import type { HttpAnswer } from '../support/signed-client.ts';

const CREATE = '/api/v1/refunds/create';

const api = await startApi();

const refundBody = (order_id: string, refund_id: string, more: object = {}) => ({
  order_id,
  refund_id,
  amount: '4.50',
  currency: 'USDT',
  ...more,
});

/** Returns the fields of a JSON answer. */
const fields = (answer: HttpAnswer) => answer.json as Readonly<Record<string, unknown>>;

/** Returns status, code and param of an error. */
function codeOf(answer: HttpAnswer): (string | number | undefined)[] {
  const { error } = answer.json as { error?: { code: string; param?: string } };
  return [answer.status, error?.code, error?.param];
}

test('the same refund_id with the same body refunds once; another body is refused', async () => {
  const sale = await paidSale(api, { amount: 1000 });
  const first = await askRefund(api, sale, 'r-2', paidTo());
  await advanceRefunds(api);
  const again = await askRefund(api, { id: sale.id.replace('cs_', 'sess_') }, 'r-2', paidTo());
  assert.is(again.status, 201);
  assert.is(again.headers['idempotent-replayed'], 'true');
  assert.equal(again.json, first.json, 'the first answer, though the refund is processing now');
  for (const now of await api.database().refunds.list({ refundId: 'r-2', limit: 1 })) {
    const { status, waits_for } = fullRefund(now, { checkoutUrl: '', signer: null }, false);
    assert.equal([status, waits_for], ['processing', 'signer'], 'without a signer nothing is paid');
  }
  assert.equal(codeOf(await askRefund(api, sale, 'r-2', { ...paidTo(), amount: '4.51' })), [
    400,
    'DUPLICATE_REFUND_ID',
    'refund_id',
  ]);
});

test('every wrong field has its documented code', async () => {
  const sale = await paidSale(api, { amount: 1000 });
  const fine = refundBody(sale.id, 'r-fields', paidTo());
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
  const sale = await paidSale(api, { amount: 1000 });
  const nested = (levels: number, leaf = '') => {
    const text = `${'['.repeat(levels - 1)}${leaf}${']'.repeat(levels - 1)}`;
    const body = refundBody(sale.id, `r-deep-${levels}-${leaf}`, { amount: '0.01', metadata: { a: 'here' } });
    return api.send('POST', CREATE, JSON.stringify(body).replace('"here"', text));
  };
  assert.is((await nested(32)).status, 201);
  assert.is((await nested(32, '1.0')).status, 201, 'a number is no level');
  for (const levels of [33, 999, 1001, 2501, 4001, 100_000]) {
    assert.equal(codeOf(await nested(levels)), [400, 'INVALID_JSON', 'metadata'], `${levels} levels`);
  }
});

test('metadata is returned as it was sent, to the digit', async () => {
  const sale = await paidSale(api, { amount: 1000 });
  const sent = `{"price":10.0,"exp":1e2,"long":123456789012345678901234567890,"zero":-0,"list":[0.10,{"__proto__":1.50}],"__proto__":"kept"}`;
  const body = JSON.stringify(refundBody(sale.id, 'r-exact', paidTo()));
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
  const ids = ['x', 'x'.repeat(129), 'x'.repeat(8000), '%00', '%ff', '%2e%2e%2f', '%F0%9F%98%80'.repeat(200), "'", '*'];
  for (const id of [...ids, '%ED%A0%80']) {
    const path = `/api/v1/refunds/${id}`;
    const statuses = [(await api.send('GET', path)).status, (await api.send('POST', `${path}/cancel`)).status];
    assert.equal(statuses, [404, 404], id.slice(0, 40));
  }
});

test('a mistyped address, a token contract, a deposit address and an unspendable one are refused', async () => {
  const sale = await paidSale(api, { amount: 1000 });
  const own = (await api.database().sessions.find(sale.id))?.addresses.evm ?? '';
  const wrongChecksum = refundAddress.replace(/[a-f]/, (letter) => letter.toUpperCase());
  const addresses = [
    ...(wrongChecksum === refundAddress ? [] : [wrongChecksum]),
    `0x${'1'.repeat(40)}`,
    chains.evm.address.format(own),
    `0x${'0'.repeat(40)}`,
    `0x${'0'.repeat(36)}dEaD`,
    'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
  ];
  for (const refund_address of addresses) {
    const answer = await askRefund(api, sale, 'r-address', paidTo(refund_address));
    assert.equal(codeOf(answer), [400, 'INVALID_JSON', 'metadata.refund_address'], refund_address);
  }
});

test('a hundred refunds at once never exceed what was received', async () => {
  const sale = await paidSale(api, { amount: 1000 });
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, at) => askRefund(api, sale, `r-rush-${at}`, { ...paidTo(), amount: '0.73' })),
  );
  assert.is(answers.filter(({ status }) => status === 201).length, 13);
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    assert.equal(codeOf(answer), [400, 'REFUND_AMOUNT_EXCEEDED', 'amount']);
  }
});

test('a paid session shows what was received less the refunds that count, in the list too', async () => {
  const sale = await openSale(api, { amount: 1000 });
  await sale.send('12.345678');
  await confirmTip(api);
  const { id } = sale;
  const paidAtS = api.clock.nowS();
  api.clock.advance(1000);
  await sale.send('1', { currency: 'USDC' });
  await confirmTip(api);
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
    assert.is((await askRefund(api, sale, `r-of-${amount}`, { amount })).status, 201);
  }
  await shows('10.00');
  const [, first] = await api.database().refunds.list({ sessionId: id, limit: 2 });
  await api.database().refunds.reject(first?.id ?? '', 'no', api.clock.nowMs());
  await shows('12.30');
});

test('the refund window and the daily limit of the store apply', async () => {
  await withApi({}, async (own) => {
    await own.database().stores.update(own.merchantId, { refundWindowS: 100, refundDailyMinor: 5_00 });
    const sale = await paidSale(own, { amount: 1000 });
    assert.is((await askRefund(own, sale, 'a', { ...paidTo(), amount: '5.00' })).status, 201);
    const over = await askRefund(own, sale, 'b', { ...paidTo(), amount: '0.01' });
    assert.equal(codeOf(over), [429, 'DAILY_REFUND_LIMIT_EXCEEDED', 'amount']);
    assert.is(over.headers['retry-after'], String(86_400 - (own.clock.nowS() % 86_400)));
    await advanceRefunds(own);
    assert.is((await own.send('POST', '/api/v1/refunds/a/cancel')).status, 200);
    assert.is(
      (await askRefund(own, sale, 'c', { ...paidTo(), amount: '5.00' })).status,
      201,
      'a canceled one is free again',
    );
    own.clock.advance(101_000);
    const late = await askRefund(own, sale, 'd', { ...paidTo(), amount: '0.01' });
    assert.equal(codeOf(late), [400, 'REFUND_TIME_EXPIRED', 'order_id']);
  });
});

test('only a refund that is processing can be canceled; its amount is free again', async () => {
  const sale = await paidSale(api, { amount: 1000 });
  await askRefund(api, sale, 'r-6', { ...paidTo(), amount: '10' });
  const cancel = () => api.send('POST', '/api/v1/refunds/r-6/cancel');
  assert.equal(codeOf(await cancel()), [400, 'CANNOT_CANCEL_REFUND', undefined], 'pending');
  await advanceRefunds(api);
  const network = 'test:ethereum' as const;
  await api.database().engines.settle(network, 0);
  const early = await cancel();
  assert.equal(codeOf(early), [400, 'CANNOT_CANCEL_REFUND', undefined], 'it may have been paid');
  assert.match(JSON.stringify(early.json), 'Try again in ten minutes');
  await api.database().engines.settle(network, null);
  const done = await cancel();
  assert.is(done.status, 200);
  const to = { destination: { network: 'ethereum', address: refundAddress }, destination_source: 'merchant' };
  assert.equal(done.json, { refund_id: 'r-6', status: 'canceled', canceled_at: api.clock.nowS(), ...to });
  assert.equal(codeOf(await cancel()), [400, 'CANNOT_CANCEL_REFUND', undefined], 'canceled');
  assert.is((await askRefund(api, sale, 'r-6b', { ...paidTo(), amount: '10' })).status, 201);
});

test('an Idempotency-Key repeats a cancel and an exact refund, and refuses another body', async () => {
  const sale = await paidSale(api, { amount: 1000 });
  const send: typeof api.send = (method, path, body = '') =>
    api.send(method, path, body, { headers: { 'Idempotency-Key': `of-${path}` } });
  const ask = (refundId: string) => askRefund({ send }, sale, refundId, paidTo());
  assert.is((await ask('r-7')).status, 201);
  assert.is((await ask('r-7')).headers['idempotent-replayed'], 'true');
  assert.equal(codeOf(await ask('r-7b')), [400, 'IDEMPOTENCY_KEY_CONFLICT', 'Idempotency-Key']);
  await advanceRefunds(api);
  const cancel = () => send('POST', '/api/v1/refunds/r-7/cancel');
  const first = await cancel();
  assert.is(first.status, 200);
  const again = await cancel();
  assert.is(again.status, 200);
  assert.equal(again.json, first.json);
});

test.after(() => api.close());
test.run();
