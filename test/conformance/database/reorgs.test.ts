import * as assert from 'uvu/assert';
import { column, has, have } from '../../support/fields.ts';
import {
  addressOf,
  allExtended,
  breaks,
  endpoint,
  eventTypes,
  fails,
  inWorlds,
  keyOf,
  newSession,
  pays,
  pool,
  sessionOf,
  show,
  start,
  T0_S,
} from './place.ts';

const test = inWorlds('blocks and reorgs');
const ten = 10n * 10n ** 18n;

test('a step from another tip, or with unwatched addresses, saves nothing', async ({ database, one }) => {
  const to = await start(database, 'o1');
  const connect = [{ block: one.child(), transfers: [pays(to, 1000n)] }];
  const before = await database.networks.list();
  assert.is(await one.step({ expectTip: 'another', connect }), 'moved');
  assert.is(await one.step({ expectTip: null, connect }), 'moved');
  assert.is(await one.step({ watchedThrough: 39, connect }), 'stale_watch');
  assert.equal(await database.networks.list(), before);
  assert.equal((await show(database, 'o1')).payments, []);
  assert.is(await one.step({ network: 'test:new', expectTip: 'x', connect }), 'moved');
  assert.is((await database.networks.list()).length, 2, 'not even the row of a new network');
  const ids = await database.addresses.watchList(pool, 0, 1000);
  const watchedThrough = ids.at(-1)?.seq ?? 0;
  assert.is(await one.step({ watchedThrough, connect }), 'done');
  assert.is(await one.step({ watchedThrough, connect }), 'moved', 'a repeated step is applied once');
  assert.is((await show(database, 'o1')).payments.length, 1);
});

test('the tail is the newest canonical blocks, oldest first', async ({ database, one }) => {
  for (let n = 0; n < 5; n++) await one.mine();
  assert.equal(await database.blocks.tail('test:one', 3), one.chain.slice(-3));
  await one.reorg(2, [[], [], []]);
  assert.equal(await database.blocks.tail('test:one', 100), one.chain);
  assert.equal(await database.blocks.tail('test:new', 3), []);
  const status = await database.networks.find('test:one');
  const tip = one.chain.at(-1);
  has(status, { tipHash: tip?.hash, tipNumber: tip?.number });
});

test('money that a reorg removes is orphaned, and counts once when it is mined again', async ({ database, one }) => {
  const to = await start(database, 'o1');
  const transfer = pays(to, 1000n, { index: 4 });
  await one.mine([transfer]);
  await one.reorg(1, [[]]);
  const gone = await show(database, 'o1');
  assert.is(gone.standing.funded, 'none');
  has(gone.payments[0], { state: 'orphaned', confirmations: 0 });
  assert.equal(await database.blocks.unconfirmed('test:one', 0, 10), [], 'only canonical blocks are listed');
  const again = await one.mine([{ ...transfer, index: 9 }]);
  await one.confirm(again);
  const paid = await show(database, 'o1');
  assert.is(paid.life.status, 'paid');
  assert.is(paid.standing.confirmedPar, ten);
  have(paid.payments, [
    { index: 4, state: 'orphaned' },
    { index: 9, state: 'confirmed' },
  ]);
});

test('a block that comes back is canonical again, unconfirmed', async ({ database, one }) => {
  await database.endpoints.add(endpoint('e1', { extendedEvents: allExtended }));
  const to = await start(database, 'o1');
  const transfers = [pays(to, 1000n)];
  const block = await one.mine(transfers);
  await one.confirm(block);
  await one.reorg(1, [[]]);
  const taken = await show(database, 'o1');
  assert.is(taken.life.status, 'paid');
  assert.is(taken.standing.confirmedPar, 0n);
  has((await database.alarms.list(10))[0], { code: 'payment_reversed', sessionId: 'cs_o1', network: 'test:one' });
  assert.is(await one.reconnect(1, [{ block, transfers }]), 'done');
  const back = await show(database, 'o1');
  assert.is(back.payments.length, 1);
  assert.is(back.payments[0]?.state, 'seen');
  await one.confirm(block);
  assert.is((await show(database, 'o1')).standing.confirmedPar, ten);
  assert.is((await database.alarms.list(10)).length, 1);
  const types = await eventTypes(database, 'cs_o1');
  assert.equal(types.slice(0, 3), ['payment.detected', 'payment.completed', 'payment.reversed']);
  assert.is(types.filter((type) => type === 'payment.completed').length, 1, 'completed is sent once');
});

