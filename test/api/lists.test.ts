/** Lists of sessions, refunds and events: their filters, and pages that miss and repeat nothing. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ApiServer, startApi } from '../support/api-server.ts';
import { askRefund, openSale, paidSale, type Sale } from '../support/payment-scenes.ts';
import { expectError } from './expect-error.ts';

type Listed = Readonly<{ id: string; refund_id: string; payment_status: string; status: string }>;
type List = Readonly<{ object: string; data: readonly Listed[]; has_more: boolean }>;

const SESSIONS = '/api/v1/checkout/sessions';
const REFUNDS = '/api/v1/refunds';
const EVENTS = '/api/v1/events';

const api = await startApi();
const { send } = api;

async function list(
  path: string,
  query: Readonly<Record<string, string | number>> = {},
  store: Pick<ApiServer, 'send'> = api,
): Promise<List> {
  const text = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const answer = await store.send('GET', `${path}?${text}`);
  assert.is(answer.status, 200, answer.text);
  return answer.json as List;
}

async function create(order_id?: string): Promise<string> {
  api.clock.advance(1000);
  return (await openSale(api, { amount: 1000, ...(order_id !== undefined && { order_id }) })).id;
}

const idsOf = ({ data }: List) => data.map(({ id, refund_id }) => refund_id ?? id);

/** Each list, and how a store gets another row in it. @returns the row's id */
const lists: Readonly<Record<string, (store: ApiServer, nth: number, sale: Sale) => Promise<string>>> = {
  [SESSIONS]: async (store) => (await openSale(store)).id,
  async [REFUNDS](store, nth, sale) {
    const { status, text } = await askRefund(store, sale, `r-${nth}`, { amount: '0.50' });
    assert.is(status, 201, text);
    return `r-${nth}`;
  },
  async [EVENTS](store) {
    const { id } = await openSale(store);
    await store.send('POST', `${SESSIONS}/${id}/cancel`);
    return idsOf(await list(EVENTS, { limit: 1 }, store))[0] ?? '';
  },
};
for (const [path, add] of Object.entries(lists)) {
  test(`pages of ${path} miss and repeat nothing while rows are added, in both directions and within a millisecond`, async () => {
    const key = await api.addKey(await api.addMerchant(), 'test');
    const store = { ...api, send: api.client(key).send };
    const sale = await paidSale(store);
    const earlier = new Set([sale.id, ...idsOf(await list(EVENTS, {}, store))]);
    // Ids of one millisecond are in any order: those below are made after the sale.
    api.clock.advance(1);
    const made: string[] = [];
    const addOne = async () => void made.push(await add(store, made.length, sale));
    for (let rows = 0; rows < 7; rows++) await addOne();
    const seen: string[] = [];
    for (let isLast = false; !isLast; ) {
      const after = seen.length > 0 && { starting_after: seen.at(-1) as string };
      const page = await list(path, { limit: 3, ...after }, store);
      seen.push(...idsOf(page));
      api.clock.advance(1);
      await addOne();
      isLast = !page.has_more;
    }
    const first = seen.filter((id) => !earlier.has(id));
    assert.equal(first.toSorted(), made.slice(0, 7).toSorted());

    const later: string[] = [];
    for (let isLast = false; !isLast; ) {
      const page = await list(path, { limit: 2, ending_before: later[0] ?? first[0] ?? '' }, store);
      later.unshift(...idsOf(page));
      isLast = !page.has_more;
    }
    assert.equal(later, made.slice(7).toReversed());
  });
}

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

test('refunds are filtered by session, order and status', async () => {
  const sale = await paidSale(api, { order_id: 'refunded' });
  for (const name of ['a', 'b']) await askRefund(api, sale, name, { amount: '0.50' });
  assert.equal(idsOf(await list(REFUNDS, { session_id: sale.id })).toSorted(), ['a', 'b']);
  assert.equal(idsOf(await list(REFUNDS, { order_id: 'refunded' })).toSorted(), ['a', 'b']);
  for (const other of [{ order_id: 'another' }, { session_id: 'no session' }, { status: 'completed' }]) {
    assert.equal((await list(REFUNDS, other)).data, []);
  }
  const [first] = (await list(REFUNDS, { status: 'pending', limit: 1 })).data;
  assert.equal(first, (await send('GET', `${REFUNDS}/${first?.refund_id}`)).json);
});

test('a query that is wrong names its parameter', async () => {
  for (const [path, query, param] of [
    [SESSIONS, 'status=PAID', 'status'],
    [SESSIONS, 'starting_after=nothing', 'starting_after'],
    [REFUNDS, 'status=paid', 'status'],
    [REFUNDS, 'starting_after=unknown', 'starting_after'],
  ] as const) {
    const code = path === REFUNDS ? 'INVALID_JSON' : 'invalid_parameter';
    expectError(await send('GET', `${path}?${query}`), { status: 400, code, param }, query);
  }
});

test.after(() => api.close());
test.run();
