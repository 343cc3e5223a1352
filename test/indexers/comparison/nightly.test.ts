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
  (await shop.database.alarms.list(9)).flatMap(({ code, endedAtMs }) => (endedAtMs === null ? code : []));

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

const benchTest = (title: string, ...args: Parameters<typeof onBench>) => test(title, onBench(...args));

for (const family of ['evm', 'tron', 'solana'] as const) {
  benchTest(
    `${family}: what the database holds is what the node has, and a night goes on where the last one ended`,
    async (bench) => {
      await payOne(bench);
      const first = await bench.night();
      const { differences, transfers = 0, blocks = 0 } = first ?? {};
      assert.equal({ differences, transfers }, { differences: 0, transfers: 1 });
      assert.ok(blocks > 1, JSON.stringify(first));
      assert.equal(await bench.night(), first, 'nothing is new');
      await payOne(bench);
      const second = await bench.night();
      assert.equal(
        { from: second?.from, transfers: second?.transfers, differences: second?.differences },
        { from: (first?.through ?? 0) + 1, transfers: 1, differences: 0 },
      );
      assert.equal(await open(bench), []);
    },
    family,
  );
}

benchTest(
  'a transfer that the database lacks is an alarm until it is acknowledged, and is read again',
  async (bench) => {
    const { database } = bench.shop;
    await payOne(bench);
    loseTransfers(bench);
    assert.is((await bench.night())?.differences, 1);
    const [alarm] = await database.alarms.list(1);
    assert.is(alarm?.code, 'comparison_differs');
    assert.match(alarm?.message ?? '', /the database does not have 10 USDT to 0x\w+ in block \d+/);
    const [, from, to] = /quayside network reread test:evm --from (\d+) --to (\d+)/.exec(alarm?.message ?? '') ?? [];
    await payOne(bench);
    assert.is((await bench.night())?.differences, 0);
    assert.equal(await open(bench), ['comparison_differs'], 'clean blocks do not end it');
    const act = { atMs: systemClock.nowMs(), operator: 'test', command: 'network reread', reason: 'a test' };
    const range = { from: Number(from), to: Number(to), isCheck: false, act };
    const own = { network: bench.network, database, chain: chains[bench.network.family], clock: systemClock };
    const counts = async () => (await rereadBlocks({ ...own, ...range, onPart: () => {} })).counts.missing;
    assert.equal([await counts(), await counts()], [1, 0]);
    await database.alarms.acknowledge(alarm?.id ?? 0, act);
    assert.equal(await open(bench), []);
  },
);

const wrongs: readonly (readonly [string, string, RegExp])[] = [
  ['another amount', "UPDATE transfers SET units = '5'", /the node does not have 0\.0*5 USDT to/],
  [
    'a transfer that is not on the chain',
    "UPDATE transfers SET tx = '0xabc'",
    /the (database|node) does not have 10 USDT/,
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
  await bench.night();
  assert.is((await bench.night())?.through, await bench.floor());
});

test.run();
