/**
 * The node cannot read the next block, for a while or for good: what was read before still counts. `test/app/watches`
 * has the alarm.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Family, Node } from '../../../src/chains/chain.ts';
import { type Fault, transient } from '../../../src/core/fault.ts';
import { inPolledIndexer, type PolledIndexer, type PolledOptions, tipOf } from '../../support/polled-indexer.ts';

const DUE = 10_000_000n;

type Scene = PolledIndexer & Readonly<{ lose(fault: Fault | null): void }>;

/** From `lose` on, no block above the tip of that moment can be read: neither a range of several, nor its content. */
async function scene(
  family: Family,
  play: (scene: Scene) => Promise<void>,
  { what = 'range', ...options }: PolledOptions & { what?: 'range' | 'content' } = {},
): Promise<void> {
  let lost: { above: number; fault: Fault } | null = null;
  const through = (node: Node): Node => ({
    ...node,
    async range(from, to) {
      if (what === 'range' && lost && to > lost.above) throw lost.fault;
      return node.range(from, to);
    },
    async content(block, thorough) {
      if (what === 'content' && lost && block.number > lost.above) throw lost.fault;
      return node.content(block, thorough);
    },
  });
  await inPolledIndexer(family, { ...options, through }, (polled) => {
    const lose = (fault: Fault | null) => {
      lost = fault && { above: polled.own.world.tip().number, fault };
    };
    return play({ ...polled, lose });
  });
}

const missing = transient('node_block_missing', 'the node has lost a block');
const final = { confirmations: [{ finality: 'finalized', usual: 64 }], reorgDepthMax: 100 } as const;

for (const family of ['evm', 'tron', 'solana'] as const) {
  for (const what of ['range', 'content'] as const) {
    test(`${family}: a payment that was read counts once it is final, although the next ${what} cannot be read`, () =>
      scene(
        family,
        async ({ own, shop, poll, mine, lose }) => {
          const order = await shop.order('held');
          const later = await shop.order('later');
          own.pay(order.address, DUE);
          own.world.mine();
          await poll();
          const held = tipOf(own);
          lose(missing);
          own.pay(later.address, DUE);
          mine(3);
          await poll(2);
          await shop.isIn('fault', 'node_block_missing');
          assert.is((await order.read()).life.status, 'pending', 'not final yet');
          own.world.finalize(own.world.tip().number - 3);
          await poll(5, 10_000);
          assert.is((await order.read()).life.status, 'paid');
          assert.equal((await later.read()).payments, []);
          assert.is((await shop.status())?.reason?.code, 'node_block_missing', 'the fault is still reported');
          assert.is((await shop.status())?.tipHash, held);
          lose(null);
          own.world.finalize();
          await poll(5, 10_000);
          assert.is((await later.read()).life.status, 'paid');
        },
        { what, network: final },
      ));
  }
}

test('what another network’s node calls final confirms nothing while the next blocks cannot be read', () =>
  scene(
    'solana',
    async ({ own, shop, poll, mine, lose }) => {
      const order = await shop.order('held');
      own.pay(order.address, DUE);
      own.world.mine();
      await poll();
      lose(missing);
      mine(3);
      own.world.finalize(own.world.tip().number - 3);
      own.faults.set({ rates: { wrong_chain: 1 } });
      await poll(3, 10_000);
      await shop.isIn('halted', 'chain_id_mismatch');
      assert.is((await order.read()).life.status, 'pending');
    },
    { network: final },
  ));

test.run();
