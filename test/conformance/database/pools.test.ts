import * as assert from 'uvu/assert';
import type { Session } from '../../../src/database/session.ts';
import { column, has } from '../../support/fields.ts';
import {
  addressOf,
  inWorlds,
  keyOf,
  newSession,
  option,
  pays,
  pool,
  sessionOf,
  show,
  start,
  T0_MS,
  T0_S,
} from './place.ts';

/** How many of its newest blocks a network may replace. */
const reorgDepthsMax = { 'test:one': 20 };

const test = inWorlds('addresses');
const source = 'xpub one';
const level = (free: number, taken: number, nextIndex: number) => ({ free, taken, nextIndex, retiredThrough: 0 });

test('levels and the watch list: every address, by id, in pages', async ({ database }) => {
  assert.equal(await database.addresses.level(pool, source), { ...pool, ...level(40, 0, 40) });
  await start(database, 'o1');
  assert.equal(await database.addresses.level(pool, source), { ...pool, ...level(39, 1, 40) });
  const live = { ...pool, mode: 'live' } as const;
  assert.equal(await database.addresses.level(live, source), { ...live, ...level(0, 0, 0) });
  const all = await database.addresses.watchList(pool, 0, 1000);
  assert.equal(
    column(all, 'key'),
    Array.from({ length: 40 }, (_, at) => keyOf(at + 1)),
  );
  const page = await database.addresses.watchList(pool, all[9]?.seq ?? 0, 5);
  assert.equal(page, all.slice(10, 15));
  assert.equal(await database.addresses.watchList(live, 0, 10), []);
});

test('adding addresses again leaves them unchanged, and later ones get higher ids', async ({ database }) => {
  const before = await database.addresses.watchList(pool, 0, 1000);
  await database.addresses.add({ ...pool, source, firstIndex: 38, keys: [39, 40, 41, 42].map(keyOf) });
  await database.addresses.add({ ...pool, source, firstIndex: 0, keys: [keyOf(1)] });
  const after = await database.addresses.watchList(pool, 0, 1000);
  assert.equal(after.slice(0, 40), before);
  assert.equal(column(after.slice(40), 'key'), [keyOf(41), keyOf(42)]);
  assert.is((await database.addresses.level(pool, source)).nextIndex, 42);
  assert.is((await database.addresses.level(pool, source)).free, 42);
});

test('a new source retires the free addresses of the old one, until it returns', async ({ database }) => {
  assert.is(await database.addresses.source({ ...pool, mode: 'live' }), null);
  assert.is(await database.addresses.source(pool), source);
  const first = sessionOf(await database.sessions.create(newSession('o1')));
  assert.is(addressOf(first), keyOf(1));
  await database.addresses.add({ ...pool, source: 'xpub two', firstIndex: 0, keys: [keyOf(1001)] });
  assert.is(await database.addresses.source(pool), 'xpub two');
  assert.is(await start(database, 'o2'), keyOf(1001));
  assert.equal(await database.sessions.create(newSession('o3')), { kind: 'address_pool_empty', family: 'evm' });
  assert.equal(await database.addresses.level(pool, 'xpub two'), { ...pool, ...level(0, 1, 1) });
  assert.is((await database.addresses.watchList(pool, 0, 1000)).length, 41);
  await database.addresses.add({ ...pool, source, firstIndex: 40, keys: [] });
  assert.is(await start(database, 'o4'), keyOf(2));
});

test('an empty pool refuses, changes nothing, and works again once it is filled', async ({ database }) => {
  for (let n = 1; n <= 40; n++) await start(database, `o${n}`);
  const replay = { idempotencyKey: 'idem', path: '/p', bodyHash: 'b' };
  const refused = await database.sessions.create(newSession('dry', { replay }));
  assert.equal(refused, { kind: 'address_pool_empty', family: 'evm' });
  assert.is(await database.sessions.find('cs_dry'), null);
  assert.is((await database.stats(T0_MS)).sessions.pending, 40);
  await database.addresses.add({ ...pool, source, firstIndex: 40, keys: [keyOf(41)] });
  const outcome = await database.sessions.create(newSession('dry', { replay }));
  assert.is(outcome.kind, 'created', 'the refusal was not remembered');
});

