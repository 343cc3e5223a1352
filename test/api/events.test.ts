/** The list of events: exactly what webhooks send, only the key's own, and every page exactly once. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { issueEndpoint } from '../../src/app/new-credentials.ts';
import { type ApiServer, startApi, type TestKey, withApi } from '../support/api-server.ts';
import { openSale, paidSale } from '../support/payment-scenes.ts';
import { deliverDue } from '../support/record-attempt.ts';
import { expectError } from './expect-error.ts';

const PATH = '/api/v1/events';
const DAY_MS = 86_400_000;

type Event = Readonly<{ id: string; type: string; created_at: number; data: { object: { order_id: string } } }>;
type List = Readonly<{ data: readonly Event[]; has_more: boolean }>;

async function list(api: ApiServer, query = '', key: TestKey = api.testKey): Promise<List> {
  const answer = await api.client(key).send('GET', `${PATH}${query}`);
  assert.is(answer.status, 200, answer.text);
  return answer.json as List;
}
const orders = ({ data }: List) => data.map((event) => event.data.object.order_id);

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
    const all = await api.send('GET', PATH);
    assert.is(all.text, `{"object":"list","data":[${newestFirst.map(({ body }) => body).join(',')}],"has_more":false}`);
    for (const { eventId, body } of sent) assert.is((await api.send('GET', `${PATH}/${eventId}`)).text, body);
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
      const found = await list(api, '', key);
      assert.equal(orders(found), [own]);
      for (const other of [api.testKey, api.liveKey, neighbour]) {
        const { status } = await api.client(other).send('GET', `${PATH}/${found.data[0]?.id}`);
        assert.is(status, other === key ? 200 : 404);
      }
    }
    const unsigned = await api.send('GET', PATH, '', { headers: { 'X-Service-Signature': null } });
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
    assert.equal(orders(await list(api, '?type=payment.completed')), ['paid2', 'paid1']);
    const both = '?type=payment.completed&type=payment.cancelled';
    assert.equal(orders(await list(api, `${both}&limit=3`)), ['off2', 'paid2', 'off1']);
    const { data, has_more: hasMore } = await list(api, `${both}&type=payment.completed&limit=1`);
    assert.equal({ order_id: data[0]?.data.object.order_id, hasMore }, { order_id: 'off2', hasMore: true });
    assert.equal(orders(await list(api, `${both}&limit=1&starting_after=${data[0]?.id}`)), ['paid2']);
    assert.equal(orders(await list(api, '?type=payment.*')).slice(0, 1), ['off2']);
    assert.equal((await list(api, '?type=refund.*')).data, []);
    const types = (found: List) => found.data.map(({ type }) => type);
    assert.ok(types(await list(api)).includes('payment.detected'));
    assert.equal(orders(await list(api, `${both}&created_from=${startS + 10}`)), ['off2', 'paid2']);
    assert.equal(orders(await list(api, `${both}&created_to=${startS + 10}`)), ['off1', 'paid1']);
    assert.equal(orders(await list(api, `${both}&created_from=${startS}&created_to=${startS}`)), []);
  }));

test('events of refunds need the scope for refunds', () =>
  withApi({}, async (api) => {
    await cancel(api, 'o1');
    const key = await api.addKey(api.merchantId, 'test', ['sessions:read']);
    assert.equal(orders(await list(api, '', key)), ['o1']);
    assert.equal(orders(await list(api, '?type=payment.*&type=refund.*', key)), ['o1']);
    const refused = await api.client(key).send('GET', `${PATH}?type=refund.*`);
    expectError(refused, { status: 403, code: 'insufficient_scope' });
  }));

test('after 30 days an event is no longer shown', () =>
  withApi({}, async (api) => {
    await cancel(api, 'old');
    const { data } = await list(api);
    const id = data[0]?.id;
    api.clock.advance(30 * DAY_MS);
    assert.equal(orders(await list(api)), ['old']);
    api.clock.advance(1_000);
    for (const query of ['', '?created_from=0', '?type=payment.cancelled', '?ending_before=evt_0000000000000000000']) {
      assert.equal((await list(api, query)).data, [], query);
    }
    expectError(await api.send('GET', `${PATH}/${id}`), { status: 404, code: 'event_not_found' });
    assert.is((await api.send('GET', `${PATH}/evt_${'9'.repeat(400)}`)).status, 404);
  }));

const api = await startApi();
test.after(() => api.close());

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
    const answer = await api.send('GET', `${PATH}?${query}`);
    expectError(answer, { status: 400, code: 'invalid_parameter', param: String(param) }, String(query).slice(0, 60));
  }
  for (const query of ['?', '?&&=&limit=5']) assert.is((await api.send('GET', PATH + query)).status, 200, query);
});

test.run();
