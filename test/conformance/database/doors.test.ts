import * as assert from 'uvu/assert';
import type { DoorTerms } from '../../../src/core/door.ts';
import type { Database } from '../../../src/database/database.ts';
import { DOORS_MAX, type NewDoor, type NewOrder } from '../../../src/database/doors.ts';
import type { ClaimedDelivery } from '../../../src/database/sending.ts';
import { column, has } from '../../support/fields.ts';
import {
  act,
  addressOf,
  cancelNew,
  cancelSession,
  claimAll,
  endpoint,
  inWorlds,
  newSession,
  pays,
  sessionOf,
  T0_MS,
} from './place.ts';

const KEY = 'k'.repeat(32);

const door = (id: string, more: Partial<NewDoor> = {}): NewDoor => ({
  id,
  storeId: 'm1',
  mode: 'test',
  dialect: 'epay',
  key: KEY,
  createdAtMs: T0_MS,
  settings: { currency: 'USD', takesRefunds: false, algorithm: 'md5' },
  urlOf: (pid) => `https://pay.example/${pid}`,
  ...more,
});

const terms: DoorTerms = {
  money: '10.00',
  name: 'VIP',
  notifyUrl: 'https://panel.example/notify',
  returnUrl: null,
  param: null,
  type: 'usdt',
  method: null,
  spelling: 'shortest',
  algorithm: 'md5',
};

const order = (id: string, more: Partial<NewOrder> = {}): NewOrder => ({
  id,
  endpointId: 'd1',
  orderNo: 'N1',
  tradeNo: `1${id}`,
  createdAtMs: T0_MS,
  terms,
  ...more,
});

/** A session for an order. */
const create = async (database: Database, name: string, doorOrder: string) =>
  sessionOf(await database.sessions.create(newSession(name, { doorOrder })));

/** Deliveries of a door, as a panel's notice shows them. */
const noticesOf = (claimed: readonly ClaimedDelivery[]) =>
  claimed.flatMap(({ door, url, eventType, sessionId, secret }) =>
    door ? [[door.dialect, door.pid, door.order.orderNo, url, eventType, sessionId, secret]] : [],
  );

const test = inWorlds('doors');

test('doors have pids of their own that rise, and are found by pid and dialect while they are on', async ({
  database,
}) => {
  const first = await database.doors.add(door('d1'), act('door add'));
  assert.equal(first, { kind: 'added', pid: 1001, url: 'https://pay.example/1001' });
  await database.doors.add(door('d2', { dialect: 'gmpay' }), act('door add'));
  const found = await database.doors.find({ pid: 1001 });
  has(found, { id: 'd1', key: KEY });
  assert.is(found?.settings.currency, 'USD');
  assert.is(await database.doors.find({ pid: 1000 }), null);
  assert.equal(column(await database.doors.ofDialect('gmpay'), 'pid'), [1002]);
  await database.endpoints.enable('d1', false, 'tried', T0_MS);
  assert.is(await database.doors.find({ pid: 1001 }), null);
  await database.endpoints.enable('d1', true, null, T0_MS);
  assert.is(await database.endpoints.remove('d1'), true);
  assert.is(await database.doors.find({ pid: 1001 }), null);
  const [entry] = await database.audit.list(1);
  assert.not(JSON.stringify(entry).includes(KEY));
});

test('a dialect has a limit of doors, which are no webhooks of the store', async ({ database }) => {
  for (let n = 0; n < DOORS_MAX; n++) await database.doors.add(door(`d${n}`), act('door add'));
  assert.equal(await database.doors.add(door('more'), act('door add')), { kind: 'too_many' });
  assert.is((await database.doors.add(door('other', { dialect: 'bepusdt' }), act('door add'))).kind, 'added');
  const listed = await database.endpoints.list('m1');
  assert.is(listed.filter(({ dialect, pid }) => dialect !== null && pid !== null).length, DOORS_MAX + 1);
  assert.is((await database.endpoints.ofStore({ storeId: 'm1', mode: 'test' })).length, DOORS_MAX + 1);
});

test('the key of a door is neither shown again nor rotated', async ({ database }) => {
  await database.doors.add(door('d1'), act('door add'));
  assert.is(await database.endpoints.findSecret('d1', 'test'), null);
  const step = { kind: 'start', secret: 'whsec_AAAA' } as const;
  const tried = { id: 'd1', mode: 'test', step, act: act('webhook secret'), isDryRun: false } as const;
  assert.equal(await database.endpoints.rotateSecret(tried), { kind: 'door' });
});

