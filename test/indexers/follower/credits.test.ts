/** When payments are credited, by amount: a real database, a real indexer and the simulated node. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { CreditPolicy } from '../../../src/core/credit-policy.ts';
import { minorToPar } from '../../../src/core/money.ts';
import type { Session } from '../../../src/database/session.ts';
import { inNodeShop, type NodeShop, type Order } from '../../support/indexed-shop.ts';
import { accountKey, usdcKey, usdtKey } from '../../support/simulated-node.ts';
import { until } from '../../support/until.ts';

type Scene = Readonly<{
  node: NodeShop['node'];
  shop: NodeShop;
  pay: NodeShop['pay'];
  mine: NodeShop['mine'];
  /** Waits until the newest block was read, and everything in older ones was checked. */
  isChecked(): Promise<void>;
}>;

/** Opens a shop with orders over 10.00, and a node whose blocks are final 30 below the head. */
const scene = (confirmations: CreditPolicy, play: (scene: Scene) => Promise<void>, credit = ''): Promise<void> => {
  const network = { confirmations, reorgDepthMax: 60 };
  return inNodeShop(
    'evm',
    { node: { finalityDistance: 30 }, network, settings: { credit }, blocks: 40 },
    async (shop) => {
      const { node, pay, mine, level } = shop;
      shop.start();
      await shop.isIn('following');
      const isChecked = async () => {
        await level();
        // The next block is read after the payments below it were checked.
        mine();
        await level();
      };
      await play({ node, shop, pay, mine, isChecked });
    },
  );
};

const states = ({ payments }: Session): string[] => payments.map(({ state }) => state);
const isPaid = (order: Order) => until('the order is paid', async () => (await order.read()).life.status === 'paid');

const fifty: CreditPolicy = [{ blocks: 3 }, { fromPar: minorToPar(5000n), finality: 'finalized', usual: 31 }];

test('a small payment counts by depth, a large one in its block waits until it is final', () =>
  scene(fifty, async ({ node, shop, pay, mine, isChecked }) => {
    const [small, large] = [await shop.order('small'), await shop.order('large')];
    pay(small, 4999);
    pay(large, 5000);
    mine(3);
    await isPaid(small);
    mine(9);
    await isChecked();
    assert.equal(states(await large.read()), ['seen']);
    node.world.finalize();
    mine();
    await isPaid(large);
    assert.is((await shop.database.ledger.verify()).problems.length, 0);
  }));

test('a transaction waits for the recipient that needs most', () =>
  scene(fifty, async ({ node, shop, mine, isChecked }) => {
    const orders = [await shop.order('batch small'), await shop.order('batch large')];
    const outputs = orders.map(({ address: to }, at) => ({
      token: usdtKey,
      to,
      units: BigInt(1000 + at * 8000) * 10_000n,
    }));
    node.world.pay({ kind: 'contract', from: accountKey('payer'), outputs });
    mine(9);
    await isChecked();
    for (const order of orders) assert.equal(states(await order.read()), ['seen']);
    node.world.finalize();
    mine();
    for (const order of orders) await isPaid(order);
  }));

test('a payment in parts waits as one payment: over blocks, over tokens, and on top of what counts already', () =>
  scene(fifty, async ({ node, shop, pay, mine, isChecked }) => {
    const [parts, tokens, later] = [await shop.order('parts'), await shop.order('tokens'), await shop.order('later')];
    pay(parts, 2500);
    pay(later, 900);
    mine();
    pay(parts, 2500);
    pay(tokens, 2500);
    const usdc = [{ token: usdcKey, to: tokens.address, units: 25n * 10n ** 18n }];
    node.world.pay({ kind: 'direct', from: accountKey('payer'), outputs: usdc });
    mine(3);
    await isChecked();
    assert.equal(states(await parts.read()), ['seen', 'seen']);
    assert.equal(states(await tokens.read()), ['seen', 'seen']);
    assert.equal(states(await later.read()), ['confirmed']);
    pay(later, 4100);
    mine(5);
    await isChecked();
    assert.equal(states(await later.read()), ['confirmed', 'seen'], 'together they reach the tier');
    node.world.finalize();
    mine();
    for (const order of [parts, tokens, later]) await isPaid(order);
  }));