test('a block that comes back with different content is refused', async ({ database, one }) => {
  const to = await start(database, 'o1');
  const transfer = pays(to, 1000n);
  const block = await one.mine([transfer]);
  await one.reorg(1, [[]]);
  const contents: [string, typeof block, (typeof transfer)[]][] = [
    ['one transfer less', block, []],
    ['one transfer more', block, [transfer, pays(to, 1n)]],
    ['another sum', block, [{ ...transfer, units: transfer.units + 1n }]],
    ['another sender', block, [{ ...transfer, from: 'cd'.repeat(20) }]],
    ['another coin', block, [{ ...transfer, currency: 'USDC' }]],
    ['another index', block, [{ ...transfer, index: 1 }]],
    ['another time', { ...block, timeS: block.timeS + 1 }, [transfer]],
  ];
  const dropped = one.chain.at(-1);
  for (const [what, asBlock, transfers] of contents) {
    const step = one.step({ drop: [dropped?.hash ?? ''], connect: [{ block: asBlock, transfers }] });
    await fails(step, 'node_contradicts_itself');
    assert.equal(await database.blocks.tail('test:one', 1), [dropped], what);
    assert.is((await show(database, 'o1')).payments[0]?.state, 'orphaned', what);
  }
});

test('a block that comes back may pay addresses watched since', async ({ database, one }) => {
  const early = await database.addresses.watchList(pool, 0, 1000);
  const block = one.child();
  await one.step({ watchedThrough: early.at(-1)?.seq ?? 0, connect: [{ block, transfers: [] }] });
  one.chain.push(block);
  await one.reorg(1, [[]]);
  await database.addresses.add({ ...pool, source: 'xpub one', firstIndex: 40, keys: [keyOf(41)] });
  assert.is(await one.reconnect(1, [{ block, transfers: [pays(keyOf(41), 5n)] }]), 'done');
  assert.is((await database.blocks.unconfirmed('test:one', 0, 10)).length, 1);
});

test('blocks that are not linked, or leave below the floor, are refused', async ({ database, one }) => {
  await one.mine();
  await one.mine();
  const [first, second, tip] = one.chain;
  assert.ok(first && second && tip);
  const orphan = { ...one.child(), parent: 'nobody' };
  await breaks(one.step({ connect: [{ block: orphan, transfers: [] }] }));
  const gap = one.child();
  const broken = [gap, { ...one.child(gap), parent: 'nobody' }].map((block) => ({ block, transfers: [] }));
  await breaks(one.step({ connect: broken }));
  await breaks(one.step({ drop: ['nobody'] }));
  await breaks(one.step({ confirm: [{ hash: 'nobody' }] }));
  await breaks(one.step({ drop: [second.hash], connect: [{ block: one.child(first), transfers: [] }] }));
  await one.step({ floor: second.number });
  const deep = [second, tip].map(({ hash }) => hash);
  await breaks(one.step({ drop: deep, connect: [{ block: one.child(first), transfers: [] }] }));
  assert.equal(await database.blocks.tail('test:one', 10), one.chain);
});

test('a block that is not canonical is not confirmed', async ({ database, one }) => {
  const to = await start(database, 'o1');
  const block = await one.mine([pays(to, 1000n)]);
  const parent = one.chain.at(-2);
  const next = one.child(parent);
  await one.step({ drop: [block.hash], connect: [{ block: next, transfers: [] }], confirm: [block] });
  one.chain.splice(-1, 1, next);
  await one.confirm(block);
  const session = await show(database, 'o1');
  assert.is(session.life.status, 'pending');
  assert.is(session.payments[0]?.state, 'orphaned');
});

test('the floor never falls', async ({ database, one }) => {
  const floorOf = async () => (await database.networks.find('test:one'))?.floor;
  assert.is(await floorOf(), 0, 'nothing is final yet');
  await one.step({ floor: 100 });
  assert.is(await floorOf(), 100);
  await one.step({ floor: 50 });
  await one.step({ floor: null });
  assert.is(await floorOf(), 100);
});

