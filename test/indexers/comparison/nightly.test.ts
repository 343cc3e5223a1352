/** What is compared at night, and what is reported, with real nodes' wire formats of each family. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rereadBlocks } from '../../../indexers/reread.ts';
import type { Family, Node } from '../../../src/chains/chain.ts';
import { chains } from '../../../src/chains/index.ts';
import { transient } from '../../../src/core/fault.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { until } from '../../support/until.ts';
import { type ComparisonBench, openComparisonBench } from './comparison-bench.ts';

const onBench =
  (work: (bench: ComparisonBench) => Promise<void>, family: Family = 'evm') =>
  async (): Promise<void> => {
    const bench = await openComparisonBench(family);
    try {
      await work(bench);
    } finally {
      await bench.close();
    }
  };

const open = async ({ shop }: ComparisonBench): Promise<string[]> =>
  (await shop.database.alarms.listOpen()).map(({ code }) => code);

/** Pays an order, and waits until that is final and was credited. */
async function payOne(bench: ComparisonBench): Promise<void> {
  const order = await bench.order();
  bench.pay(order, bench.units(10));
  await bench.settle();
}

/** Loses every transfer with what was booked for it, as a bug would. */
function loseTransfers({ raw }: ComparisonBench): void {
  raw.pragma('foreign_keys = OFF');
  for (const table of ['transfers', 'ledger_postings', 'ledger_entries']) raw.prepare(`DELETE FROM ${table}`).run();
}

/** Adds what was missed, as an operator does. */
async function rereadAll({ shop, network, floor }: ComparisonBench): Promise<void> {
  const { database } = shop;
  const act = { atMs: systemClock.nowMs(), operator: 'test', command: 'network reread', reason: 'a test' };
  const options = { network, database, chain: chains[network.family], from: 1, to: await floor(), isCheck: false, act };
  await rereadBlocks({ ...options, clock: systemClock, onPart: () => {} });
}

const benchTest = (title: string, ...args: Parameters<typeof onBench>) => test(title, onBench(...args));

for (const family of ['evm', 'tron', 'solana'] as const) {
  benchTest(
    `${family}: what the database holds is what the node has, and a night goes on where the last one ended`,
    async (bench) => {
      await payOne(bench);
      const first = await bench.night();
      const { differs, message, transfers = 0, blocks = 0 } = first ?? {};
      assert.equal({ differs, message, transfers }, { differs: null, message: null, transfers: 1 });
      assert.ok(blocks > 1, JSON.stringify(first));
      assert.equal(await bench.night(), first, 'nothing is new');
      await payOne(bench);
      const second = await bench.night();
      assert.equal(
        { from: second?.from, transfers: second?.transfers, differs: second?.differs },
        { from: (first?.through ?? 0) + 1, transfers: 1, differs: null },
      );
      assert.equal(await open(bench), []);
    },
    family,
  );
}

benchTest('a transfer that the database lacks is an alarm until the blocks were read again', async (bench) => {
  await payOne(bench);
  loseTransfers(bench);
  const first = await bench.night();
  assert.is(first?.differences, 1);
  assert.is(first?.differs?.from, first?.differs?.to);
  const [alarm] = await bench.shop.database.alarms.list(1);
  assert.is(alarm?.code, 'comparison_differs');
  assert.match(alarm?.message ?? '', /the database does not have 10 USDT to 0x\w+ in block \d+/);
  assert.match(alarm?.message ?? '', /quayside network reread test:evm --from \d+ --to \d+/);
  await payOne(bench);
  const second = await bench.night();
  assert.ok((second?.through ?? 0) > (first?.through ?? 0), 'later blocks are compared all the same');
  assert.equal(second?.differs, first?.differs);
  assert.equal(await open(bench), ['comparison_differs'], 'clean blocks do not end it');
  await rereadAll(bench);
  assert.is((await bench.night())?.differs, null);
  assert.equal(await open(bench), []);
});

const wrongs: readonly (readonly [string, string, RegExp])[] = [
  ['another amount', "UPDATE transfers SET units = '5'", /the node does not have 0\.0*5 USDT to/],
  [
    'a transfer that is not on the chain',
    "UPDATE transfers SET tx = '0xabc'",
    /2 difference.* the database does not have 10 USDT/,
  ],
  [
    'another block',
    "UPDATE blocks SET hash = '0xabc' WHERE id = (SELECT block_id FROM transfers)",
    /the database holds another block \d+/,
  ],
];
for (const [what, statement, words] of wrongs) {
  benchTest(`${what} in the database is a difference`, async (bench) => {
    await payOne(bench);
    // Beyond what a reorg may still replace.
    for (let n = 0; n < bench.network.reorgDepthMax; n += 5) bench.mine(5);
    await bench.settle();
    bench.raw.pragma('foreign_keys = OFF');
    bench.raw.exec(statement);
    const found = await bench.night();
    assert.ok((found?.differences ?? 0) >= 1, JSON.stringify(found));
    const [alarm] = await bench.shop.database.alarms.list(1);
    assert.match(alarm?.message ?? '', words);
  });
}

benchTest('what the node no longer has stays a difference, and later blocks are compared', async (bench) => {
  await payOne(bench);
  loseTransfers(bench);
  const first = await bench.night();
  await payOne(bench);
  const pruned = (node: Node): Node => ({
    ...node,
    async range(from, to) {
      if (from <= (first?.through ?? 0)) throw transient('node_history_pruned', 'this block is gone');
      return node.range(from, to);
    },
  });
  const second = await bench.night(pruned);
  assert.equal(
    { differs: second?.differs, message: second?.message },
    { differs: first?.differs, message: first?.message },
  );
  assert.ok((second?.through ?? 0) > (first?.through ?? 0));
  assert.equal(await open(bench), ['comparison_differs']);
});

benchTest('a node that fails ends the night, and the next night compares what is due', async (bench) => {
  await payOne(bench);
  const failing = (node: Node): Node => ({
    ...node,
    content: () => Promise.reject(transient('node_unreachable', 'nobody answers')),
  });
  assert.is(await bench.night(failing), null);
  assert.is((await bench.night())?.transfers, 1);
});

benchTest('a network that is not followed is left for another night', async (bench) => {
  await payOne(bench);
  await bench.own.stop();
  await until('the network has a fault', async () => (await bench.shop.status())?.state === 'fault');
  assert.is(await bench.night(), null);
  await bench.own.start();
  await bench.shop.isIn('following');
  assert.is((await bench.night())?.transfers, 1);
});

benchTest('a night that is asked to end keeps what it has compared, and the next goes on there', async (bench) => {
  await payOne(bench);
  const stopping = new AbortController();
  const ending = (node: Node): Node => ({
    ...node,
    async range(from, to) {
      stopping.abort();
      return node.range(from, to);
    },
  });
  await bench.night(ending, stopping);
  assert.is((await bench.night())?.differs, null);
  assert.is((await bench.night())?.through, await bench.floor());
});

test.run();