test('a family with an empty pool is not offered; existing sessions stay as they are', async ({ database }) => {
  const other = { family: 'other', mode: 'test' } as const;
  const offers = { options: [option('one', 'USDT', 1000n), { ...option('two', 'USDT', 1000n), family: 'other' }] };
  const offered = ({ options, addresses }: Session) => [
    options.map(({ networkKey }) => networkKey),
    Object.keys(addresses).sort(),
  ];
  await database.addresses.add({ ...other, source: 'list', firstIndex: 0, keys: [keyOf(500)] });
  const first = sessionOf(await database.sessions.create(newSession('o1', offers)));
  assert.equal(offered(first), [
    ['test:one', 'test:two'],
    ['evm', 'other'],
  ]);
  const second = sessionOf(await database.sessions.create(newSession('o2', offers)));
  assert.equal(offered(second), [['test:one'], ['evm']]);
  const only = { options: offers.options.slice(1) };
  assert.equal(await database.sessions.create(newSession('o3', only)), {
    kind: 'address_pool_empty',
    family: 'other',
  });
  assert.is((await database.addresses.level(pool, source)).taken, 2, 'a refusal takes nothing');

  await database.addresses.add({ ...other, source: 'list', firstIndex: 1, keys: [keyOf(501)] });
  assert.is((await database.addresses.level(other, 'list')).free, 1);
  for (const [orderId, session] of [
    ['o1', first],
    ['o2', second],
  ] as const) {
    const again = await database.sessions.create(newSession(orderId, { ...offers, id: 'cs_again' }));
    assert.is(again.kind, 'replayed');
    assert.equal(sessionOf(again), session);
  }
  assert.is((await database.addresses.level(other, 'list')).free, 1, 'a replay takes nothing');
  const third = sessionOf(await database.sessions.create(newSession('o3', only)));
  assert.equal(third.addresses, { other: keyOf(501) });
});

test('two processes that create sessions at once never share an address', async ({ database, place }) => {
  const other = place.connect();
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, (_, n) => (n % 2 ? database : other).sessions.create(newSession(`o${n}`))),
  );
  const addresses = outcomes.map((outcome) => addressOf(sessionOf(outcome)));
  assert.is(new Set(addresses).size, 40);
  other.close();
});

test('an address that was paid before any session took it is never given out', async ({ database, one }) => {
  await one.mine([pays(keyOf(1), 500n)]);
  has((await database.alarms.list(10))[0], { code: 'payment_without_session', network: 'test:one' });
  assert.is((await database.addresses.level(pool, source)).free, 39);
  assert.is(await start(database, 'o1'), keyOf(2));
  assert.is((await database.addresses.watchList(pool, 0, 1000)).length, 40, 'it stays watched');
  assert.is((await database.blocks.unconfirmed('test:one', 0, 10)).length, 1, 'the transfer is saved');
});

test('money from before its session belongs to an order of a lost database', async ({ database, one }) => {
  // A database that was restored is still a few blocks behind the node.
  assert.is(await one.step({ floor: 100 }), 'done');
  await one.readThrough(T0_S, 'following', 123);
  const to = await start(database, 'o1', { reorgDepthsMax });
  await one.mine();
  await one.mine();
  const block = await one.mine([pays(to, 1000n)]);
  await one.confirm(block);
  const { life, standing, payments } = await show(database, 'o1');
  assert.is(life.status, 'pending');
  assert.is(standing.touched, false);
  assert.is(payments.length, 1, 'it is saved and shown');
  has((await database.alarms.list(10))[0], { code: 'payment_before_session', sessionId: 'cs_o1' });
  await one.confirm(await one.mine([pays(to, 1000n)]));
  assert.is((await show(database, 'o1')).life.status, 'paid');
  assert.is((await database.alarms.list(10)).length, 1);
});

test('money in a replaced block pays the session, even if our tip was behind and the chain’s clock is slow', async ({
  database,
  one,
}) => {
  // Blocks that are final for the node are final here, although half of the blocks above are still to be read.
  assert.is(await one.step({ floor: 100 }), 'done');
  await one.readThrough(T0_S, 'following', 120);
  const to = await start(database, 'o1', { reorgDepthsMax });
  await one.confirm(await one.mine([pays(to, 1000n)], T0_S - 1800));
  assert.is((await show(database, 'o1')).life.status, 'paid');
  assert.equal(await database.alarms.list(10), []);
});

test('a transaction that a reorg moves below its session’s first block pays it', async ({ database, one }) => {
  await one.mine();
  await one.readThrough(T0_S, 'following', 103);
  assert.is(await one.step({ floor: 100 }), 'done');
  const to = await start(database, 'o1');
  await one.mine();
  await one.mine();
  const payment = pays(to, 1000n);
  await one.mine([payment]);
  assert.is((await show(database, 'o1')).standing.firm, 'seen');
  const [moved] = await one.reorg(4, [[payment], [], [], [], []]);
  assert.is(moved?.number, 101);
  await one.confirm(...(moved ? [moved] : []));
  assert.is((await show(database, 'o1')).life.status, 'paid');
  assert.equal(await database.alarms.list(10), []);
});

test.run();
