/**
 * Measures, on this machine, what the design relies on and what the README promises:
 *
 *   npm run bench                    everything; takes some minutes
 *   npm run bench -- matching        decoding in line and in worker threads, by the size of a block's answer
 *   npm run bench -- table           the table of watched addresses, with a million of them
 *   npm run bench -- catch-up        an indexer of each network catching up with a simulated node (another process)
 *   npm run bench -- tron            the same for one network: tron, ethereum, bsc or solana
 *   npm run bench -- solana --blocks 500     at most 500 blocks, for a quick look
 *   npm run bench -- solana --profile .tmp   write V8's CPU profiles of the indexer into that folder
 *   npm run bench -- pages           one server with 500 open payment pages, in a whole sandbox
 *   npm run bench -- edge            signed calls alone, and while one address asks for pages on 30 connections
 *   npm run bench -- dust            one more block for an address that has received up to a million transfers
 *   npm run bench -- writes          new sessions and reads beside followers that write back to back, and a held lock
 *   npm run bench -- webhooks        deliveries a second, and the delay beside dead hosts and a million deliveries
 *   npm run bench -- webhooks --short         the same with less of everything, in a few minutes
 *   npm run bench -- dashboard       the dashboard's pages and an export, with a million sessions
 *   npm run bench -- dashboard --short        the same with 150,000
 *   npm run bench -- retention       a year of a million sessions: size, archiving, backups, check before an upgrade
 *   npm run bench -- retention --short        the same with 20,000
 *   npm run bench -- long-run        ten minutes of payments while processes are killed and a node flaps, then an audit
 *   npm run bench -- long-run --seconds 60 --seed 7      a short one, with other choices
 *   npm run bench -- footprint       start-up time and memory of the built sandbox, by process
 *
 * Prints tables and writes everything to `.tmp/bench.json`. Compare only figures of the same run: machines differ, and
 * other work on the machine shows in its load and in the column "others".
 * @module
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { benchTable } from './bench/address-table.ts';
import { benchAllCatchUps, benchCatchUp, type CatchUpOptions } from './bench/catch-up.ts';
import { catchUpNetworks } from './bench/catch-up-networks.ts';
import { benchDashboard } from './bench/dashboard.ts';
import { benchDust } from './bench/dust.ts';
import { benchEdge } from './bench/edge.ts';
import { benchFootprint } from './bench/footprint.ts';
import { benchLongRun, type LongRunOptions, longRunDefaults } from './bench/long-run.ts';
import { machine } from './bench/machine.ts';
import { benchMatching } from './bench/matching.ts';
import { benchPages } from './bench/pages.ts';
import type { Row } from './bench/report.ts';
import { benchRetention } from './bench/retention.ts';
import { benchWebhooks } from './bench/webhooks.ts';
import { benchWrites } from './bench/writes.ts';

const RESULT_FILE = '.tmp/bench.json';

type Options = CatchUpOptions & LongRunOptions & Readonly<{ isShort: boolean }>;
type Benchmark = (options: Options) => Row[] | Promise<Row[]>;

/** What runs if no benchmark is named. */
const whole: Readonly<Record<string, Benchmark>> = {
  matching: benchMatching,
  table: benchTable,
  'catch-up': benchAllCatchUps,
  pages: benchPages,
  edge: benchEdge,
  dust: benchDust,
  writes: benchWrites,
  webhooks: benchWebhooks,
  dashboard: benchDashboard,
  retention: benchRetention,
  footprint: benchFootprint,
};
const single: Readonly<Record<string, Benchmark>> = Object.fromEntries(
  catchUpNetworks.map(({ name }) => [name, (options: Options) => benchCatchUp(name, options)]),
);
const benchmarks: Readonly<Record<string, Benchmark>> = { ...whole, ...single, 'long-run': benchLongRun };

async function run(words: readonly string[], options: Options): Promise<void> {
  const names = words.length > 0 ? words : Object.keys(whole);
  const unknown = names.filter((name) => !benchmarks[name]);
  if (unknown.length > 0) {
    process.stderr.write(
      `unknown benchmark ${unknown.join(', ')}; choose from ${Object.keys(benchmarks).join(', ')}\n`,
    );
    process.exitCode = 2;
    return;
  }
  const before = machine();
  process.stdout.write(
    `${before.cores} cores, ${before.model}, Node ${before.node}; load ${before.loadavg.join(' ')}\n`,
  );
  const results: Record<string, readonly Row[]> = {};
  for (const name of names) results[name] = (await benchmarks[name]?.(options)) ?? [];
  mkdirSync('.tmp', { recursive: true });
  writeFileSync(RESULT_FILE, `${JSON.stringify({ machine: before, results }, null, 2)}\n`);
  process.stdout.write(`\nwritten to ${RESULT_FILE}\n`);
}

const { values, positionals } = parseArgs({
  options: {
    blocks: { type: 'string' },
    profile: { type: 'string' },
    short: { type: 'boolean' },
    seconds: { type: 'string' },
    seed: { type: 'string' },
  },
  allowPositionals: true,
});
await run(positionals, {
  blocksMax: Number(values.blocks ?? Number.POSITIVE_INFINITY),
  profileDir: values.profile === undefined ? null : resolve(values.profile),
  isShort: values.short === true,
  seconds: Number(values.seconds ?? longRunDefaults.seconds),
  seed: values.seed ?? longRunDefaults.seed,
});
