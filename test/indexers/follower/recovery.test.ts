/**
 * Ways out for a network that has stopped: a rewind, a skipped block, blocks that are read again. The indexer goes on
 * without a restart.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createCursor } from '../../../indexers/follower/cursor.ts';
import { rereadBlocks } from '../../../indexers/reread.ts';
import type { Node } from '../../../src/chains/chain.ts';
import { chains } from '../../../src/chains/index.ts';
import { transient } from '../../../src/core/fault.ts';
import { openGaps } from '../../../src/core/gap.ts';
import { minorToPar } from '../../../src/core/money.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { has } from '../../support/fields.ts';
import type { IndexedShop } from '../../support/indexed-shop.ts';
import { countEqual, refundIntent } from '../../support/intents.ts';
import { inPolledIndexer, tipOf } from '../../support/polled-indexer.ts';
import { raw } from '../../support/raw.ts';
import { startIndexer, statusOf } from '../../support/running-indexer.ts';
import { accountKeyOf, startSimulatedNode } from '../../support/simulated-node.ts';
import { testNetwork } from '../../support/test-network.ts';
import { until } from '../../support/until.ts';

const DUE = 10_000_000n;
const SECONDS_MS = 10_000;
const twoDeep = { confirmations: [{ blocks: 2 }] };

const act = () => ({ atMs: systemClock.nowMs(), operator: 'alice', command: 'network reread', reason: 'a test' });

const rewind = ({ database, network }: IndexedShop, to: number) =>
  database.networks.rewind({ network: network.key, to, isDryRun: false, act: act() });

const skip = async ({ database, network }: IndexedShop, from: number, to = from): Promise<void> => {
  const range = { network: network.key, from, to, isDryRun: false, act: act() };
  assert.is((await database.networks.skip(range)).kind, 'done');
};

/** Reads blocks again from the node, as the command does. */
const reread = ({ database, network }: IndexedShop, from: number, to: number, isCheck = false) =>
  rereadBlocks({
    network,
    database,
    chain: chains[network.family],
    clock: systemClock,
    from,
    to,
    isCheck,
    act: act(),
    onPart: () => {},
  });

/** A node that does not serve some blocks: neither their headers nor their content, or only not their content. */
function losing(what: 'content' | 'range'): {
  through: (node: Node) => Node;
  lose: (numbers: readonly [number, number] | null) => void;
} {
  let lost: readonly [number, number] | null = null;
  const isLost = (number: number) => lost !== null && number >= lost[0] && number <= lost[1];
  const pruned = () => transient('node_history_pruned', 'no');
  return {
    lose(numbers) {
      lost = numbers;
    },
    through: (node) => ({
      ...node,
      async range(from, to) {
        const blocks = await node.range(from, to);
        if (what === 'range' && blocks.some(({ number }) => isLost(number))) throw pruned();
        return blocks;
      },
      async header(hash) {
        const block = await node.header(hash);
        if (what === 'range' && block && isLost(block.number)) throw pruned();
        return block;
      },
      async content(block, thorough) {
        if (isLost(block.number)) throw transient('node_error', `block ${block.number} cannot be read`);
        return node.content(block, thorough);
      },
    }),
  };
}

