/** The comparison at night and its reports, with real nodes' wire formats of each family. */
import Sqlite from 'better-sqlite3';
import * as assert from 'uvu/assert';
import { compareNetwork } from '../../indexers/comparison.ts';
import { rereadBlocks } from '../../indexers/reread.ts';
import type { Family, Node } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import { transient } from '../../src/core/fault.ts';
import type { BlockComparison } from '../../src/database/blocks.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { has } from '../support/fields.ts';
import { inNodeShop, type NodeShop } from '../support/indexed-shop.ts';
import { testsIn } from '../support/tests-in.ts';
import { until } from '../support/until.ts';

const FINAL_BLOCKS = 5;
const PATIENCE_MS = 1_000;
let orders = 0;

type Bench = ReturnType<typeof benchOf>;

/** A shop whose final blocks are compared with its database by the real parts. */
function benchOf(shop: NodeShop, raw: Sqlite.Database) {
  const { network, database, node: own, mine } = shop;
  const { family } = network;
  const floor = async (): Promise<number> => (await shop.status())?.floor ?? 0;

  /** Mines until everything so far is final, and waits until the follower knows. */
  async function settle(): Promise<void> {
    const { number } = own.world.tip();
    mine(FINAL_BLOCKS + 1);
    await shop.level();
    await until('the blocks are final', async () => (await floor()) >= number);
  }

  return {
    own,
    shop,
    network,
    raw,
    floor,
    settle,
    /** Pays an order, and waits until that is final and was credited. */
    async payOne(): Promise<void> {
      shop.pay(await shop.order(`order-${orders++}`), 1_000);
      await settle();
    },
    /** Compares what is due, as at night. @returns what is known afterwards */
    async night(
      through: (node: Node) => Node = (node) => node,
      stopping = new AbortController(),
    ): Promise<BlockComparison | null> {
      const { openNode } = await chains[family].node();
      const node = async () => ({ openNode: (...of: Parameters<typeof openNode>) => through(openNode(...of)) });
      const parts = { network, chain: { ...chains[family], node }, database, clock: systemClock };
      const log = openLog('comparison', 'silent');
      await compareNetwork({ ...parts, log, patienceMs: PATIENCE_MS }, stopping.signal);
      return (await database.blocks.listComparisons())[0] ?? null;
    },
  };
}

const testsOf = (family: Family) =>
  testsIn((work: (bench: Bench) => Promise<void>) =>
    inNodeShop(family, { node: { finalityDistance: FINAL_BLOCKS }, network: { name: family } }, async (shop) => {
      shop.start();
      await shop.isIn('following');
      const raw = new Sqlite(shop.temp.file);
      await work(benchOf(shop, raw)).finally(() => raw.close());
    }),
  );
const test = testsOf('evm');

const open = async ({ shop }: Bench): Promise<string[]> =>
  (await shop.database.alarms.list(9)).flatMap(({ code, endedAtMs }) => (endedAtMs === null ? code : []));

/** Loses every transfer with what was booked for it, as a bug would. */
function loseTransfers({ raw }: Bench): void {
  raw.pragma('foreign_keys = OFF');
  for (const table of ['transfers', 'ledger_postings', 'ledger_entries']) raw.prepare(`DELETE FROM ${table}`).run();
}

for (const family of ['evm', 'tron', 'solana'] as const) {
  const test = testsOf(family);
  test(`${family}: what the database holds is what the node has, and a night goes on where the last one ended`, async (bench) => {
    await bench.payOne();
    const first = await bench.night();
    const { differences, transfers = 0, blocks = 0 } = first ?? {};
    assert.equal({ differences, transfers }, { differences: 0, transfers: 1 });
    assert.ok(blocks > 1, JSON.stringify(first));
    assert.equal(await bench.night(), first, 'nothing is new');
    await bench.payOne();
    has(await bench.night(), { from: (first?.through ?? 0) + 1, transfers: 1, differences: 0 });
    assert.equal(await open(bench), []);
  });
}

test('a transfer that the database lacks is an alarm until it is acknowledged, and is read again', async (bench) => {
  const { database } = bench.shop;
  await bench.payOne();
  loseTransfers(bench);
  assert.is((await bench.night())?.differences, 1);
  const [alarm] = await database.alarms.list(1);
  assert.is(alarm?.code, 'comparison_differs');
  assert.match(alarm?.message ?? '', /the database does not have 10 USDT to 0x\w+ in block \d+/);
  const [, from, to] = /quayside network reread test:evm --from (\d+) --to (\d+)/.exec(alarm?.message ?? '') ?? [];
  await bench.payOne();
  assert.is((await bench.night())?.differences, 0);
  assert.equal(await open(bench), ['comparison_differs'], 'clean blocks do not end it');
  const act = { atMs: systemClock.nowMs(), operator: 'test', command: 'network reread', reason: 'a test' };
  const range = { from: Number(from), to: Number(to), isCheck: false, act };
  const own = { network: bench.network, database, chain: chains[bench.network.family], clock: systemClock };
  const counts = async () => (await rereadBlocks({ ...own, ...range, onPart: () => {} })).counts.missing;
  assert.equal([await counts(), await counts()], [1, 0]);
  await database.alarms.acknowledge(alarm?.id ?? 0, act);
  // The follower may have credited what was read again, on top of sums that had not lost it.
  assert.not.ok((await open(bench)).includes('comparison_differs'));
});

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
    /the database has another block \d+/,
  ],
];
for (const [what, statement, words] of wrongs) {
  test(`${what} in the database is a difference`, async (bench) => {
    await bench.payOne();
    // Beyond what a reorg may still replace.
    bench.shop.mine(bench.network.reorgDepthMax);
    await bench.settle();
    bench.raw.pragma('foreign_keys = OFF');
    bench.raw.exec(statement);
    const found = await bench.night();
    assert.ok((found?.differences ?? 0) >= 1, JSON.stringify(found));
    const [alarm] = await bench.shop.database.alarms.list(1);
    assert.match(alarm?.message ?? '', words);
  });
}

test('a node that fails ends the night, and the next night compares what is due', async (bench) => {
  await bench.payOne();
  const failing = (node: Node): Node => ({
    ...node,
    content: () => Promise.reject(transient('node_unreachable', 'nobody answers')),
  });
  assert.is(await bench.night(failing), null);
  assert.is((await bench.night())?.transfers, 1);
});

test('a network that is not followed is left for another night', async (bench) => {
  await bench.payOne();
  await bench.own.stop();
  await until('the network has a fault', async () => (await bench.shop.status())?.state === 'fault');
  assert.is(await bench.night(), null);
  await bench.own.start();
  await bench.shop.isIn('following');
  assert.is((await bench.night())?.transfers, 1);
});

test('a night that is asked to end keeps what it has compared, and the next goes on there', async (bench) => {
  await bench.payOne();
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
