/** Small amounts on Solana count as soon as their block is confirmed: a real database and the simulated node. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { issueEndpoint } from '../../../src/app/new-credentials.ts';
import type { CreditPolicy } from '../../../src/core/credit-policy.ts';
import { minorToPar } from '../../../src/core/money.ts';
import type { Session } from '../../../src/database/session.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { inNodeShop, type NodeShop, type Order } from '../../support/indexed-shop.ts';
import type { IndexerChange } from '../../support/running-indexer.ts';
import type { SimulatedNode } from '../../support/simulated-node.ts';
import { until } from '../../support/until.ts';

const FINALITY = 12;

type Scene = Readonly<{
  node: NodeShop['node'];
  shop: NodeShop;
  pay: NodeShop['pay'];
  mine: NodeShop['mine'];
  /** Waits until everything on the chain has passed its last check: a cent that was paid last has been credited. */
  isChecked(): Promise<void>;
}>;

/** Opens a shop with orders above 10.00, where amounts up to `limitCents` need not be final. */
function scene(
  limitCents: number,
  play: (scene: Scene) => Promise<void>,
  change?: (node: SimulatedNode) => IndexerChange,
): Promise<void> {
  const confirmations: CreditPolicy = [
    { finality: 'confirmed' },
    { fromPar: minorToPar(BigInt(limitCents)) + 1n, finality: 'finalized', usual: FINALITY + 1 },
  ];
  const network = { confirmations, reorgDepthMax: 60 };
  return inNodeShop('solana', { node: { finalityDistance: FINALITY }, network, blocks: 3 }, async (shop) => {
    const { node, pay, mine } = shop;
    let cents = 0;
    shop.start(change?.(node));
    await shop.isIn('following');
    const isChecked = async () => {
      cents += 1;
      const last = await shop.order(`cent ${cents}`);
      pay(last, 1);
      mine();
      await until('the cent is credited', async () => (await last.read()).payments[0]?.state === 'confirmed');
    };
    await play({ node, shop, pay, mine, isChecked });
  });
}

const states = ({ payments }: Session): string[] => payments.map(({ state }) => state);
const isPaid = (order: Order) => until('the order is paid', async () => (await order.read()).life.status === 'paid');

test('an amount up to the limit counts with its own block, and becomes final later', () =>
  scene(1000, async ({ shop, pay, mine }) => {
    const order = await shop.order('small');
    pay(order, 1000);
    mine();
    await isPaid(order);
    const paid = await order.read();
    assert.equal(states(paid), ['confirmed'], 'credited, not final');
    assert.is(paid.payments[0]?.confirmations, 1);
    assert.is(paid.options[0]?.confirmationsRequired, 1, 'as the payer was shown');
    mine(FINALITY + 2);
    await until('it is final', async () => (await order.read()).standing.firm === 'final');
  }));

test('one cent more waits until it is final, and so does a larger order', () =>
  scene(1000, async ({ shop, pay, mine, isChecked }) => {
    const order = await shop.order('large');
    pay(order, 1001);
    mine(2);
    await isChecked();
    assert.equal(states(await order.read()), ['seen']);
    mine(FINALITY + 2);
    await isPaid(order);
  }));

test('a payer of an order above the limit sees the usual depth', () =>
  scene(999, async ({ shop }) => {
    const { options } = await (await shop.order('large')).read();
    assert.is(options[0]?.confirmationsRequired, FINALITY + 1);
  }));

test('a payment in parts waits as one payment: in one block, and in tokens of different decimals', () =>
  scene(600, async ({ shop, pay, mine, isChecked }) => {
    const order = await shop.order('parts');
    const other = await shop.order('two tokens');
    pay(order, 500);
    pay(order, 500);
    mine();
    pay(other, 500);
    pay(other, 500, 1);
    mine();
    await isChecked();
    assert.equal(states(await order.read()), ['seen', 'seen']);
    assert.equal(states(await other.read()), ['seen', 'seen']);
    mine(FINALITY + 2);
    await isPaid(order);
    await isPaid(other);
  }));

test('a part in a later block waits until everything credited before it is final', () =>
  scene(600, async ({ node, shop, pay, mine, isChecked }) => {
    const order = await shop.order('one by one');
    pay(order, 500);
    mine();
    const first = node.world.tip().number;
    await until('the first part counts', async () => states(await order.read())[0] === 'confirmed');
    mine(3);
    pay(order, 500);
    mine();
    await isChecked();
    assert.equal(states(await order.read()), ['confirmed', 'seen']);
    assert.is((await order.read()).life.status, 'pending');
    while (node.world.finalized().number < first) mine();
    await isPaid(order);
    assert.equal(states(await order.read()), ['final', 'confirmed'], 'the rest is small by itself');
  }));

test('a block that the node no longer confirms at the last check is not credited', () => {
  let isReorganised = false;
  return scene(
    1000,
    async ({ shop, pay, mine }) => {
      const order = await shop.order('check');
      pay(order, 1000);
      mine();
      await until('the payment is orphaned', async () => states(await order.read())[0] === 'orphaned');
      assert.ok(isReorganised);
      assert.is((await order.read()).life.status, 'pending');
    },
    (node) => ({
      through: (real) => ({
        ...real,
        async attest(block, txs) {
          if (!isReorganised) node.world.reorg({ depth: 1, keep: 'none', blocks: 2 });
          isReorganised = true;
          return real.attest(block, txs);
        },
      }),
    }),
  );
});

test('a confirmed block that is reorganised away raises an alarm, like any reorg after a credit', () =>
  scene(1000, async ({ node, shop, pay, mine }) => {
    const { database } = shop;
    const [merchant] = await database.stores.list();
    const hook = 'https://shop.example/hook';
    const extended = ['payment.reversed'] as const;
    await database.endpoints.add(issueEndpoint(merchant?.id ?? '', 'test', hook, extended, systemClock.nowMs()));
    const lost = await shop.order('lost');
    const moved = await shop.order('moved');
    const events = async (order: Order) => {
      const { id } = await order.read();
      return (await database.deliveries.list({ sessionId: id, limit: 10 })).map(({ eventType }) => eventType).reverse();
    };
    pay(lost, 1000);
    mine();
    await isPaid(lost);
    node.world.reorg({ depth: 1, keep: 'none', blocks: 2 });
    await until('the money is gone', async () => states(await lost.read())[0] === 'orphaned');
    assert.is((await lost.read()).life.status, 'paid', 'never changed silently');
    assert.equal(await events(lost), ['payment.completed', 'payment.reversed']);
    const [alarm] = await database.alarms.list(1);
    assert.equal([alarm?.code, alarm?.sessionId], ['payment_reversed', (await lost.read()).id]);

    pay(moved, 1000);
    mine();
    await isPaid(moved);
    node.world.reorg({ depth: 1, keep: 'all', blocks: 2 });
    await until('the money is back', async () => {
      const found = states(await moved.read());
      return found.length === 2 && found.includes('orphaned') && found.includes('confirmed');
    });
    const { standing } = await moved.read();
    assert.equal([standing.funded, standing.confirmedPar], ['full', minorToPar(1000n)], 'credited once');
    const told = await events(moved);
    assert.is(told.filter((type) => type === 'payment.completed').length, 1);
  }));

test.run();
