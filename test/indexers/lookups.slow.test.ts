/** Payers' lookups are answered by each network's indexer, and credit nothing. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { invariant, transient } from '../../src/core/fault.ts';
import type { LookupResult } from '../../src/core/lookup.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { type IndexedShop, inNodeShop, type NodeShop } from '../support/indexed-shop.ts';
import { accountKeyOf } from '../support/simulated-node.ts';
import { until } from '../support/until.ts';

const families = ['evm', 'tron', 'solana'] as const;
type Place = Readonly<{
  shop: NodeShop;
  node: NodeShop['node'];
  ask(sessionId: string, tx: string): Promise<void>;
}>;

const inShop = (family: (typeof families)[number], play: (place: Place) => Promise<void>): Promise<void> =>
  inNodeShop(family, { network: { name: 'one' }, blocks: 5 }, (shop) =>
    play({
      shop,
      node: shop.node,
      async ask(sessionId, text) {
        const tx = chains[family].transactionId(text);
        invariant(tx !== null, `${text} is a transaction's id`);
        const asks = [{ network: shop.network.key, family, tx }];
        await shop.database.lookups.request({ sessionId, asks, nowMs: systemClock.nowMs() });
      },
    }),
  );

const isTold = ({ database }: IndexedShop, sessionId: string, tx: string, finding: LookupResult) =>
  until(`the payer sees ${finding}`, async () =>
    (await database.lookups.list(sessionId)).some((one) => one.tx === tx && one.finding === finding),
  );

for (const family of families) {
  test(`${family}: each lookup is answered, and the answer follows the chain`, () =>
    inShop(family, async ({ shop, node, ask }) => {
      shop.start();
      await shop.isIn('following');
      const order = await shop.order('mine');
      const other = await shop.order('other');
      const { id } = await order.read();
      const missing = node.pay(order.address, 5n);
      node.world.mine();
      node.world.reorg({ depth: 1, keep: 'none', blocks: 2 });
      await ask(id, missing);
      await isTold(shop, id, missing, 'unknown');

      const failed = node.pay(order.address, 5n, 'failed');
      const elsewhere = node.pay(accountKeyOf(family, 'stranger'), 5n);
      const others = node.pay(other.address, 5n);
      const lookalike = node.pay(order.address, 5n, 'lookalike');
      const paid = node.pay(order.address, 10_000_000n);
      node.world.mine();
      const expected = { failed, elsewhere, other_order: others, wrong_token: lookalike, kept: paid } as const;
      for (const tx of Object.values(expected)) await ask(id, tx);
      for (const [finding, tx] of Object.entries(expected)) await isTold(shop, id, tx, finding as LookupResult);
      assert.equal(await shop.database.alarms.list(10), []);
    }));
}

test('money in a block that was read without it is reported with an alarm and never credited', () =>
  inShop('evm', async ({ shop, node, ask }) => {
    // The follower reads through a node that hides the payment; the lookup sees the truth.
    const indexer = shop.start({
      through: (real) => ({
        ...real,
        content: async (block, thorough) => {
          const content = await real.content(block, thorough);
          const answer = JSON.parse(Buffer.from(content.bytes).toString());
          const text = JSON.stringify({ ...answer, result: [] });
          return {
            ...content,
            kind: 'logs',
            bytes: Buffer.from(text),
            context: { ...content.context, bloom: `0x${'0'.repeat(512)}` },
          };
        },
      }),
    });
    await shop.isIn('following');
    const order = await shop.order('missed');
    const { id } = await order.read();
    const tx = node.pay(order.address, 10_000_000n);
    node.world.mine();
    await ask(id, tx);
    await isTold(shop, id, tx, 'unread');
    assert.equal(await shop.database.alarms.list(10), []);
    for (let n = 0; n < 25; n++) node.world.mine();
    await isTold(shop, id, tx, 'missed');
    assert.equal(
      (await shop.database.alarms.list(10)).map(({ code }) => code),
      ['transfer_missed'],
    );
    const { standing, payments } = await order.read();
    assert.equal({ funded: standing.funded, payments }, { funded: 'none', payments: [] });
    await indexer.stop();
  }));

test('a node that fails has answered nothing, and is asked again', () =>
  inShop('evm', async ({ shop, node, ask }) => {
    let asked = 0;
    shop.start({
      through: (real) => ({
        ...real,
        async lookup(name) {
          asked++;
          if (asked > 1) return real.lookup(name);
          throw transient('node_timeout', 'the first request is lost');
        },
      }),
    });
    await shop.isIn('following');
    const order = await shop.order('later');
    const { id } = await order.read();
    const tx = node.pay(order.address, 10_000_000n);
    node.world.mine();
    await ask(id, tx);
    await isTold(shop, id, tx, 'kept');
    assert.ok(asked > 1);
  }));

test('a node of another chain is not asked', () =>
  inShop('evm', async ({ shop, node, ask }) => {
    const first = shop.start();
    await shop.isIn('following');
    await first.stop();
    const { id } = await (await shop.order('astray')).read();
    await ask(id, node.pay(accountKeyOf('evm', 'stranger'), 1n));
    let asked = 0;
    shop.start({
      through: (real) => ({
        ...real,
        identity: async () => ({ ...(await real.identity()), chainId: '1' }),
        lookup(tx) {
          asked++;
          return real.lookup(tx);
        },
      }),
    });
    await shop.isIn('halted', 'chain_id_mismatch');
    await systemClock.sleep(1200);
    assert.is(asked, 0);
    assert.equal(
      (await shop.database.lookups.list(id)).map(({ finding }) => finding),
      [null],
    );
  }));

test.run();
