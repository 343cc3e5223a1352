/**
 * Large payments that a second node must confirm: a real database and indexer, a simulated node, and one that lies.
 * `test/app/watches` has the alarms.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createAddressTable } from '../../../indexers/follower/address-table.ts';
import type { DueBlock } from '../../../indexers/follower/credits.ts';
import { createMatcher, matchContent } from '../../../indexers/follower/matcher.ts';
import { followerNodeOptions } from '../../../indexers/follower/node-options.ts';
import { createSecondNode } from '../../../indexers/follower/second-node.ts';
import { chains } from '../../../src/chains/index.ts';
import type { CreditPolicy } from '../../../src/core/credit-policy.ts';
import { minorToPar } from '../../../src/core/money.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { closing } from '../../support/closing.ts';
import { inNodeShop, type NodeShop, type Order } from '../../support/indexed-shop.ts';
import { type Liar, type Lie, startLiar } from '../../support/liar.ts';
import { accountKey, startSimulatedNode } from '../../support/simulated-node.ts';
import { testNetwork } from '../../support/test-network.ts';
import { until } from '../../support/until.ts';

type Scene = Readonly<{
  shop: NodeShop;
  node: NodeShop['node'];
  liar: Liar;
  pay: NodeShop['pay'];
  mine: NodeShop['mine'];
  /** Lets time pass for the indexer. */
  advance(ms: number): void;
}>;

/** A shop where from 5.00 a second node must agree. One of the nodes is behind a liar. */
async function scene(lying: 'first' | 'second', play: (scene: Scene) => Promise<void>): Promise<void> {
  let liar: Liar | undefined;
  const placeOf = async (node: NodeShop['node']) => {
    liar = closing(await startLiar(node));
    const [url, witnessUrl] = lying === 'first' ? [liar.wsUrl, node.httpUrl] : [node.wsUrl, liar.httpUrl];
    return { url, witnessUrl };
  };
  const confirmations: CreditPolicy = [{ blocks: 3 }, { fromPar: minorToPar(500n), secondNode: true }];
  await inNodeShop('evm', { placeOf, network: { confirmations }, blocks: 5 }, async (shop) => {
    assert.ok(liar);
    const { node, pay, mine } = shop;
    let aheadMs = 0;
    const advance = (ms: number): void => {
      aheadMs += ms;
    };
    const nowMs = () => systemClock.nowMs() + aheadMs;
    shop.start({ clock: { ...systemClock, nowMs } });
    await shop.isIn('following');
    await play({ shop, node, liar, pay, mine, advance });
  });
}

const isPaid = (order: Order) => until('the order is paid', async () => (await order.read()).life.status === 'paid');
const states = async (order: Order): Promise<string[]> => (await order.read()).payments.map(({ state }) => state);

/** Pays a large order and a small one in the same block. Only the small one counts, for a reason. */
async function isHeld({ shop, node, pay, mine, advance }: Scene, code: string, why = /witness_url/): Promise<Order> {
  const [large, small] = [await shop.order('large'), await shop.order('small')];
  pay(large, 1000);
  pay(small, 499);
  mine(3);
  await until('the small payment counts', async () => (await states(small))[0] === 'confirmed');
  await shop.isIn('following', code);
  assert.equal(await states(large), ['seen']);
  assert.match((await shop.status())?.reason?.message ?? '', why);
  advance(61_000);
  mine();
  await shop.holds(`0x${node.world.tip().hash}`);
  assert.equal(await states(large), ['seen']);
  return large;
}

test('a large payment counts when the second node has the block and the transfer', () =>
  scene('second', async ({ shop, pay, mine }) => {
    const order = await shop.order('agreed');
    pay(order, 1000);
    mine(3);
    await isPaid(order);
    assert.equal(await shop.database.alarms.list(9), []);
  }));

