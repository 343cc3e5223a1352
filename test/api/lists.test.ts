/** Lists of sessions, refunds and events: their filters, and pages that miss and repeat nothing. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { issueEndpoint } from '../../src/app/new-credentials.ts';
import { type ApiServer, startApi, type TestKey, withApi } from '../support/api-server.ts';
import { askRefund, openSale, paidSale, type Sale } from '../support/payment-scenes.ts';
import { deliverDue } from '../support/record-attempt.ts';
import { expectError } from './expect-error.ts';

type Listed = Readonly<{ id: string; refund_id: string; payment_status: string; status: string }>;
type List = Readonly<{ object: string; data: readonly Listed[]; has_more: boolean }>;

const SESSIONS = '/api/v1/checkout/sessions';
const REFUNDS = '/api/v1/refunds';
const EVENTS = '/api/v1/events';

const DAY_MS = 86_400_000;

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

// ── Events: exactly what webhooks send ──────────────────────────────────────────────────────────────────────────────

type Event = Readonly<{ id: string; type: string; created_at: number; data: { object: { order_id: string } } }>;
type EventList = Readonly<{ data: readonly Event[]; has_more: boolean }>;

async function listEvents(api: ApiServer, query = '', key: TestKey = api.testKey): Promise<EventList> {
  const answer = await api.client(key).send('GET', `${EVENTS}${query}`);
  assert.is(answer.status, 200, answer.text);
  return answer.json as EventList;
}
const orders = ({ data }: EventList) => data.map((event) => event.data.object.order_id);

async function cancel(api: ApiServer, order_id: string, key: TestKey = api.testKey) {
  const { send } = api.client(key);
  const { id } = await openSale({ ...api, send }, { order_id });
  assert.is((await send('POST', `/api/v1/checkout/sessions/${id}/cancel`)).status, 200);
}
const pay = (api: ApiServer, order_id: string) => paidSale(api, { order_id });

test('an event reads byte for byte as webhooks send it, in the list and alone', () =>
  withApi({}, async (api) => {
    const nowMs = api.clock.nowMs();
    const endpoint = issueEndpoint(api.merchantId, 'test', 'https://shop.example/hook', ['payment.detected'], nowMs);
    await api.database().endpoints.add(endpoint);
    await pay(api, 'Größe "1" \u2028');
    await cancel(api, 'o2');
    const sent = await deliverDue(api.database(), api.clock.nowMs());
    assert.equal(sent.map(({ eventType }) => eventType).sort(), [
      'payment.cancelled',
      'payment.completed',
      'payment.detected',
    ]);
    const newestFirst = [...sent].sort((a, b) => (a.eventId < b.eventId ? 1 : -1));
    const all = await api.send('GET', EVENTS);
    assert.is(all.text, `{"object":"list","data":[${newestFirst.map(({ body }) => body).join(',')}],"has_more":false}`);
    for (const { eventId, body } of sent) assert.is((await api.send('GET', `${EVENTS}/${eventId}`)).text, body);
  }));

test('a key sees only its own store and mode, and unsigned requests see nothing', () =>
  withApi({}, async (api) => {
    const neighbour = await api.addKey(await api.addMerchant(), 'test');
    await cancel(api, 'mine');
    await cancel(api, 'live', api.liveKey);
    await cancel(api, 'theirs', neighbour);
    for (const [key, own] of [
      [api.testKey, 'mine'],
      [api.liveKey, 'live'],
      [neighbour, 'theirs'],
    ] as const) {
      const found = await listEvents(api, '', key);
      assert.equal(orders(found), [own]);
      for (const other of [api.testKey, api.liveKey, neighbour]) {
        const { status } = await api.client(other).send('GET', `${EVENTS}/${found.data[0]?.id}`);
        assert.is(status, other === key ? 200 : 404);
      }
    }
    const unsigned = await api.send('GET', EVENTS, '', { headers: { 'X-Service-Signature': null } });
    assert.is(unsigned.status, 401);
  }));

test('types and times filter, in pages too', () =>
  withApi({}, async (api) => {
    const startS = api.clock.nowS();
    await pay(api, 'paid1');
    await cancel(api, 'off1');
    api.clock.advance(10_000);
    await api.follow();
    await pay(api, 'paid2');
    await cancel(api, 'off2');
    assert.equal(orders(await listEvents(api, '?type=payment.completed')), ['paid2', 'paid1']);
    const both = '?type=payment.completed&type=payment.cancelled';
    assert.equal(orders(await listEvents(api, `${both}&limit=3`)), ['off2', 'paid2', 'off1']);
    const { data, has_more: hasMore } = await listEvents(api, `${both}&type=payment.completed&limit=1`);
    assert.equal({ order_id: data[0]?.data.object.order_id, hasMore }, { order_id: 'off2', hasMore: true });
    assert.equal(orders(await listEvents(api, `${both}&limit=1&starting_after=${data[0]?.id}`)), ['paid2']);
    assert.equal((await listEvents(api, '?type=refund.failed')).data, []);
    const types = (found: EventList) => found.data.map(({ type }) => type);
    assert.ok(types(await listEvents(api)).includes('payment.detected'));
    assert.equal(orders(await listEvents(api, `${both}&created_from=${startS + 10}`)), ['off2', 'paid2']);
    assert.equal(orders(await listEvents(api, `${both}&created_to=${startS + 10}`)), ['off1', 'paid1']);
    assert.equal(orders(await listEvents(api, `${both}&created_from=${startS}&created_to=${startS}`)), []);
  }));

test('events of refunds need the scope for refunds', () =>
  withApi({}, async (api) => {
    await cancel(api, 'o1');
    const key = await api.addKey(api.merchantId, 'test', ['sessions:read']);
    assert.equal(orders(await listEvents(api, '', key)), ['o1']);
    assert.equal(orders(await listEvents(api, '?type=payment.cancelled&type=refund.failed', key)), ['o1']);
    const refused = await api.client(key).send('GET', `${EVENTS}?type=refund.failed`);
    expectError(refused, { status: 403, code: 'insufficient_scope' });
  }));

test('after 30 days an event is no longer shown', () =>
  withApi({}, async (api) => {
    await cancel(api, 'old');
    const { data } = await listEvents(api);
    const id = data[0]?.id;
    api.clock.advance(30 * DAY_MS);
    assert.equal(orders(await listEvents(api)), ['old']);
    api.clock.advance(1_000);
    for (const query of ['', '?created_from=0', '?type=payment.cancelled', '?ending_before=evt_0000000000000000000']) {
      assert.equal((await listEvents(api, query)).data, [], query);
    }
    expectError(await api.send('GET', `${EVENTS}/${id}`), { status: 404, code: 'event_not_found' });
    assert.is((await api.send('GET', `${EVENTS}/evt_${'9'.repeat(400)}`)).status, 404);
  }));

test('a malformed or unknown parameter is named', async () => {
  const id = 'evt_1795000042000000001';
  for (const [query, param] of [
    ...['0', '101', '-1', '1.0', '1e1', '+5', '05', '', ' 5', 'x', '9'.repeat(30)].map((n) => [`limit=${n}`, 'limit']),
    ['limit=5&limit=5', 'limit'],
    ['limit=%zz', 'limit'],
    ['starting_after=', 'starting_after'],
    ['starting_after=evt_1', 'starting_after'],
    [`starting_after=${id}x`, 'starting_after'],
    ["ending_before=evt_'%20OR%201=1--", 'ending_before'],
    [`starting_after=${id}&ending_before=${id}`, 'ending_before'],
    ['type=', 'type'],
    ['type=payment', 'type'],
    ['type=*.completed', 'type'],
    ['type=payment.%25', 'type'],
    ['type=payment.completed&type=nonsense', 'type'],
    [Array.from({ length: 200 }, () => 'type=payment.completed').join('&'), 'type'],
    ['created_from=yesterday', 'created_from'],
    ['created_from=-1', 'created_from'],
    ['created_to=10000000000', 'created_to'],
    ['created_to=99999999999999999999', 'created_to'],
    ['cursor=5', 'cursor'],
    ['limit=5&__proto__=1', '__proto__'],
    ['Limit=5', 'Limit'],
    ['limit=5?x', 'limit'],
  ]) {
    const answer = await api.send('GET', `${EVENTS}?${query}`);
    expectError(answer, { status: 400, code: 'invalid_parameter', param: String(param) }, String(query).slice(0, 60));
  }
  for (const query of ['?', '?&&=&limit=5']) assert.is((await api.send('GET', EVENTS + query)).status, 200, query);
});

test.after(() => api.close());
test.run();
