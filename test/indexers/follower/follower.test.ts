import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { NetworkConfig } from '../../../src/config/network.ts';
import { transient } from '../../../src/core/fault.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { addressKeyOf } from '../../support/address-keys.ts';
import { has } from '../../support/fields.ts';
import { inNodeShop, type NodeShop } from '../../support/indexed-shop.ts';
import { startIndexer, statusOf } from '../../support/running-indexer.ts';
import { until } from '../../support/until.ts';

const pool = { family: 'evm', mode: 'test', source: 'test' } as const;
const DUE = 10_000_000n;
const ADDRESSES = 50;
/** The chain's first 30 blocks are this old; block times never go back. */
const FIRST_AGO_MS = 300_000;

/** A shop and a simulated node with 30 blocks that nobody follows yet. */
type Scene = Omit<NodeShop, 'mine'> &
  Readonly<{
    /** Mines `count` blocks, one after the other, made `agoMs` ago. */
    mine(count: number, agoMs?: number): void;
  }>;

/** Closes everything at the end. */
function scene(change: Partial<NetworkConfig>, play: (scene: Scene) => Promise<void>, headAgoMs = 0): Promise<void> {
  let worldAgoMs = FIRST_AGO_MS;
  const clock = { nowMs: () => systemClock.nowMs() - worldAgoMs };
  return inNodeShop('evm', { node: { clock }, network: change, blocks: 29 }, async (shop) => {
    const mine = (count: number, agoMs = 0) => {
      worldAgoMs = agoMs;
      shop.mine(count);
    };
    mine(1, headAgoMs);
    await play({ ...shop, mine });
  });
}

test('the first step starts as far back as a reorg may reach, and following continues from there', () =>
  scene({}, async (s) => {
    s.start();
    await s.level();
    await s.isIn('following');
    const tail = await s.database.blocks.tail(s.network.key, 100);
    assert.is(tail[0]?.number, 10, 'head 30 less a reorg of at most 20');
    assert.is(tail.length, 21);
    const status = await s.status();
    has(status, { floor: 10, headNumber: 30 });
    assert.ok(status?.nodeConnected);
    // Reaching the head means read up to now, less two block times.
    const behindS = systemClock.nowMs() / 1000 - (status?.readThroughS ?? 0);
    assert.ok(behindS >= 0 && behindS < 30, `read through ${behindS} s ago`);
  }));

test('a young chain is followed from its first block', () =>
  scene({ reorgDepthMax: 1000 }, async (s) => {
    s.start();
    await s.level();
    assert.is((await s.database.blocks.tail(s.network.key, 100))[0]?.number, 0);
  }));

for (const limit of ['batch_limited', 'answers_limited'] as const) {
  test(`with ${limit} batches a network starts, catches up and follows without a fault`, () =>
    scene({ reorgDepthMax: 300 }, async (s) => {
      s.node.faults.set({ rates: { [limit]: 1 } });
      s.mine(200);
      const faults: string[] = [];
      const noted = <T>(answer: Promise<T>) => {
        answer.catch((error: Error) => faults.push(error.message));
        return answer;
      };
      s.start({
        blocksPerIngestMax: 64,
        // No machine is so slow: a fault would be that of a batch.
        requestTimeoutMs: 60_000,
        through: (node) => ({
          ...node,
          identity: () => noted(node.identity()),
          range: (from, to) => noted(node.range(from, to)),
          attest: (block, txs) => noted(node.attest(block, txs)),
        }),
      });
      await s.level();
      const order = await s.order(limit);
      s.node.pay(order.address, DUE);
      s.mine(40);
      await until('the session is paid', async () => (await order.read()).life.status === 'paid');
      await s.isIn('following');
      assert.equal(faults, []);
    }));
}

for (const fault of ['finality_missing', 'finality_stalled'] as const) {
  test(`a policy of finality says that it waits while the node has ${fault}, and credits when finality is back`, () =>
    scene(
      { confirmations: [{ finality: 'finalized', usual: 2 }], blockTimeMs: 60_000, reorgDepthMax: 100 },
      async (s) => {
        s.node.world.finalize(30);
        s.start();
        await s.level();
        await s.isIn('following');
        const order = await s.order(fault);
        s.node.faults.set({ rates: { [fault]: 1 } });
        s.node.pay(order.address, DUE);
        s.mine(5);
        s.node.world.finalize(33);
        await s.isIn('following', 'finality_stalled');
        assert.match((await s.status())?.reason?.message ?? '', /its head is 35. Payments that need this stay seen/);
        assert.is((await order.read()).payments[0]?.state, 'seen');
        s.node.faults.heal();
        await until('the session is paid', async () => (await order.read()).life.status === 'paid');
        await s.isIn('following');
      },
    ));
}