test('empty blocks far below the floor are pruned; blocks with transfers never are', async ({ database, one }) => {
  const to = await start(database, 'o1');
  const money = await one.mine([pays(to, 1000n)]);
  const connect: { block: ReturnType<typeof one.child>; transfers: [] }[] = [];
  for (let n = 0; n < 1500; n++) connect.push({ block: one.child(connect.at(-1)?.block), transfers: [] });
  await one.step({ connect });
  one.chain.push(...connect.map(({ block }) => block));
  const tip = one.chain.at(-1);
  assert.ok(tip);
  for (let n = 0; n < 5; n++) await one.step({ floor: tip.number, confirm: [money] });
  const kept = await database.blocks.tail('test:one', 5000);
  assert.equal(kept[0], money);
  assert.is(kept.length, 1 + 1000);
  assert.equal(kept.slice(1), one.chain.slice(-1000));
  assert.is((await show(database, 'o1')).life.status, 'paid');
  await one.mine();
  assert.is((await show(database, 'o1')).payments[0]?.confirmations, 1502);
});

test('unconfirmed blocks are listed oldest first, at most `limit`', async ({ database, one }) => {
  const to = await start(database, 'o1');
  const blocks = [];
  for (let n = 0; n < 4; n++) blocks.push(await one.mine([pays(to, 1n), pays(to, 1n)]));
  const found = await database.blocks.unconfirmed('test:one', 0, 3);
  assert.equal(
    column(found, 'hash'),
    blocks.slice(0, 3).map(({ hash }) => hash),
  );
  assert.is(found[0]?.txs.length, 2);
  assert.equal(await database.blocks.unconfirmed('test:two', 0, 3), []);
});

test('a waiting transfer shows what its session received', async ({ database, one, two }) => {
  const first = sessionOf(await database.sessions.create(newSession('o1')));
  const second = sessionOf(await database.sessions.create(newSession('o2')));
  const minor = 10n ** 16n;
  const waiting = async (block: string, network: 'test:one' | 'test:two' = 'test:one') =>
    (await database.blocks.waiting(network, block)).map(({ to, received: { openPar, allPar } }) => {
      const name = to === addressOf(first) ? 'first' : to === addressOf(second) ? 'second' : 'nobody';
      return `${name} ${openPar / minor} ${allPar / minor}`;
    });
  const final = await one.mine([pays(addressOf(first), 700n)]);
  await one.confirm(final);
  await one.step({ floor: final.number });
  const part = pays(addressOf(first), 200n, { tx: '0xpart' });
  const block = await one.mine([part, pays(addressOf(second), 5n, { tx: '0xother' }), pays('ee'.repeat(20), 9n)]);
  const lost = await one.mine([pays(addressOf(first), 300n)]);
  const otherNetwork = await two.mine([pays(addressOf(first), 900n, { network: 'two' })]);
  assert.equal(await waiting(block.hash), ['first 500 1200', 'second 5 5']);
  assert.equal(await waiting(final.hash), [], 'it is confirmed');
  assert.equal(await waiting(otherNetwork.hash, 'test:two'), ['first 900 900'], 'whatever the decimals');
  const [replacement] = await one.reorg(1, [[pays(addressOf(first), 100n)]]);
  assert.equal(await waiting(lost.hash), [], 'it left the chain');
  assert.equal(await waiting(replacement?.hash ?? ''), ['first 300 1000']);

  assert.is(await one.step({ confirm: [{ hash: block.hash, txs: ['0xpart'] }] }), 'done');
  assert.equal(await waiting(block.hash), ['second 5 5'], 'a part of a block is confirmed');
  assert.equal((await database.blocks.unconfirmed('test:one', 0, 1))[0]?.txs, ['0xother']);
  assert.equal((await database.blocks.unconfirmed('test:one', block.number, 9)).length, 1, 'only above that number');
  assert.is((await show(database, 'o1')).standing.confirmedPar / minor, 900n);
  assert.is((await show(database, 'o2')).standing.confirmedPar, 0n);
  assert.equal((await database.ledger.verify()).problems, []);

  // Money that is older than its session is in none of the session's sums.
  await one.readThrough(T0_S);
  const late = newSession('o3', { reorgDepthsMax: { 'test:one': 0 } });
  const third = sessionOf(await database.sessions.create(late));
  const [old] = await one.reorg(1, [[pays(addressOf(third), 40n)]]);
  assert.equal(await waiting(old?.hash ?? ''), ['nobody 40 40']);
});

test.run();
