import * as assert from 'uvu/assert';
import type { BlockRef } from '../../../src/core/block.ts';
import type { ChainTransfer } from '../../../src/core/transfer.ts';
import type { Database } from '../../../src/database/database.ts';
import { mapInOrder } from '../../../src/database/engine/bodies.ts';
import { REWOUND_TRANSFERS_MAX, type Reread } from '../../../src/database/recovery.ts';
import { column, has, have } from '../../support/fields.ts';
import { networkReport } from '../../support/network-report.ts';
import {
  act,
  addressOf,
  breaks,
  DUST_FLOOR_PAR,
  endpoint,
  eventTypes,
  type Feed,
  inWorlds,
  newSession,
  pays,
  sessionOf,
  show,
  start,
  T0_S,
} from './place.ts';

const network = 'test:one' as const;
/** Of the database in these tests. */
const OUTAGE_WAIT_S = 600;
const rereadAct = act('network reread');

const recoveriesOf = async (database: Database) => (await database.networks.find(network))?.recoveries ?? 0;
const gapsOf = async (database: Database) => (await database.networks.find(network))?.gaps ?? [];

/** Mines empty blocks, and makes all of them final. */
async function finalize(one: Feed, blocks: number): Promise<void> {
  for (let n = 0; n < blocks; n++) await one.mine();
  await one.step({ floor: one.chain.at(-1)?.number ?? 0 });
}

/** Rewinds the database and the feed's chain to a block. */
async function rewindTo(one: Feed, to: number, atMs = rereadAct.atMs): Promise<void> {
  await one.database.networks.rewind({ network, to, isDryRun: false, act: { ...rereadAct, atMs } });
  keepThrough(one, to);
}

/** Keeps of the feed's chain what a rewind kept. */
const keepThrough = (one: Feed, to: number): void => {
  one.chain = one.chain.filter(({ number }) => number <= to);
};

const rereadOf = (
  one: Feed,
  blocks: Readonly<{ block: BlockRef; transfers: readonly ChainTransfer[] }>[],
  more: Partial<Reread> = {},
): Reread => ({
  network,
  family: 'evm',
  decimals: { USDT: 6, USDC: 6 },
  dustFloorPar: DUST_FLOOR_PAR,
  watchedThrough: 1_000_000,
  from: blocks[0]?.block.number ?? 0,
  to: blocks.at(-1)?.block.number ?? 0,
  blocks,
  anchor: one.chain.at(-1)?.hash ?? '',
  isCheck: false,
  act: rereadAct,
  ...more,
});

const test = inWorlds('recovery');

test('a rewind takes out even final blocks, reverses credits and is recorded', async ({ database, one }) => {
  await database.endpoints.add(endpoint('e1', { extendedEvents: ['payment.reversed'] }));
  const to = await start(database, 'o1');
  const fork = one.chain.at(-1)?.number ?? 0;
  const transfer = pays(to, 1000n);
  await one.confirm(await one.mine([transfer]));
  await finalize(one, 3);
  await one.readThrough(T0_S + 100, 'halted');
  const tip = one.chain.at(-1);
  const input = { network, to: fork, isDryRun: false, act: rereadAct } as const;

  const tried = await database.networks.rewind({ ...input, isDryRun: true });
  assert.equal(await database.blocks.tail(network, 1), [tip], 'a dry run changes nothing');
  assert.equal(await database.alarms.list(10), []);
  assert.equal(await database.audit.list(10), []);
  assert.is((await show(database, 'o1')).standing.confirmedPar, 10n * 10n ** 18n);

  const done = await database.networks.rewind(input);
  assert.equal(done, tried, 'a dry run says what happens');
  assert.equal(done, { kind: 'done', blocks: 4, transfers: 1, credited: 1, sessions: ['cs_o1'], tip: fork });
  const status = await database.networks.find(network);
  has(status, { tipNumber: fork, floor: fork, state: 'behind' });
  assert.ok((status?.readThroughS ?? 0) <= T0_S, 'what is to be read again is not read');
  const session = await show(database, 'o1');
  assert.is(session.standing.confirmedPar, 0n);
  assert.is(session.life.status, 'paid', 'never a silent change of status');
  assert.equal((await database.alarms.list(10))[0]?.code, 'payment_reversed');
  assert.equal(await eventTypes(database, 'cs_o1'), ['payment.completed', 'payment.reversed']);
  const [entry] = await database.audit.list(10);
  has(entry, { command: 'network reread', target: network, reason: 'a test' });
  assert.equal(entry?.before, { tip: tip?.number, floor: tip?.number, state: 'halted', reason: 'deep_reorg' });

  keepThrough(one, fork);
  await one.confirm(await one.mine([transfer]));
  assert.is((await show(database, 'o1')).standing.confirmedPar, 10n * 10n ** 18n);
  const types = await eventTypes(database, 'cs_o1');
  assert.is(types.filter((type) => type === 'payment.completed').length, 1, 'completed once');
});

