/**
 * What is made at night, and what is reported.
 * @module
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { certifyNetwork } from '../../../indexers/evidence/nightly.ts';
import { openEvidence } from '../../../indexers/evidence/open.ts';
import { rereadBlocks } from '../../../indexers/reread.ts';
import type { Node } from '../../../src/chains/chain.ts';
import { chains } from '../../../src/chains/index.ts';
import { openArchive } from '../../../src/evidence/archive.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { openLog } from '../../../src/lib/log.ts';
import { type EvidenceBench, openEvidenceBench } from '../../support/evidence-bench.ts';
import { until } from '../../support/until.ts';

/** Runs one night. @returns how many certificates were made */
async function night(
  bench: EvidenceBench,
  through: (node: Node) => Node = (node) => node,
  stopping = new AbortController(),
) {
  const { network, dataDir, shop } = bench;
  const chain = chains[network.family];
  const common = { network, database: shop.database, clock: systemClock };
  const open = await openEvidence({ ...common, chain, dataDir, hasSigner: true });
  const log = openLog('evidence', 'silent');
  try {
    const parts = { ...open, ...common, node: through(open.node), log, patienceMs: 1_000 };
    return await certifyNetwork(parts, stopping.signal);
  } finally {
    await open.close();
  }
}

async function onBench(work: (bench: EvidenceBench) => Promise<void>): Promise<void> {
  const bench = await openEvidenceBench('evm');
  try {
    await work(bench);
  } finally {
    await bench.close();
  }
}

const codes = async ({ shop }: EvidenceBench): Promise<string[]> =>
  (await shop.database.listAlarms(100)).map(({ code }) => code);

const open = async ({ shop }: EvidenceBench): Promise<string[]> =>
  (await shop.database.listOpenAlarms()).map(({ code }) => code);

/** Adds what was missed, as an operator does. */
async function rereadAll({ shop, network, floor }: EvidenceBench): Promise<void> {
  const { database } = shop;
  const act = { atMs: systemClock.nowMs(), operator: 'test', command: 'networks reread', reason: 'a test' };
  const options = { network, database, chain: chains[network.family], from: 1, to: await floor(), isCheck: false, act };
  await rereadBlocks({ ...options, clock: systemClock, onProgress: () => {} });
}

test('each night continues where the last one ended, and makes nothing if there is nothing new', () =>
  onBench(async (bench) => {
    const order = await bench.order();
    bench.pay(order, bench.units(10));
    await bench.settle();
    assert.is(await night(bench), 1);
    assert.is(await night(bench), 0);
    await bench.settle();
    assert.is(await night(bench), 1);
    assert.equal(await codes(bench), []);
  }));

test('a difference raises an alarm that names the blocks and the command', () =>
  onBench(async (bench) => {
    const order = await bench.order();
    bench.pay(order, bench.units(10));
    await bench.settle();
    bench.raw.pragma('foreign_keys = OFF');
    for (const table of ['transfers', 'ledger_postings', 'ledger_entries'])
      bench.raw.prepare(`DELETE FROM ${table}`).run();
    assert.is(await night(bench), 1);
    const [alarm] = await bench.shop.database.listAlarms(1);
    assert.is(alarm?.code, 'evidence_differs');
    assert.match(alarm?.message ?? '', /quayside evidence test:evm --from \d+ --to \d+/);
    await bench.settle();
    assert.is(await night(bench), 1);
    assert.equal(await open(bench), ['evidence_differs'], 'a clean night of other blocks does not end it');
    await rereadAll(bench);
    const { from = 0, to = 0 } = openArchive(bench.dataDir, 'test:evm').open()[0]?.range ?? {};
    await bench.make({ from, to });
    await bench.settle();
    assert.is(await night(bench), 1);
    assert.equal(await open(bench), [], 'the blocks were read again, and a later certificate of them is complete');
  }));

test('a node that fails is reported, and the night ends', () =>
  onBench(async (bench) => {
    await bench.settle();
    bench.own.faults.set({ rates: { rpc_error: 1 } });
    const stopped = await night(bench);
    assert.is(stopped, 0);
    assert.equal(await codes(bench), ['evidence_not_made']);
  }));

test('it waits while the network is not followed, and ends when it is asked to', () =>
  onBench(async (bench) => {
    await bench.settle();
    await bench.own.stop();
    await until('the network has a fault', async () => (await bench.shop.status())?.state === 'fault');
    const stopping = new AbortController();
    const running = night(bench, (node) => node, stopping);
    stopping.abort();
    assert.is(await running, 0);
    assert.equal(
      (await codes(bench)).filter((code) => code.startsWith('evidence')),
      [],
    );
    await bench.own.start();
  }));

test.run();