for (const family of ['evm', 'tron', 'solana'] as const) {
  test(`${family}: the reason of a reorg below the floor names the block to rewind to, and with that the chain is followed`, async () => {
    await inPolledIndexer(family, { network: { reorgDepthMax: 8, ...twoDeep } }, async ({ own, shop, poll, mine }) => {
      const { key } = shop.network;
      const lost = await shop.order('lost');
      const kept = await shop.order('kept');
      own.pay(kept.address, DUE);
      mine(4);
      await poll(3);
      own.pay(lost.address, DUE);
      mine(12);
      await poll(5);
      for (const order of [lost, kept]) assert.is((await order.read()).life.status, 'paid');
      const fork = own.world.at(own.world.tip().number)?.number ?? 0;
      own.world.reorg({ depth: 12, keep: 'none', blocks: 14, breakFinality: true });
      await poll(3, SECONDS_MS);
      await shop.isIn('halted', 'reorg_below_floor');
      const { message = '' } = (await shop.status())?.reason ?? {};
      const to = Number(new RegExp(`quayside network reread ${key} --above (\\d+) --reason`).exec(message)?.[1]);
      assert.ok(to < fork && own.world.at(to), `${message}`);
      await rewind(shop, to);
      await poll(5, SECONDS_MS);
      await shop.holds(tipOf(own));
      const session = await lost.read();
      assert.equal(
        { status: session.life.status, confirmedPar: session.standing.confirmedPar },
        { status: 'paid', confirmedPar: 0n },
      );
      assert.ok((await shop.database.alarms.list(10)).some(({ code }) => code === 'payment_reversed'));
      assert.is.not((await kept.read()).standing.confirmedPar, 0n);
      own.pay(lost.address, DUE);
      mine(4);
      await poll(4);
      assert.is.not((await lost.read()).standing.confirmedPar, 0n, 'paid again on the new chain');
      assert.equal((await shop.database.ledger.verify()).problems, []);
    });
  });

  for (const what of ['content', 'range'] as const) {
    test(`${family}: blocks whose ${what} no node serves are skipped, and counted once they are read again`, async () => {
      const { through, lose } = losing(what);
      await inPolledIndexer(family, { through, network: twoDeep }, async ({ own, shop, poll, mine }) => {
        const { key } = shop.network;
        await shop.database.wallets.recordOwn(key, { refund: accountKeyOf(family, 'payer') });
        const inside = await shop.order('inside');
        const after = await shop.order('after');
        const isLeft = async ({ address: to }: typeof after) =>
          (await countEqual(shop.database, refundIntent({ id: to, network: key, to, units: DUE }))) === 1;
        const leaving = async () => [await isLeft(inside), await isLeft(after)];
        mine(2);
        await poll(2);
        own.pay(inside.address, DUE);
        mine(1);
        const from = own.world.tip().number;
        mine(2);
        const to = own.world.tip().number;
        lose([from, to]);
        own.pay(after.address, DUE);
        mine(4);
        await poll(4, SECONDS_MS);
        await shop.isIn('fault', what === 'range' ? 'node_history_pruned' : 'node_error');
        assert.ok(((await shop.status())?.tipNumber ?? 0) < from);

        // Where the node serves no header either, the gap begins after the tip.
        const first = what === 'range' ? ((await shop.status())?.tipNumber ?? 0) + 1 : from;
        await skip(shop, first, to);
        await poll(8, SECONDS_MS);
        await shop.holds(tipOf(own));
        assert.is((await after.read()).life.status, 'paid');
        assert.equal((await inside.read()).payments, []);
        assert.equal(await leaving(), [false, true]);
        assert.is((await shop.database.holds.find(key))?.code, 'blocks_unsearched');
        assert.is((await shop.database.alarms.list(10)).filter(({ code }) => code === 'block_skipped').length, 1);

        lose(null);
        assert.equal((await reread(shop, first, to, true)).counts, {
          missing: 1,
          outgoing: 1,
          unknown: 0,
          other_block: 0,
        });
        assert.equal((await inside.read()).payments, [], 'a check adds nothing');
        assert.equal(await leaving(), [false, true], 'a check adds nothing');
        const { counts, closed } = await reread(shop, first, to);
        assert.equal(
          { missing: counts.missing, outgoing: counts.outgoing, length: closed.length },
          { missing: 1, outgoing: 1, length: 1 },
        );
        assert.equal(await leaving(), [true, true]);
        assert.is((await shop.database.holds.find(key))?.code, 'blocks_unsearched', 'only a person ends it');
        await poll(4);
        assert.is((await inside.read()).life.status, 'paid', 'credited by the running indexer');
        assert.equal((await reread(shop, first, to)).counts, { missing: 0, outgoing: 0, unknown: 0, other_block: 0 });
        own.world.reorg({ depth: 2, keep: 'none', blocks: 3 });
        await poll(4, SECONDS_MS);
        await shop.holds(tipOf(own));
      });
    });
  }

  for (const after of ['paid again in a skipped block', 'gone'] as const) {
    test(`${family}: a payment in a tip that was replaced before the skip counts once, or not at all: ${after}`, async () => {
      const { through, lose } = losing('range');
      const network = { confirmations: [{ blocks: 1 }], reorgDepthMax: 20 };
      await inPolledIndexer(family, { through, network }, async ({ own, shop, poll, mine }) => {
        const order = await shop.order('in the tip');
        mine(1);
        await poll(2);
        own.pay(order.address, DUE);
        mine(1);
        await poll(3);
        assert.is((await order.read()).life.status, 'paid');
        const { number } = own.world.tip();
        const [from, to] = [number + 1, number + 2];
        own.world.reorg({ depth: 1, keep: after === 'gone' ? 'none' : 'pending', blocks: 1 });
        lose([from, to]);
        mine(5);
        await poll(4, SECONDS_MS);
        await shop.isIn('fault', 'node_history_pruned');
        await skip(shop, from, to);
        await poll(6, SECONDS_MS);
        await shop.holds(tipOf(own));
        lose(null);
        await reread(shop, from, to);
        mine(3);
        await poll(5, SECONDS_MS);
        const session = await order.read();
        const alarms = (await shop.database.alarms.list(10)).map(({ code }) => code);
        assert.is(session.standing.confirmedPar, after === 'gone' ? 0n : minorToPar(1000n));
        assert.is(session.standing.funded === 'over', false);
        assert.ok(alarms.includes('payment_reversed'), `${alarms}`);
        assert.equal((await shop.database.ledger.verify()).problems, []);
      });
    });
  }
}