test('after a rewind the same blocks may come back, with the facts that they had', async ({ database, one }) => {
  const to = await start(database, 'o1');
  const transfers = [pays(to, 1000n)];
  const paid = await one.mine(transfers);
  await one.confirm(paid);
  await finalize(one, 2);
  const later = one.chain.slice(2);
  await rewindTo(one, 100);
  const connect = [{ block: paid, transfers }, ...later.map((block) => ({ block, transfers: [] }))];
  assert.is(await one.step({ connect }), 'done');
  one.chain.push(paid, ...later);
  await one.confirm(paid);
  const { payments, life } = await show(database, 'o1');
  assert.is(life.status, 'paid');
  have(payments, [{ state: 'confirmed' }]);
});

test('a block that comes back under another number gets that number', async ({ database, one }) => {
  const to = await start(database, 'o1');
  const transfers = [pays(to, 1000n)];
  const named = { ...one.child(), number: 105 };
  assert.is(await one.step({ connect: [{ block: named, transfers }] }), 'done');
  const block = { ...named, number: 101 };
  const step = { expectTip: named.hash, drop: [named.hash], connect: [{ block, transfers }] };
  assert.is(await one.step(step), 'done');
  assert.equal((await database.blocks.tail(network, 1))[0], block);
  assert.equal(column((await show(database, 'o1')).payments, 'state'), ['seen']);
});

test('a rewind needs blocks above, and no more transfers than one transaction takes', async ({ database, one }) => {
  const rewind = (to: number, key = network as typeof network | 'test:none') =>
    database.networks.rewind({ network: key, to, isDryRun: false, act: rereadAct });
  assert.equal(await rewind(0, 'test:none'), { kind: 'never_read' });
  const tip = one.chain.at(-1)?.number ?? 0;
  assert.equal(await rewind(tip), { kind: 'not_above', tip });
  const orders = Array.from({ length: 20 }, (_, at) => `o${at}`);
  const to = await mapInOrder(orders, async (order) => await start(database, order));
  const many = Array.from({ length: REWOUND_TRANSFERS_MAX + 1 }, (_, index) =>
    pays(to[index % to.length] ?? '', 1n, { index }),
  );
  await one.mine(many);
  assert.equal(await rewind(tip), { kind: 'too_many', transfers: many.length });
  assert.equal(await database.audit.list(10), [], 'what is refused is not recorded');
});

test('a rewind below pruned blocks goes on after them, without a link to what is older', async ({ database, one }) => {
  const connect: { block: BlockRef; transfers: [] }[] = [];
  for (let n = 0; n < 1500; n++) connect.push({ block: one.child(connect.at(-1)?.block), transfers: [] });
  await one.step({ connect });
  one.chain.push(...connect.map(({ block }) => block));
  const floor = one.chain.at(-1)?.number ?? 0;
  for (let n = 0; n < 5; n++) await one.step({ floor });
  const [oldest] = await database.blocks.tail(network, 5000);
  const to = (oldest?.number ?? 0) - 10;
  const outcome = await database.networks.rewind({ network, to, isDryRun: false, act: rereadAct });
  assert.ok(outcome.kind === 'done');
  assert.is(outcome.tip, null);
  const gaps = await gapsOf(database);
  have(gaps, [{ from: 0, to }]);
  assert.is.not(gaps[0]?.closedAtMs, null);
  one.chain = [];
  const next = { ...one.child(), number: to + 1, parent: 'unknown' };
  assert.is(await one.step({ connect: [{ block: next, transfers: [] }] }), 'done');
});

