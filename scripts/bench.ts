/**
 * Measures, on this machine, what the design relies on and what the README promises. `npm run bench -- --help` lists
 * the benchmarks and their options.
 *
 * Prints tables and writes everything to `.tmp/bench.json`. Compare only figures of the same run: machines differ, and
 * other work on the machine shows in its load and in the column "others".
 */
import '../src/lib/runtime.ts';
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { buildTests } from '../test/run/build-tests.ts';
import { benchCalls, benchPages } from './bench/calls.ts';
import { benchCatchUps } from './bench/catch-up.ts';
import { benchEngines } from './bench/engines.ts';
import { benchFootprint } from './bench/footprint.ts';
import { machine, type Row } from './bench/frame.ts';
import { benchWebhooks } from './bench/webhooks.ts';

const RESULT_FILE = '.tmp/bench.json';

type Options = Readonly<{ isShort: boolean }>;
type Benchmark = Readonly<{ about: string; run(options: Options): Promise<Row[]> }>;

const benchmarks: Readonly<Record<string, Benchmark>> = {
  calls: { about: 'signed creates beside a bare Express with one synced insert; signed reads', run: benchCalls },
  pages: { about: 'views of the payment page beside a bare Express that sends the same bytes', run: benchPages },
  engines: { about: 'signed creates on SQLite, and on PostgreSQL with 1, 2 and 4 servers', run: benchEngines },
  webhooks: { about: 'deliveries beside raw posts, and the delay beside dead hosts', run: benchWebhooks },
  'catch-up': { about: 'an indexer of each network catches up with a simulated node', run: benchCatchUps },
  footprint: { about: 'start, memory and idle CPU of the built sandbox, by process', run: benchFootprint },
};

const HELP = `Usage: npm run bench -- [BENCHMARK]... [--short]

Measures on this machine and prints tables, which it also writes to ${RESULT_FILE}. Without a name, every benchmark runs,
one after the other. --short: the same with less of everything, in a few minutes.

${Object.entries(benchmarks)
  .map(([name, { about }]) => `  ${name.padEnd(12)}  ${about}`)
  .join('\n')}
`;

async function run(words: readonly string[], options: Options): Promise<void> {
  const names = words.length > 0 ? words : Object.keys(benchmarks);
  buildTests();
  const before = machine();
  process.stdout.write(
    `${before.cores} cores, ${before.model}, Node ${before.node}; load ${before.loadavg.join(' ')}\n`,
  );
  const results: Record<string, readonly Row[]> = {};
  for (const name of names) results[name] = (await benchmarks[name]?.run(options)) ?? [];
  mkdirSync('.tmp', { recursive: true });
  writeFileSync(RESULT_FILE, `${JSON.stringify({ machine: before, results }, null, 2)}\n`);
  process.stdout.write(`\nwritten to ${RESULT_FILE}\n`);
}

const { values, positionals } = parseArgs({
  options: { short: { type: 'boolean' }, help: { type: 'boolean' } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !benchmarks[name]);
if (values.help || unknown.length > 0) {
  process.stdout.write(unknown.length > 0 ? `unknown benchmark ${unknown.join(', ')}\n\n${HELP}` : HELP);
  process.exitCode = unknown.length > 0 ? 2 : 0;
} else await run(positionals, { isShort: values.short === true });
