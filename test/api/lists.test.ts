/** Lists of sessions and refunds: their filters, and pages that miss and repeat nothing while rows are added. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startApi } from '../support/api-server.ts';
import { expectError } from './expect-error.ts';

type Listed = Readonly<{ id: string; refund_id: string; payment_status: string; status: string }>;
type List = Readonly<{ object: string; data: readonly Listed[]; has_more: boolean }>;

const SESSIONS = '/api/v1/checkout/sessions';
const REFUNDS = '/api/v1/refunds';

const api = await startApi();
const { send } = api;

async function list(path: string, query: Readonly<Record<string, string | number>> = {}): Promise<List> {
  const text = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const answer = await send('GET', `${path}?${text}`);
  assert.is(answer.status, 200, answer.text);
  return answer.json as List;
}

let orders = 0;
async function create(orderId = `listed-${++orders}`): Promise<string> {
  api.clock.advance(1000);
  await api.follow();
  const body = { amount: 1000, currency: 'USDT', order_id: orderId };
  const { json } = await send('POST', `${SESSIONS}/create`, body);
  return (json as Listed).id;
}

async function pay(id: string): Promise<void> {
  const { json } = await send('GET', `${SESSIONS}/${id}`);
  const options = (json as { payment_options: { network: string; address: string }[] }).payment_options;
  const to =
    options
      .find(({ network }) => network === 'ethereum')
      ?.address.slice(2)
      .toLowerCase() ?? '';
  const chain = api.chain('ethereum');
  await chain.confirm(await chain.mine([{ to, currency: 'USDT', units: 10_000_000n }]));
}

const idsOf = ({ data }: List) => data.map(({ id }) => id);

test('pages of sessions miss and repeat nothing while sessions are created, in both directions', async () => {
  const made: string[] = [];
  for (let index = 0; index < 7; index++) made.push(await create());
  const newestFirst = made.toReversed();
  const seen: string[] = [];
  let page = await list(SESSIONS, { limit: 3 });
  for (;;) {
    seen.push(...idsOf(page));
    made.push(await create());
    if (!page.has_more) break;
    page = await list(SESSIONS, { limit: 3, starting_after: seen.at(-1) ?? '' });
  }
  assert.equal(seen, newestFirst);

  const back: string[] = [];
  for (;;) {
    const newer: List = await list(SESSIONS, { limit: 2, ending_before: back[0] ?? seen.at(0) ?? '' });
    back.unshift(...idsOf(newer));
    if (!newer.has_more) break;
  }
  assert.equal(back, made.slice(7).toReversed());
});

test('sessions are listed as they are read, of this store and mode alone', async () => {
  const id = await create();
  const [first] = (await list(SESSIONS, { limit: 1 })).data;
  assert.equal(first, (await send('GET', `${SESSIONS}/${id}`)).json);
  const other = api.client(await api.addKey(await api.addMerchant(), 'test'));
  const live = api.client(api.liveKey);
  for (const client of [other, live]) {
    const { json } = await client.send('GET', SESSIONS);
    assert.equal(json, { object: 'list', data: [], has_more: false });
  }
  const reader = api.client(await api.addKey(api.merchantId, 'test', ['sessions:read']));
  const { text } = await reader.send('GET', `${SESSIONS}?limit=1`);
  assert.not.match(text, /payer_url/, 'links that name where money goes are for keys that may write');
});

test('sessions are filtered by order, status and time', async () => {
  const orderId = 'listed by order';
  const id = await create(orderId);
  await send('POST', `${SESSIONS}/${id}/cancel`);
  const next = await create(orderId);
  assert.equal(idsOf(await list(SESSIONS, { order_id: orderId })), [next, id]);
  assert.equal(idsOf(await list(SESSIONS, { order_id: orderId, status: 'canceled' })), [id]);
  assert.equal(idsOf(await list(SESSIONS, { status: 'canceled' })), [id]);
  const nowS = api.clock.nowS();
  assert.equal(idsOf(await list(SESSIONS, { created_from: nowS })), [next]);
  assert.equal(idsOf(await list(SESSIONS, { created_from: nowS - 1, created_to: nowS })), [id]);
  assert.equal(idsOf(await list(SESSIONS, { created_from: nowS + 1 })), []);
});

test('pages of refunds miss and repeat nothing, also within one millisecond', async () => {
  const sessionId = await create('refunded');
  await pay(sessionId);
  const refund = async (refundId: string) => {
    const body = { order_id: sessionId, refund_id: refundId, amount: '0.50', currency: 'USDT' };
    const answer = await send('POST', `${REFUNDS}/create`, body);
    assert.is(answer.status, 201, answer.text);
  };
  for (const name of ['a', 'b', 'c', 'd', 'e']) await refund(name);
  const seen: string[] = [];
  let page = await list(REFUNDS, { limit: 2 });
  for (let more = 0; ; more++) {
    seen.push(...page.data.map(({ refund_id }) => refund_id));
    api.clock.advance(1);
    await refund(`later-${more}`);
    if (!page.has_more) break;
    page = await list(REFUNDS, { limit: 2, starting_after: seen.at(-1) ?? '' });
  }
  assert.equal(seen.toSorted(), ['a', 'b', 'c', 'd', 'e']);
  const newer = await list(REFUNDS, { limit: 2, ending_before: seen[0] ?? '' });
  assert.equal([newer.data.map(({ refund_id }) => refund_id), newer.has_more], [['later-1', 'later-0'], true]);

  assert.is((await list(REFUNDS, { session_id: sessionId, limit: 100 })).data.length, 8);
  assert.is((await list(REFUNDS, { order_id: 'refunded', limit: 100 })).data.length, 8);
  assert.equal((await list(REFUNDS, { order_id: 'another' })).data, []);
  assert.equal((await list(REFUNDS, { session_id: 'no session' })).data, []);
  assert.equal((await list(REFUNDS, { status: 'completed' })).data, []);
  const [first] = (await list(REFUNDS, { status: 'pending', limit: 1 })).data;
  assert.equal(first, (await send('GET', `${REFUNDS}/later-2`)).json);
});

test('a query that is wrong names its parameter', async () => {
  const wrong: readonly (readonly [string, string, string])[] = [
    [SESSIONS, 'limit=0', 'limit'],
    [SESSIONS, 'limit=101', 'limit'],
    [SESSIONS, 'status=PAID', 'status'],
    [SESSIONS, 'starting_after=nothing', 'starting_after'],
    [SESSIONS, `starting_after=cs_${'0'.repeat(26)}&ending_before=cs_${'0'.repeat(26)}`, 'ending_before'],
    [SESSIONS, 'created_from=yesterday', 'created_from'],
    [REFUNDS, 'status=paid', 'status'],
    [REFUNDS, 'starting_after=unknown', 'starting_after'],
  ];
  for (const [path, query, param] of wrong) {
    const code = path === REFUNDS ? 'INVALID_JSON' : 'invalid_parameter';
    expectError(await send('GET', `${path}?${query}`), { status: 400, code, param }, query);
  }
});

test.after(() => api.close());
test.run();