test('a gap stays open while the node shows something else in it than is held', async () => {
  await inPolledIndexer('evm', { network: twoDeep }, async ({ own, shop, poll, mine }) => {
    const order = await shop.order('in the gap');
    own.pay(order.address, DUE);
    mine(1);
    const { number } = own.world.tip();
    mine(3);
    await poll(4);
    assert.is((await order.read()).life.status, 'paid');
    await rewind(shop, number - 1);
    await skip(shop, number);
    await poll(5, SECONDS_MS);
    await shop.holds(tipOf(own));
    const isOpen = async () => openGaps((await shop.database.networks.find(shop.network.key))?.gaps ?? []).length > 0;
    const move = (by: number) =>
      raw(shop.temp.file, (client) => client.exec(`UPDATE transfers SET position = position + ${by}`));
    move(7);
    const doubtful = await reread(shop, number, number);
    assert.equal(doubtful.counts, { missing: 1, outgoing: 0, unknown: 1, other_block: 0 });
    assert.equal({ length: doubtful.closed.length, isOpen: await isOpen() }, { length: 0, isOpen: true });
    move(-7);
    const sure = await reread(shop, number, number);
    has(sure.counts, { missing: 1, unknown: 0 });
    assert.equal({ length: sure.closed.length, isOpen: await isOpen() }, { length: 1, isOpen: false });
    await poll(3);
    assert.is((await order.read()).payments[0]?.state === 'orphaned', false);
  });
});

test('what an operator does after a reorg beside a gap is noticed by the very next save', async () => {
  await inPolledIndexer('evm', {}, async ({ own, shop, poll, mine }) => {
    const { database, network } = shop;
    mine(6);
    await poll(4);
    const head = own.world.tip().number;
    await rewind(shop, head - 4);
    await skip(shop, head - 3);
    await poll(5, SECONDS_MS);
    await shop.holds(tipOf(own));
    const cursor = createCursor(database, network, systemClock.nowMs);
    assert.ok(await cursor.refresh());
    const tip = cursor.tip();
    if (!tip) throw new Error('nothing is held');
    const nothing = { finalized: null, finalNumber: null, safe: null, whyStale: null };
    const look = { ...nothing, head: tip, askedAtMs: systemClock.nowMs(), isOld: false };
    const known = { watchedThrough: 1_000_000, ownWallet: 0 };
    const replaced = { ...tip, hash: `0x${'ab'.repeat(32)}` };
    const reorg = { drop: [tip], connect: [{ block: replaced, transfers: [] }], confirm: [] };
    assert.is(await cursor.save(reorg, look, known), 'done');
    raw(shop.temp.file, (client) => client.exec('UPDATE networks SET head_number = head_number + 1'));
    await skip(shop, tip.number + 1);
    const next = { ...tip, hash: `0x${'cd'.repeat(32)}`, parent: replaced.hash, number: tip.number + 1 };
    const step = { drop: [], connect: [{ block: next, transfers: [] }], confirm: [] };
    assert.is(await cursor.save(step, look, known), 'recovered');
  });
});

test('a final block among those that were skipped stops no credit', async () => {
  const { through, lose } = losing('range');
  await inPolledIndexer('evm', { through, network: twoDeep }, async ({ own, shop, poll, mine }) => {
    const order = await shop.order('after the gap');
    mine(1);
    await poll(2);
    const from = own.world.tip().number + 1;
    const to = from + 54;
    mine(60);
    lose([from, to]);
    await poll(3, SECONDS_MS);
    await skip(shop, from, to);
    await poll(3, SECONDS_MS);
    own.pay(order.address, DUE);
    mine(5);
    const final = own.world.finalized().number;
    assert.ok(final >= from && final <= to, `${final} is skipped`);
    await poll(6, 1_000);
    await shop.isIn('following');
    assert.is((await order.read()).life.status, 'paid');
  });
});

