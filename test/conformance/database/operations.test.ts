import * as assert from 'uvu/assert';
import { column, has } from '../../support/fields.ts';
import { until } from '../../support/until.ts';
import { cancelSession, endpoint, inWorlds, pays, start, T0_MS, T0_S } from './place.ts';

const test = inWorlds('operations');

test('a network is listed with its follower’s report and its cursor', async ({ database, one }) => {
  await one.readThrough(T0_S + 7, 'halted');
  const status = await database.networks.find('test:one');
  const tip = one.chain.at(-1);
  has(status, {
    key: 'test:one',
    state: 'halted',
    floor: 0,
    readThroughS: T0_S + 7,
    updatedAtMs: T0_MS,
    pid: 1,
    reason: { code: 'deep_reorg', message: 'block 5 left the chain' },
    tipHash: tip?.hash,
    tipNumber: tip?.number,
    headNumber: tip?.number,
    nodeConnected: true,
    nodeHeardAtMs: T0_MS,
  });
  assert.equal(await database.networks.list(), [status, await database.networks.find('test:two')]);
  await one.readThrough(T0_S + 8);
  const after = await database.networks.find('test:one');
  has(after, { state: 'following', reason: null, readThroughS: T0_S + 8 });
  await one.mine();
  const mined = await database.networks.find('test:one');
  has(mined, { state: 'following', pid: 1, readThroughS: T0_S });
});

test('alarms are listed newest first, at most `limit`', async ({ database }) => {
  for (let n = 0; n < 3; n++) {
    await database.alarms.raise({ atMs: T0_MS + n, code: `c${n}`, message: 'm', network: null, sessionId: null });
  }
  const found = await database.alarms.list(2);
  assert.equal(column(found, 'code'), ['c2', 'c1']);
  const older = await database.alarms.list(2, found.at(-1)?.id);
  assert.equal(column(older, 'code'), ['c0']);
  assert.equal(found[0], {
    id: found[0]?.id,
    atMs: T0_MS + 2,
    code: 'c2',
    message: 'm',
    network: null,
    sessionId: null,
    key: null,
    endedAtMs: null,
    acknowledgedAtMs: null,
    acknowledgedBy: null,
    acknowledgedNote: null,
  });
});

test('a lasting alarm is open once for each key', async ({ database }) => {
  const alarm = { key: 'disk', atMs: T0_MS, code: 'a', message: 'm', network: null, sessionId: null };
  assert.is(await database.alarms.keep(alarm), true);
  assert.is(await database.alarms.keep({ ...alarm, atMs: T0_MS + 1, message: 'more' }), false);
  const [open, ...others] = await database.alarms.listOpen();
  assert.equal(others, []);
  has(open, { atMs: T0_MS, message: 'more', endedAtMs: null });
  assert.is(await database.alarms.keep({ ...alarm, atMs: T0_MS + 2, code: 'b' }), true);
  assert.is(await database.alarms.keep({ ...alarm, key: 'network:test:one' }), true);
  const shown = async () => (await database.alarms.list(9)).map(({ key, code, endedAtMs }) => [key, code, endedAtMs]);
  assert.equal(await shown(), [
    ['network:test:one', 'a', null],
    ['disk', 'b', null],
    ['disk', 'a', T0_MS + 2],
  ]);
  assert.is(await database.alarms.end('disk', T0_MS + 3), true);
  assert.is(await database.alarms.end('disk', T0_MS + 4), false);
  assert.equal(column(await database.alarms.listOpen(), 'key'), ['network:test:one']);
  assert.is(await database.alarms.keep({ ...alarm, atMs: T0_MS + 5 }), true);
  assert.is((await database.alarms.listOpen()).length, 2);
});

test('stats count sessions by status, and waiting deliveries', async ({ database, one }) => {
  const none = { pending: 0, paid: 0, failed: 0, expired: 0, canceled: 0 };
  assert.equal(await database.stats(T0_MS), {
    sessions: none,
    paidOfDay: 0,
    deliveriesWaiting: 0,
    oldestWaitingMs: 0,
    heldOpen: 0,
    retentionAtMs: null,
  });
  await database.endpoints.add(endpoint('e1'));
  const to = await start(database, 'o1');
  for (const id of ['o2', 'o3']) await start(database, id);
  await one.confirm(await one.mine([pays(to, 1000n)]));
  await cancelSession(database, 'o2', T0_MS + 500);
  assert.equal(await database.stats(T0_MS + 800), {
    sessions: { ...none, pending: 1, paid: 1, canceled: 1 },
    paidOfDay: 1,
    deliveriesWaiting: 2,
    oldestWaitingMs: 800,
    heldOpen: 0,
    retentionAtMs: null,
  });
});

test('the change count changes with every commit of any connection, and not otherwise', async ({ database, place }) => {
  const other = place.connect();
  const before = database.changeCount();
  assert.is(database.changeCount(), before);
  await database.sessions.find('cs_x');
  await other.networks.list();
  assert.is(database.changeCount(), before);
  await other.alarms.raise({ atMs: 1, code: 'c', message: 'm', network: null, sessionId: null });
  await until('the change is seen', () => database.changeCount() !== before);
  const between = database.changeCount();
  await start(database, 'o1');
  assert.is.not(database.changeCount(), between);
  other.close();
});

test('a probe passes on a writable database, and changes nothing', async ({ database, place }) => {
  const other = place.connect();
  const before = other.changeCount();
  await database.probe();
  assert.is(other.changeCount(), before);
  other.close();
});

test.run();