test('a repeated order is the same one; what counts must not change, and the newest return page is kept', async ({
  database,
}) => {
  await database.doors.add(door('d1'), act('door add'));
  await database.doors.add(door('d2'), act('door add'));
  const first = await database.doors.keepOrder(order('1'));
  const again = await database.doors.keepOrder(
    order('2', { terms: { ...terms, type: 'alipay', returnUrl: 'https://panel.example/back' } }),
  );
  assert.ok(first.kind === 'kept' && again.kind === 'kept');
  has(again.order, { id: '1', tradeNo: '11' });
  has(again.order.terms, { type: 'usdt', returnUrl: 'https://panel.example/back' });
  for (const change of [{ money: '0.01' }, { name: 'x' }, { notifyUrl: 'https://evil.example' }, { param: 'p' }]) {
    const changed = await database.doors.keepOrder(order('3', { terms: { ...terms, ...change } }));
    assert.equal(changed, { kind: 'changed', field: Object.keys(change)[0] });
  }
  // Another door's panel has numbers of its own.
  const other = await database.doors.keepOrder(order('4', { endpointId: 'd2', terms: { ...terms, money: '5.00' } }));
  assert.is(other.kind, 'kept');
  assert.is((await database.doors.findOrder({ endpointId: 'd1', orderNo: 'N1' }))?.id, '1');
  assert.is((await database.doors.findOrder({ endpointId: 'd2', tradeNo: '11' })) ?? null, null);
  assert.is((await database.doors.findOrder({ endpointId: 'd1', id: '1' }))?.id, '1');
  assert.is(await database.doors.findOrder({ endpointId: 'd2', id: '1' }), null);
});

test('a paid session of an order is notified to its door once, and to the store’s webhooks as ever', async ({
  database,
  one,
}) => {
  await database.endpoints.add(endpoint('e1'));
  await database.doors.add(door('d1'), act('door add'));
  await database.doors.keepOrder(order('1'));
  const to = addressOf(await create(database, 's1', '1'));
  await cancelNew(database, 'another');
  await one.confirm(await one.mine([pays(to, 400n)]));
  assert.equal(noticesOf(await claimAll(database, T0_MS)), [], 'nothing before it is paid');
  await one.confirm(await one.mine([pays(to, 600n, { tx: '0xlast' })]));
  const claimed = await claimAll(database, T0_MS);
  assert.equal(noticesOf(claimed), [
    ['epay', 1001, 'N1', 'https://panel.example/notify', 'payment.completed', 'cs_s1', KEY],
  ]);
  assert.equal(claimed.map(({ endpointId }) => endpointId).sort(), ['d1', 'e1']);
  const notice = claimed.find(({ door }) => door)?.door;
  const { paid } = notice?.order ?? {};
  assert.equal(paid?.payment, {
    network: 'test:one',
    currency: 'USDT',
    tx: '0xlast',
    family: 'evm',
    address: to,
    units: 10_000_000n,
    decimals: 6,
  });
  const [listed] = await database.doors.orders('d1', { isPaid: true, limit: 9, offset: 0 });
  assert.is(listed?.paidSessionId, 'cs_s1');
  assert.is(listed?.paid?.atS, paid?.atS);
  assert.equal(await database.doors.orders('d1', { isPaid: false, limit: 9, offset: 0 }), []);
});

test('of two sessions of one order, the first that is paid counts', async ({ database, one }) => {
  await database.doors.add(door('d1'), act('door add'));
  await database.doors.keepOrder(order('1'));
  const first = addressOf(await create(database, 's1', '1'));
  await cancelSession(database, 'cs_s1');
  const second = addressOf(await create(database, 's2', '1'));
  await database.doors.rememberSession('1', 'cs_s2');
  await one.confirm(await one.mine([pays(second, 1000n)]));
  await one.confirm(await one.mine([pays(first, 1000n)]));
  const [held] = await database.held.list({ state: 'open', limit: 9 });
  await database.held.accept(held?.id ?? '', act('held accept'), false);
  assert.equal(
    noticesOf(await claimAll(database, T0_MS)).map(([, , , , , sessionId]) => sessionId),
    ['cs_s2'],
  );
});

test('a session of the API with the same order number, and a removed door, have no notice', async ({
  database,
  one,
}) => {
  await database.doors.add(door('d1'), act('door add'));
  await database.doors.keepOrder(order('1'));
  await database.doors.keepOrder(order('2', { orderNo: 'N2' }));
  const plain = sessionOf(await database.sessions.create(newSession('epay/1001/N1')));
  const own = await create(database, 's2', '2');
  await database.endpoints.remove('d1');
  await one.confirm(await one.mine([pays(addressOf(plain), 1000n), pays(addressOf(own), 1000n)]));
  assert.equal(await claimAll(database, T0_MS), []);
  assert.is((await database.doors.findOrder({ endpointId: 'd1', orderNo: 'N1' }))?.paid, null);
});

test.run();