test('a payment from before the network was added is found in the blocks before its first', async () => {
  await inPolledIndexer('evm', {}, async ({ shop }) => {
    const other = await startSimulatedNode({ family: 'evm', seed: 'added later' });
    const order = await shop.order('paid elsewhere');
    other.world.mine();
    other.pay(order.address, DUE);
    other.world.mine();
    const { number } = other.world.tip();
    for (let left = 40; left > 0; left--) other.world.mine();
    const added = testNetwork({ name: 'bsc', url: other.httpUrl, confirmations: [{ blocks: 2 }] });
    const indexer = startIndexer(shop.database, added);
    const elsewhere = { ...shop, network: added };
    const cursor = async () => (await statusOf(shop.database, added))?.tipNumber;
    await until('it is read', async () => (await cursor()) === other.world.tip().number);
    assert.equal((await order.read()).payments, []);
    const first = (await shop.database.blocks.tail(added.key, 100))[0]?.number ?? 0;
    assert.ok(first > number);
    const told = async () =>
      (await shop.database.alarms.list(10)).filter(({ code }) => code === 'earlier_blocks_unread');
    const [alarm] = await told();
    assert.is(alarm?.network, added.key);
    assert.match(alarm?.message ?? '', `network reread ${added.key} --from N --to ${first - 1}\``);
    assert.equal((await reread(elsewhere, 0, first - 1)).counts, {
      missing: 1,
      outgoing: 0,
      unknown: 0,
      other_block: 0,
    });
    await until('it is credited', async () => (await order.read()).payments[0]?.state !== 'seen');
    assert.is((await order.read()).payments[0]?.networkKey, added.key);
    // Neither the network that was there before, nor another start of the new one.
    await indexer.stop();
    const again = startIndexer(shop.database, added);
    other.world.mine();
    await until('it goes on', async () => (await cursor()) === other.world.tip().number);
    assert.is((await told()).length, 1);
    await again.stop();
    await other.close();
  });
});

test('Solana: what lies beyond the skipped slots is not passed over because the node lists no block there', async () => {
  await inPolledIndexer('solana', {}, async ({ own, shop, poll, mine }) => {
    const order = await shop.order('lost too');
    mine(5);
    const skipped = own.world.tip().number;
    own.pay(order.address, DUE);
    mine(60);
    own.world.finalize();
    own.faults.set({ rates: { blocks_lost: 1 }, lagBlocks: 5 });
    await poll(4, SECONDS_MS);
    const first = ((await shop.status())?.tipNumber ?? 0) + 1;
    await skip(shop, first, skipped);
    await poll(6, SECONDS_MS);
    await until('the fault is back', async () => (await shop.status())?.state === 'fault');
    assert.is((await shop.status())?.tipNumber, first - 1, 'nothing is read beyond blocks that are not skipped');
    own.faults.set({ rates: { blocks_lost: 0 } });
    await poll(8, SECONDS_MS);
    await shop.holds(tipOf(own));
    assert.is((await order.read()).payments.length, 1);
  });
});

test('Solana: a block that was answered for the next slot is not read as that slot’s', async () => {
  await inPolledIndexer('solana', { network: twoDeep }, async ({ own, shop, poll, mine }) => {
    const before = await shop.status();
    const order = await shop.order('paid');
    own.faults.set({ rates: { sibling_content: 1 } });
    own.pay(order.address, DUE);
    mine(2);
    await poll(3, SECONDS_MS);
    await shop.isIn('fault', 'node_inconsistent');
    assert.is((await shop.status())?.tipHash, before?.tipHash);
    own.faults.heal();
    mine(3);
    await poll(4, SECONDS_MS);
    await shop.holds(tipOf(own));
    assert.is((await order.read()).life.status, 'paid');
  });
});

test('Solana: a block that was read under the next slot’s number is read again under its own', async () => {
  let isWrong = false;
  const through = (node: Node): Node => ({
    ...node,
    // As a client that believes whatever block is answered for a slot.
    async head() {
      const block = await node.head();
      return isWrong ? { ...block, number: block.number + 1 } : block;
    },
    async content(block, thorough) {
      if (!isWrong) return node.content(block, thorough);
      return { ...(await node.content({ ...block, number: block.number - 1 }, thorough)), block };
    },
  });
  await inPolledIndexer('solana', { through, network: twoDeep }, async ({ own, shop, poll, mine }) => {
    const order = await shop.order('paid');
    own.pay(order.address, DUE);
    isWrong = true;
    mine(1);
    const { number } = own.world.tip();
    await poll(2);
    assert.is((await shop.status())?.tipNumber, number + 1);
    isWrong = false;
    mine(3);
    await poll(4, SECONDS_MS);
    await shop.holds(tipOf(own));
    const session = await order.read();
    assert.equal({ status: session.life.status, length: session.payments.length }, { status: 'paid', length: 1 });
    const tail = await shop.database.blocks.tail(shop.network.key, 10);
    assert.ok(tail.some((block) => block.number === number));
  });
});

test.run();