test('a follower saves nothing until it has loaded the position after a rewind or a skip', async ({
  database,
  one,
}) => {
  await one.readThrough(T0_S);
  await one.mine();
  const recoveries = await recoveriesOf(database);
  const tip = one.chain.at(-1);
  await database.networks.skip({ network, from: 102, to: 102, isDryRun: true, act: rereadAct });
  assert.is(await recoveriesOf(database), recoveries);
  await database.networks.rewind({ network, to: 100, isDryRun: false, act: rereadAct });
  assert.is(await one.step({ expectTip: tip?.hash ?? null, recoveries, floor: 101 }), 'recovered');
  keepThrough(one, 100);
  const now = await recoveriesOf(database);
  assert.is.not(now, recoveries);
  assert.is(await one.step({ recoveries: now, floor: 100 }), 'done');
});

test('a session does not end while blocks that may pay it are to be read again', async ({ database, one, two }) => {
  const { id, addresses } = sessionOf(await database.sessions.create(newSession('o1')));
  const transfer = pays(addresses.evm ?? '', 1000n);
  const recoveries = await recoveriesOf(database);
  await one.mine([transfer]);
  const [lateS, lateMs] = [T0_S + 2200, (T0_S + 2200) * 1000];
  for (const feed of [one, two]) await feed.readThrough(lateS);
  await database.sessions.settleDue(lateMs, 10);
  assert.is((await show(database, id)).life.status, 'pending', 'its payment is seen');
  await rewindTo(one, 100, lateMs);
  const report = (count: number) =>
    database.networks.report({
      ...networkReport(network, lateMs, { state: 'halted', headNumber: 101, readThroughS: lateS }),
      reason: { code: 'reorg_below_floor', message: 'before the rewind' },
      recoveries: count,
    });
  await report(recoveries);
  await database.sessions.settleDue(lateMs, 10);
  const status = await database.networks.find(network);
  has(status, { state: 'behind', headNumber: 101 });
  assert.is(status?.reason?.code, 'rewound');
  assert.is((await show(database, id)).life.status, 'pending');
  await one.confirm(await one.mine([transfer]));
  assert.is((await show(database, id)).life.status, 'paid');
  await report(await recoveriesOf(database));
  assert.is((await database.networks.find(network))?.state, 'halted');
});

test('a skipped block is a gap with an alarm, and only it may break the chain', async ({ database, one }) => {
  const tip = one.chain.at(-1)?.number ?? 0;
  const skip = (from: number, to: number, key = network as typeof network | 'test:none') =>
    database.networks.skip({ network: key, from, to, isDryRun: false, act: rereadAct });
  assert.equal(await skip(0, 0, 'test:none'), { kind: 'never_read' });
  await one.readThrough(T0_S, 'following', tip + 9);
  assert.equal(await skip(tip, tip + 1), { kind: 'read_already', tip });
  assert.equal(await skip(tip + 1, tip + 10), { kind: 'not_made_yet', head: tip + 9 });

  const next = { ...one.child(), number: tip + 3, parent: 'not read' };
  const connect = [{ block: next, transfers: [] }];
  await breaks(one.step({ connect }));
  const outcome = await skip(tip + 1, tip + 2);
  const gap = {
    from: tip + 1,
    to: tip + 2,
    because: 'a test',
    atMs: rereadAct.atMs,
    closedAtMs: null,
    holdsPayouts: false,
  };
  assert.equal(outcome, { kind: 'done', gap });
  assert.equal(await gapsOf(database), [gap]);
  const [alarm] = await database.alarms.list(1);
  has(alarm, { code: 'block_skipped', network });
  assert.match(alarm?.message ?? '', /network reread test:one --from 101 --to 102/);
  assert.equal((await database.audit.list(1))[0]?.after, { from: tip + 1, to: tip + 2, money_out: 'unchanged' });
  assert.is(await one.step({ connect }), 'done');
  one.chain.push(next);
  await breaks(one.step({ connect: [{ block: { ...one.child(), parent: 'nobody' }, transfers: [] }] }));
});

test('a reorg or a rewind below a gap removes it, because its blocks are read again', async ({ database, one }) => {
  const skip = async () => {
    await one.readThrough(T0_S, 'following', 120);
    await database.networks.skip({ network, from: 102, to: 103, isDryRun: false, act: rereadAct });
    const next = { ...one.child(), number: 104, parent: 'not read' };
    await one.step({ connect: [{ block: next, transfers: [] }] });
    one.chain.push(next);
  };
  await one.mine();
  await skip();
  await one.reorg(1, [[]]);
  assert.equal(await gapsOf(database), []);
  await rewindTo(one, 101);
  await skip();
  await database.networks.rewind({ network, to: 102, isDryRun: false, act: rereadAct });
  have(await gapsOf(database), [{ from: 102, to: 102 }]);
  await database.networks.rewind({ network, to: 100, isDryRun: false, act: rereadAct });
  assert.equal(await gapsOf(database), []);
});