const otherHash = `0x${'ab'.repeat(32)}`;
for (const [about, answer] of [
  [
    'has another block at that height',
    (method, _, block) => (method === 'eth_getBlockByNumber' && block ? { ...block, hash: otherHash } : undefined),
  ],
  [
    'does not know the transaction',
    (method) => {
      // Neither its index nor the block's receipts have it.
      if (method === 'eth_getTransactionReceipt') return null;
      return method === 'eth_getBlockReceipts' ? [] : undefined;
    },
  ],
] satisfies [string, Lie][]) {
  test(`a payment stays seen while the second node ${about}; smaller ones go on`, () =>
    scene('second', async (s) => {
      s.liar.tell(answer);
      const order = await isHeld(s, 'second_node_disagrees');
      s.liar.heal();
      s.advance(6_000);
      s.mine();
      await isPaid(order);
      await until(
        'nothing is said any more',
        async () => (await s.shop.status())?.reason?.code !== 'second_node_disagrees',
      );
    }));
}

test('an amount that the first node made up stays seen', () =>
  scene('first', async (s) => {
    const tenDollars = (10_000_000).toString(16).padStart(64, '0');
    s.liar.tell((method, _, logs) =>
      method === 'eth_getLogs' ? logs?.map((log: object) => ({ ...log, data: `0x${tenDollars}` })) : undefined,
    );
    const order = await s.shop.order('made up');
    s.pay(order, 100);
    s.mine(4);
    await s.shop.isIn('following', 'second_node_disagrees');
    assert.match((await s.shop.status())?.reason?.message ?? '', /does not show the transfer of transaction 0x/);
    assert.equal(await states(order), ['seen']);
  }));

test('a payment stays seen while the second node does not answer', () =>
  scene('second', async (s) => {
    s.liar.fail();
    const order = await isHeld(s, 'second_node_unavailable');
    s.liar.heal();
    s.advance(6_000);
    s.mine();
    await isPaid(order);
  }));

test('a payment stays seen while the second node is on another chain, and the network is followed', () =>
  scene('second', async (s) => {
    s.liar.tell((method) => (method === 'eth_chainId' ? '0x1' : undefined));
    await isHeld(s, 'second_node_unavailable', /expected a node of chain 900001, found chain 1/);
  }));

test('a second node that answers is asked about all that is due at once; one that is slow, for some seconds', async () => {
  const node = await startSimulatedNode({ family: 'evm', seed: 'many' });
  const network = testNetwork({ name: 'ethereum', url: node.httpUrl });
  const chain = chains.evm;
  const table = createAddressTable(chain.address.keyBytes);
  const payee = accountKey('payee');
  table.add(payee);
  const matcher = await createMatcher({ chain, tokens: network.tokens, table });
  const { openNode } = await chain.node();
  let nowMs = 0;
  let askMs = 0;
  const open = () => {
    const second = openNode(followerNodeOptions(network));
    return {
      ...second,
      attest: (...about: Parameters<typeof second.attest>) => {
        nowMs += askMs;
        return second.attest(...about);
      },
    };
  };
  const secondNode = createSecondNode(network, open, matcher, { nowMs: () => nowMs });
  const first = openNode(followerNodeOptions(network));
  try {
    for (let left = 60; left > 0; left--) {
      node.pay(payee, 10_000_000n);
      node.world.mine();
    }
    const due: DueBlock[] = [];
    for (const block of await first.range(1, 60)) {
      const found = await matchContent(first, matcher, block);
      due.push({ hash: block.hash, number: block.number, txs: found.map(({ tx }) => tx), secondNode: found });
    }
    assert.is(due.filter(({ txs }) => txs.length === 1).length, 60);
    assert.is((await secondNode.agreeing(due)).length, 60);
    askMs = 1_000;
    assert.is((await secondNode.agreeing(due)).length, 4);
  } finally {
    await Promise.all([first.close(), secondNode.close(), matcher.close()]);
    await node.close();
  }
});

test.run();