test('a payment waits for safe blocks where its amount asks for them, and the node’s safe block is asked for', () =>
  scene([{ finality: 'sequencer' }, { fromPar: minorToPar(900n), finality: 'safe', usual: 31 }], async (s) => {
    const [small, order] = [await s.shop.order('sequencer'), await s.shop.order('safe')];
    s.pay(small, 899);
    s.pay(order, 1000);
    s.mine();
    await until('the small one counts', async () => states(await small.read())[0] === 'confirmed');
    s.mine(5);
    await s.isChecked();
    assert.equal(states(await order.read()), ['seen']);
    s.node.world.finalize();
    s.mine();
    await isPaid(order);
  }));

test('a store may be stricter than its network', () =>
  scene(
    fifty,
    async ({ node, shop, pay, mine, isChecked }) => {
      const [strict, small] = [await shop.order('strict'), await shop.order('below')];
      pay(strict, 900);
      pay(small, 899);
      mine(3);
      await until('the small payment counts', async () => states(await small.read())[0] === 'confirmed');
      mine(9);
      await isChecked();
      assert.equal(states(await strict.read()), ['seen']);
      node.world.finalize();
      mine();
      await until('it counts', async () => states(await strict.read())[0] !== 'seen');
    },
    'ethereum=finalized@9.00,bsc=finalized,ethereum=2',
  ));

test('with no finality at all, small payments count, and splitting a large one over any number of blocks gains nothing', () =>
  scene(fifty, async ({ node, shop, pay, mine, isChecked }) => {
    node.faults.set({ rates: { finality_missing: 1 } });
    const order = await shop.order('patient');
    pay(order, 4000);
    mine(3);
    await isPaid(order);
    // Beyond any reorg that is followed.
    mine(70);
    pay(order, 4000);
    mine(9);
    await isChecked();
    assert.equal(states(await order.read()), ['final', 'seen']);
  }));

test('Solana: an amount up to the limit counts with its own block, one cent more once it is final', () => {
  const confirmations: CreditPolicy = [
    { finality: 'confirmed' },
    { fromPar: minorToPar(1001n), finality: 'finalized', usual: 13 },
  ];
  const network = { confirmations, reorgDepthMax: 60 };
  return inNodeShop(
    'solana',
    { node: { finalityDistance: 12 }, network, blocks: 3 },
    async ({ pay, mine, ...shop }) => {
      shop.start();
      await shop.isIn('following');
      const [small, large] = [await shop.order('small'), await shop.order('large')];
      pay(large, 1001);
      mine();
      pay(small, 1000);
      mine();
      await isPaid(small);
      const paid = await small.read();
      assert.equal(states(paid), ['confirmed'], 'credited, not final');
      assert.is(paid.payments[0]?.confirmations, 1);
      assert.is(paid.options[0]?.confirmationsRequired, 1, 'as the payer was shown');
      assert.equal(states(await large.read()), ['seen']);
      mine(14);
      await isPaid(large);
      await until('it is final', async () => (await small.read()).standing.firm === 'final');
    },
  );
});

test('a payment that the node contradicts at the last check is not credited until the node shows it again', () => {
  const network = { confirmations: [{ blocks: 3 }] };
  return inNodeShop('solana', { network }, async (shop) => {
    let isContradicting = true;
    shop.start({
      through: (real) => ({
        ...real,
        attest: async (block, txs) => (isContradicting && txs.length > 0 ? 'gone' : real.attest(block, txs)),
      }),
    });
    await shop.isIn('following');
    const order = await shop.order('contradicted');
    shop.pay(order, 1000);
    shop.mine(6);
    await shop.isIn('fault', 'confirmation_contradicted');
    assert.equal(states(await order.read()), ['seen']);
    isContradicting = false;
    await isPaid(order);
  });
});

test.run();