test('a final block above the head is from another chain: nothing counts because of it', () =>
  scene({ confirmations: [{ finality: 'finalized', usual: 64 }], reorgDepthMax: 100 }, async (s) => {
    let isMixed = true;
    let looks = 0;
    s.start({
      // A gateway that asks a node of another network for the final block.
      through: (node) => ({
        ...node,
        async finalized() {
          looks += 1;
          if (!isMixed) return node.finalized();
          return { ...(await node.head()), number: 1_000_000, hash: `0x${'ab'.repeat(32)}` };
        },
      }),
    });
    await s.level();
    const order = await s.order('mixed');
    s.node.pay(order.address, DUE);
    s.mine(3);
    await s.level();
    const before = looks;
    await until('the indexer has polled again', () => looks > before + 2);
    assert.is((await order.read()).payments[0]?.state, 'seen');
    isMixed = false;
    s.node.world.finalize(33);
    await until('the session is paid', async () => (await order.read()).life.status === 'paid');
  }));

test('after a reorg between the poll and the last check, the payment is not credited', () =>
  scene({ confirmations: [{ blocks: 3 }] }, async (s) => {
    let isReorganised = false;
    s.start({
      through: (node) => ({
        ...node,
        async attest(block, txs) {
          if (!isReorganised) s.node.world.reorg({ depth: 5, keep: 'none', blocks: 3 });
          isReorganised = true;
          return node.attest(block, txs);
        },
      }),
    });
    await s.level();
    const order = await s.order('check');
    s.node.pay(order.address, DUE);
    s.mine(3);
    await until('the last check was made', async () => isReorganised);
    await until('the network says why it waits', async () => (await s.status())?.state !== 'following');
    assert.is((await order.read()).life.status, 'pending');
    s.mine(5);
    await s.level();
    assert.is((await order.read()).payments[0]?.state, 'orphaned');
    assert.is((await order.read()).life.status, 'pending');
  }));

test('a check that fails delays its own block only', () =>
  scene({ confirmations: [{ blocks: 3 }] }, async (s) => {
    let isOpen = false;
    s.start({
      through: (node) => ({
        ...node,
        attest: (block, txs) =>
          block.number === 31 && !isOpen ? Promise.reject(transient('node_test', 'not now')) : node.attest(block, txs),
      }),
    });
    await s.level();
    const stuck = await s.order('stuck');
    const free = await s.order('free');
    s.node.pay(stuck.address, DUE);
    s.mine(1);
    s.node.pay(free.address, DUE);
    s.mine(4);
    await until('the other session is paid', async () => (await free.read()).life.status === 'paid');
    assert.is((await stuck.read()).life.status, 'pending');
    await s.isIn('fault', 'node_test');
    isOpen = true;
    await until('the session is paid', async () => (await stuck.read()).life.status === 'paid');
  }));

test('a shorter fork is waited out, and followed when it has grown', () =>
  scene({}, async (s) => {
    s.start();
    await s.level();
    const before = (await s.status())?.tipHash;
    s.node.world.reorg({ depth: 5, keep: 'none', blocks: 2 });
    await s.isIn('behind', 'node_behind');
    assert.is((await s.status())?.tipHash, before);
    s.mine(4);
    await s.level();
    await s.isIn('following');
  }));

test('an answer that hides transfers is never an empty block', () =>
  scene({}, async (s) => {
    s.start();
    await s.level();
    const order = await s.order('hidden');
    s.node.faults.set({ rates: { empty_content: 1 } });
    s.node.pay(order.address, DUE);
    s.mine(1);
    await until('the network is in fault', async () => (await s.status())?.state === 'fault');
    assert.match((await s.status())?.reason?.code ?? '', /^node_content_/);
    assert.is((await s.status())?.tipNumber, 30, 'the block is not accepted');
    s.node.faults.heal();
    await s.level();
    assert.is((await order.read()).payments.length, 1);
  }));