test('a transfer that was missed is added once, credited and recorded', async ({ database, one }) => {
  const to = await start(database, 'o1');
  const missed = pays(to, 1000n);
  const block = await one.mine();
  await one.mine();
  const read = [{ block, transfers: [missed] }];
  const found = { kind: 'missing', number: block.number, block: block.hash, transfer: missed };
  const checked = await database.blocks.saveReread(rereadOf(one, read, { isCheck: true }));
  assert.equal(checked, { kind: 'done', differences: [found] });
  assert.equal((await show(database, 'o1')).payments, [], 'a check adds nothing');
  assert.equal(await database.blocks.saveReread(rereadOf(one, read, { anchor: 'nobody' })), { kind: 'moved' });

  assert.equal(await database.blocks.saveReread(rereadOf(one, read)), { kind: 'done', differences: [found] });
  assert.equal(await database.blocks.saveReread(rereadOf(one, read)), { kind: 'done', differences: [] });
  assert.is((await show(database, 'o1')).payments.length, 1);
  const [entry, ...others] = await database.audit.list(10);
  has(entry, { command: 'network reread', after: { from: 101, to: 101, transfers: 1, outgoing: 0 } });
  assert.equal(others, []);
  assert.equal(column(await database.blocks.unconfirmed(network, -1, 10), 'hash'), [block.hash]);
  await one.confirm(block);
  assert.is((await show(database, 'o1')).life.status, 'paid');
  await one.reorg(2, [[], []]);
  assert.is(
    await one.reconnect(2, [
      { block, transfers: [missed] },
      ...[one.child(block)].map((b) => ({ block: b, transfers: [] })),
    ]),
    'done',
  );
  assert.is((await show(database, 'o1')).payments.length, 1, 'and it comes back with the block');
});

test('a block below the first or in a gap is kept if it pays our address', async ({ database, one }) => {
  const to = await start(database, 'o1');
  const early = { ...one.child(), hash: 'early', number: 50, timeS: T0_S };
  const empty = { ...early, hash: 'early too', parent: 'early', number: 51 };
  await one.step({ floor: one.chain.at(-1)?.number ?? 0 });
  const recoveries = await recoveriesOf(database);
  const read = [
    { block: early, transfers: [pays(to, 1000n)] },
    { block: empty, transfers: [] },
  ];
  assert.is((await database.blocks.saveReread(rereadOf(one, read))).kind, 'done');
  assert.is.not(await recoveriesOf(database), recoveries, 'the follower loads the block');
  assert.equal(column(await database.blocks.tail(network, 10), 'hash'), ['early', one.chain[0]?.hash]);
  await one.confirm(early);
  const session = await show(database, 'o1');
  assert.equal({ status: session.life.status, state: session.payments[0]?.state }, { status: 'paid', state: 'final' });
});

test('what the node does not show, or shows otherwise, is reported and left', async ({ database, one }) => {
  const to = await start(database, 'o1');
  const transfer = pays(to, 400n);
  const block = await one.mine([transfer]);
  const other = await one.mine([pays(to, 5n)]);
  await one.mine();
  const kinds = async (read: Parameters<typeof rereadOf>[1], more?: Partial<Reread>) => {
    const outcome = await database.blocks.saveReread(rereadOf(one, read, more));
    assert.ok(outcome.kind === 'done');
    return outcome.differences.map(({ kind, number }) => [kind, number]);
  };
  const replaced = { ...other, hash: 'another', parent: block.hash };
  assert.equal(
    await kinds([
      { block, transfers: [] },
      { block: replaced, transfers: [pays(to, 600n)] },
    ]),
    [
      ['unknown', block.number],
      ['other_block', other.number],
    ],
  );
  assert.equal(await kinds([{ block, transfers: [transfer] }], { to: other.number }), [['other_block', other.number]]);
  assert.is((await show(database, 'o1')).payments.length, 2);
  assert.equal(await database.audit.list(10), []);
});

