/**
 * Blocks that one node cannot serve: asked for in another way, then from the node at `fallback_url`, until the session
 * is paid. In front of the indexer's own node sits a liar that answers some requests as a node that has lost something.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { NetworkConfig } from '../../../src/config/network.ts';
import { closing } from '../../support/closing.ts';
import { countEqual, refundIntent } from '../../support/intents.ts';
import { Failure, type Liar, type Lie, startLiar } from '../../support/liar.ts';
import { inPolledIndexer, type PolledIndexer, type PolledOptions, tipOf } from '../../support/polled-indexer.ts';
import { accountKeyOf, type SimulatedNode, simulatedChains, startSimulatedNode } from '../../support/simulated-node.ts';

const DUE = 10_000_000n;
const confirmations = [{ finality: 'finalized' }] as const satisfies NetworkConfig['confirmations'];

type Scene = PolledIndexer & Readonly<{ liar: Liar }>;
type Fallback = 'own' | 'none' | ((own: SimulatedNode) => string);

async function scene(
  family: 'evm' | 'tron' | 'solana',
  fallback: Fallback,
  play: (scene: Scene) => Promise<void>,
): Promise<void> {
  let liar: Liar | undefined;
  const options: PolledOptions = {
    network: { confirmations, reorgDepthMax: 100 },
    async placeOf(own) {
      liar = closing(await startLiar(own));
      const url = liar.httpUrl;
      if (fallback === 'none') return { url };
      return { url, fallbackUrl: fallback === 'own' ? own.httpUrl : fallback(own) };
    },
  };
  await inPolledIndexer(family, options, (polled) => {
    assert.ok(liar);
    return play({ ...polled, liar });
  });
}

const failing =
  (error: Failure, methods: readonly string[]): Lie =>
  (method) =>
    methods.includes(method) ? error : undefined;

/** Answers of geth 1.16: with a damaged receipt, and where the history was pruned. */
const damaged = new Failure(-32000, 'failed to get logs for block #31: Invalid receipt array RLP');
const pruned = new Failure(4444, 'pruned history unavailable');
const gone = ['eth_getLogs', 'eth_getBlockReceipts', 'eth_getTransactionReceipt'];

/** An order is paid in the next block, and three more come; then everything is final. */
async function payAndPoll({ shop, own, poll, mine }: Scene) {
  const { network, database } = shop;
  // The payer's wallet is watched as one of ours, too.
  await database.wallets.recordOwn(network.key, { refund: accountKeyOf(own.family, 'payer') });
  const order = await shop.order('held');
  own.pay(order.address, DUE);
  mine(4);
  own.world.finalize();
  await poll(8, 5_000);
  const found = (await order.read()).payments.length;
  const refund = refundIntent({ network: network.key, to: order.address, units: DUE });
  assert.is(await countEqual(database, refund), found, 'what is read is searched in both directions');
  return order;
}

test('evm: a block whose logs can never be read is read by its receipts', () =>
  scene('evm', 'none', async (s) => {
    s.liar.tell(failing(damaged, ['eth_getLogs']));
    const order = await payAndPoll(s);
    assert.is((await s.shop.status())?.tipHash, tipOf(s.own));
    assert.is((await order.read()).life.status, 'paid');
  }));

test('evm: one failure of the logs is no reason to ask for all receipts', () =>
  scene('evm', 'none', async (s) => {
    const asked: string[] = [];
    let failures = 2;
    s.liar.tell((method) => {
      asked.push(method);
      return method === 'eth_getLogs' && failures-- > 0 ? damaged : undefined;
    });
    s.mine(1);
    await s.poll(8, 5_000);
    assert.is((await s.shop.status())?.tipHash, tipOf(s.own));
    assert.not.ok(asked.includes('eth_getBlockReceipts'));
  }));