test('read through covers what was read and no more: not the time of a stalled chain, not future blocks', () =>
  scene(
    {},
    async (s) => {
      let isOpen = false;
      s.start({
        blocksPerIngestMax: 4,
        // The node withholds the later blocks for a while.
        through: (node) => ({
          ...node,
          content: (block, isThorough) =>
            isOpen || block.number <= 35
              ? node.content(block, isThorough)
              : Promise.reject(transient('node_test', 'later')),
        }),
      });
      await s.isIn('behind', 'node_stale');
      const tipTimeS = async () => (await s.database.blocks.tail(s.network.key, 1))[0]?.timeS;
      assert.is((await s.status())?.readThroughS, await tipTimeS());
      s.mine(10, 30_000);
      await s.isIn('fault', 'node_test');
      await until('what can be read is read', async () => (await s.status())?.tipNumber === 35);
      assert.is((await s.status())?.readThroughS, await tipTimeS());
      isOpen = true;
      await s.level();
      await until('being at the head of a live chain counts as having read up to now', async () => {
        const { readThroughS = 0 } = (await s.status()) ?? {};
        return readThroughS > ((await tipTimeS()) ?? 0) + 20;
      });
    },
    FIRST_AGO_MS,
  ));

for (const [about, fault, code, expected] of [
  ['another chain', 'wrong_chain', 'chain_id_mismatch', /expected a node of chain 900001, found chain 900002/],
  ['other decimals', 'wrong_decimals', 'decimals_mismatch', /expected USDT at 0x5a.* to have 6 decimals, found 7/],
] as const) {
  test(`a node of ${about} is refused at the start`, () =>
    scene({}, async (s) => {
      s.node.faults.set({ rates: { [fault]: 1 } });
      s.start();
      await s.isIn('halted', code);
      assert.match((await s.status())?.reason?.message ?? '', expected);
      assert.is((await s.status())?.tipHash, null);
    }));
}

test('a silent node is a named fault, and the network recovers by itself', () =>
  scene({}, async (s) => {
    s.start({ requestTimeoutMs: 200, idleMsMax: 600 });
    await s.level();
    const order = await s.order('silent');
    s.node.faults.set({ rates: { half_open: 1 } });
    s.node.pay(order.address, DUE);
    s.mine(5);
    await until('the network is in fault', async () => (await s.status())?.state === 'fault');
    s.node.faults.heal();
    await s.level();
    await s.isIn('following');
    assert.is((await order.read()).payments.length, 1);
  }));

test('an address that is added while blocks are being read is watched before they are saved', () =>
  scene({}, async (s) => {
    let added = 0;
    s.start({
      blocksPerIngestMax: 4,
      // Each time a block is read for the first time, the addresses that it pays are added at that moment.
      through: (node) => ({
        ...node,
        async content(block, isThorough) {
          if (block.number > 30 && added < block.number - 30) {
            const firstIndex = ADDRESSES + added;
            added = block.number - 30;
            const keys = Array.from({ length: added - (firstIndex - ADDRESSES) }, (_, n) =>
              addressKeyOf(firstIndex + n, 20),
            );
            await s.database.addresses.add({ ...pool, firstIndex, keys });
          }
          return node.content(block, isThorough);
        },
      }),
    });
    await s.level();
    for (let n = 0; n < 12; n++) {
      s.node.pay(addressKeyOf(ADDRESSES + n, 20), DUE);
      s.mine(1);
    }
    await s.level();
    const found = (await s.database.alarms.list(100)).filter(({ code }) => code === 'payment_without_session');
    assert.is(found.length, 12, 'each payment was found, although its address was added after the pool was read');
  }));

test('a follower whose position was moved by another goes on from there', () =>
  scene({}, async (s) => {
    const elsewhere = s.temp.connect();
    s.start();
    const other = startIndexer(elsewhere, s.network);
    await s.level();
    const order = await s.order('twice');
    s.node.pay(order.address, DUE);
    for (let n = 0; n < 20; n++) {
      s.mine(1);
      await s.level();
    }
    await other.stop();
    elsewhere.close();
    assert.is((await order.read()).life.status, 'paid');
  }));

test('a locked database is a named fault, and nothing is lost', () =>
  scene({}, async (s) => {
    s.start();
    await s.level();
    const order = await s.order('locked');
    // Two connections of this test: the indexer's gives up early, and the other one holds the lock.
    const hasty = s.temp.connect(20);
    const network = { ...s.network, name: 'bsc', key: 'test:bsc' } as const;
    const indexer = startIndexer(hasty, network);
    await until('it follows', async () => (await statusOf(s.database, network))?.tipNumber === 30);
    const holder = new Sqlite(s.temp.file);
    holder.exec('BEGIN IMMEDIATE');
    s.node.pay(order.address, DUE);
    s.mine(3);
    await systemClock.sleep(500);
    holder.exec('ROLLBACK');
    holder.close();
    await until('it catches up', async () => (await statusOf(s.database, network))?.tipNumber === 33);
    const { payments } = await order.read();
    assert.is(payments.filter(({ networkKey }) => networkKey === network.key).length, 1);
    await indexer.stop();
    hasty.close();
  }));

test.run();