test('a rewound block that was skipped comes back when it is read again', async ({ database, one }) => {
  await database.endpoints.add(endpoint('e1'));
  const to = await start(database, 'o1');
  const transfer = pays(to, 1000n);
  const block = await one.mine([transfer]);
  await one.confirm(block);
  const later = [await one.mine(), await one.mine()];
  await one.readThrough(T0_S);
  await rewindTo(one, block.number - 1);
  const range = { from: block.number, to: block.number };
  await database.networks.skip({ network, ...range, isDryRun: false, act: rereadAct });
  assert.is(await one.step({ connect: later.map((empty) => ({ block: empty, transfers: [] })) }), 'done');
  one.chain.push(...later);
  const kinds = async (transfers: readonly ChainTransfer[], isCheck: boolean) => {
    const outcome = await database.blocks.saveReread(rereadOf(one, [{ block, transfers }], { isCheck }));
    assert.ok(outcome.kind === 'done');
    return outcome.differences.map(({ kind }) => kind);
  };
  assert.equal(await kinds([pays(to, 5n)], false), ['missing', 'unknown'], 'other content under the same hash');
  assert.equal((await show(database, 'o1')).payments[0]?.state, 'orphaned');
  assert.equal(await kinds([transfer], true), ['missing']);
  assert.equal(await kinds([transfer], false), ['missing']);
  assert.equal(await kinds([transfer], false), []);
  await one.confirm(block);
  const session = await show(database, 'o1');
  assert.is(session.standing.confirmedPar, 10n * 10n ** 18n);
  assert.is(session.payments.length, 1);
  const types = await eventTypes(database, 'cs_o1');
  assert.is(types.filter((type) => type === 'payment.completed').length, 1);
});

test('money in a block of the other branch pays a session that is open at the rewind', async ({ database, one }) => {
  await finalize(one, 5);
  await one.readThrough(T0_S + 5);
  const input = newSession('o1', { nowMs: (T0_S + 60) * 1000, reorgDepthsMax: { [network]: 20 } });
  const session = sessionOf(await database.sessions.create(input));
  const kept = one.chain.at(-3)?.number ?? 0;
  assert.ok((session.terms.beforeNumbers[network] ?? 0) > kept + 1);
  await rewindTo(one, kept);
  await one.confirm(await one.mine([pays(addressOf(session), 1000n)], T0_S + 300));
  assert.is((await show(database, 'o1')).life.status, 'paid');
});

test('a rewind holds a session open for the wait again', async ({ database, one, two }) => {
  await finalize(one, 3);
  await one.readThrough(T0_S);
  await two.readThrough(T0_S + 100_000);
  const session = sessionOf(await database.sessions.create(newSession('o1')));
  const rewoundAtS = session.terms.expiresAtS + OUTAGE_WAIT_S - 10;
  await rewindTo(one, one.chain.at(-2)?.number ?? 0, rewoundAtS * 1000);
  await database.sessions.settleDue((rewoundAtS + OUTAGE_WAIT_S) * 1000, 10);
  assert.is((await show(database, 'o1')).life.status, 'pending');
  await one.confirm(await one.mine([pays(addressOf(session), 1000n)], session.terms.expiresAtS - 1));
  assert.is((await show(database, 'o1')).life.status, 'paid');
});

test('gaps are closed within the blocks that were read again, and recorded', async ({ database, one }) => {
  await one.readThrough(T0_S, 'following', 300);
  for (const [from, to] of [
    [110, 119],
    [150, 150],
  ] as const) {
    await database.networks.skip({ network, from, to, isDryRun: false, act: rereadAct });
  }
  const close = (from: number, to: number, doubtful: readonly number[] = []) =>
    database.networks.closeGaps(network, { from, to, doubtful }, rereadAct);
  assert.equal(await close(111, 149), []);
  assert.equal(await close(110, 119, [119]), [], 'what differs may have been missed');
  have(await close(110, 119), [{ from: 110, to: 119 }]);
  assert.equal(await close(100, 149), []);
  const open = (await gapsOf(database)).filter(({ closedAtMs }) => closedAtMs === null);
  assert.equal(column(open, 'from'), [150]);
  const [entry] = await database.audit.list(1);
  has(entry, { before: { from: 110, to: 119, gap: 'open' }, after: { from: 110, to: 119, gap: 'closed' } });
  assert.equal(await database.blocks.rereadAnchor(network, 1000), null);
  const [first] = one.chain;
  assert.equal(await database.blocks.rereadAnchor(network, 0), { hash: first?.hash, number: first?.number });
});

test.run();