test('evm: what the node has pruned comes from the fallback, and the session is paid', () =>
  scene('evm', 'own', async (s) => {
    s.liar.tell(failing(pruned, gone));
    const order = await payAndPoll(s);
    assert.is((await s.shop.status())?.tipHash, tipOf(s.own));
    assert.is((await order.read()).life.status, 'paid');
    s.mine(1);
    await s.poll();
    await s.shop.isIn('following', 'fallback_used');
    assert.match((await s.shop.status())?.reason?.message ?? '', /came from fallback_url, because .*pruned/);
    s.liar.heal();
    s.mine(1);
    await s.poll(2, 400_000);
    s.mine(1);
    await s.poll();
    await s.shop.isIn('following');
  }));

test('evm: without a fallback, what the node has pruned stays a fault', () =>
  scene('evm', 'none', async (s) => {
    s.liar.tell(failing(pruned, gone));
    const order = await payAndPoll(s);
    await s.shop.isIn('fault', 'node_history_pruned');
    assert.is((await order.read()).life.status, 'pending');
  }));

test('evm: a fallback of another chain serves nothing, and halts nothing', async () => {
  const stranger = closing(await startSimulatedNode({ ...simulatedChains.evm, chainId: '900002', seed: 'stranger' }));
  await scene(
    'evm',
    () => stranger.httpUrl,
    async (s) => {
      s.liar.tell(failing(pruned, gone));
      const order = await payAndPoll(s);
      await s.shop.isIn('fault', 'node_history_pruned');
      const { message = '' } = (await s.shop.status())?.reason ?? {};
      assert.match(
        message,
        /fallback_url did not serve it either: .*expected a node of chain 900001, found chain 900002/,
      );
      assert.equal((await order.read()).payments, []);
    },
  );
});

test('tron: what a lite node does not keep comes from the fallback, and the session is paid', () =>
  scene('tron', 'own', async (s) => {
    const closed = 'this API is closed because this node is a lite fullnode';
    s.liar.lies.text = (text, [path = '']) => (/gettransactioninfoby/.test(path) ? closed : text);
    const order = await payAndPoll(s);
    assert.is((await s.shop.status())?.tipHash, tipOf(s.own));
    assert.is((await order.read()).life.status, 'paid');
  }));

/** As an Agave that was restarted from a snapshot: no block of these slots, in lists either. */
const withoutSlots =
  (from: number, to: number, next: number): Lie =>
  (method, params, result) => {
    const isLost = (slot: unknown) => Number(slot) >= from && Number(slot) <= to;
    if (method === 'getBlock' && isLost(params[0])) {
      return new Failure(-32007, `Slot ${params[0]} was skipped, or missing due to ledger jump to recent snapshot`);
    }
    if (method.startsWith('getBlocks') && Array.isArray(result)) {
      const kept = result.filter((slot) => !isLost(slot));
      return method === 'getBlocksWithLimit' && kept.length === 0 ? [next] : kept;
    }
    return undefined;
  };

for (const blocks of [4, 80]) {
  test(`solana: a hole of ${blocks} blocks in the node's ledger is filled from the fallback, and the session is paid`, () =>
    scene('solana', 'own', async (s) => {
      const order = await s.shop.order('held');
      const tip = s.own.world.tip().number;
      s.own.pay(order.address, DUE);
      s.mine(blocks);
      const end = s.own.world.tip().number;
      s.mine(1);
      s.liar.tell(withoutSlots(tip + 1, end, s.own.world.tip().number));
      s.mine(2);
      s.own.world.finalize();
      await s.poll(12, 5_000);
      assert.is((await s.shop.status())?.tipHash, tipOf(s.own));
      assert.is((await order.read()).life.status, 'paid');
    }));
}

test('solana: while the node calls nothing beyond the hole final, the fallback is not followed', () =>
  scene('solana', 'own', async (s) => {
    const tip = s.own.world.tip().number;
    s.mine(4);
    const end = s.own.world.tip().number;
    s.mine(1);
    s.liar.tell(withoutSlots(tip + 1, end, s.own.world.tip().number));
    s.mine(2);
    await s.poll(5, 5_000);
    await s.shop.isIn('fault', 'node_block_missing');
    s.own.world.finalize();
    await s.poll(5, 5_000);
    assert.is((await s.shop.status())?.tipHash, tipOf(s.own));
  }));

test.run();
