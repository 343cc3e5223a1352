/**
 * Measures, on this machine, what the design relies on and what the README promises. `npm run bench -- --help` lists
 * the benchmarks and their options.
 *
 * Prints tables and writes everything to `.tmp/bench.json`. Compare only figures of the same run: machines differ, and
 * other work on the machine shows in its load and in the column "others".
 */
import '../src/lib/runtime.ts';
import { mkdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { benchCalls } from './bench/calls.ts';
import { benchAllCatchUps, benchCatchUp, type CatchUpOptions } from './bench/catch-up.ts';
import { catchUpNetworks } from './bench/catch-up-networks.ts';
import { benchFootprint } from './bench/footprint.ts';
import { machine, type Row } from './bench/frame.ts';
import { benchWebhooks } from './bench/webhooks.ts';

const RESULT_FILE = '.tmp/bench.json';
const SHORT_BLOCKS = 300;

type Options = CatchUpOptions & Readonly<{ isShort: boolean }>;
type Benchmark = Readonly<{
  about: string;
  /** Whether it runs only if it is named. */
  isExtra?: boolean;
  run(options: Options): Row[] | Promise<Row[]>;
}>;

const networks = catchUpNetworks.map(({ name }): [string, Benchmark] => [
  name,
  { about: `catch-up for ${name} alone`, isExtra: true, run: (options) => benchCatchUp(name, options) },
]);
const benchmarks: Readonly<Record<string, Benchmark>> = {
  calls: { about: 'signed creates beside a bare Express with one synced insert; signed reads', run: benchCalls },
  webhooks: { about: 'deliveries beside raw posts, and the delay beside dead hosts', run: benchWebhooks },
  'catch-up': { about: 'an indexer of each network catches up with a simulated node', run: benchAllCatchUps },
  ...Object.fromEntries(networks),
  footprint: { about: 'start, memory and idle CPU of the built sandbox, by process', run: benchFootprint },
};

const HELP = `Usage: npm run bench -- [BENCHMARK]... [OPTION]...

Measures on this machine and prints tables, which it also writes to ${RESULT_FILE}. Without a name, every benchmark
without a * runs, one after the other.

Benchmarks:
${Object.entries(benchmarks)
  .map(([name, { about, isExtra }]) => `  ${`${name}${isExtra ? ' *' : ''}`.padEnd(12)}  ${about}`)
  .join('\n')}

Options:
  --short         the same with less of everything, in a few minutes
  --blocks N      catch-up and single networks: at most N blocks
  --profile DIR   catch-up and single networks: write V8's CPU profiles of the indexer into DIR
  --help          show this
`;

/** Says what is wrong with the command line. */
function refuse(problem: string): void {
  process.stderr.write(`${problem}; \`npm run bench -- --help\` lists benchmarks and options\n`);
  process.exitCode = 2;
}

async function run(words: readonly string[], options: Options): Promise<void> {
  const names = words.length > 0 ? words : Object.keys(benchmarks).filter((name) => !benchmarks[name]?.isExtra);
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

const optionTypes = {
  blocks: { type: 'string' },
  profile: { type: 'string' },
  short: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/** @returns null after saying what is wrong */
function readCommandLine() {
  try {
    const { values, positionals } = parseArgs({ options: optionTypes, allowPositionals: true });
    const unknown = positionals.filter((name) => !benchmarks[name]);
    if (unknown.length > 0) throw new TypeError(`unknown benchmark ${unknown.join(', ')}`);
    const { blocks } = values;
    if (blocks !== undefined && !(Number(blocks) > 0)) throw new TypeError(`--blocks ${blocks} is not above 0`);
    return { values, positionals };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    refuse(error.message);
    return null;
  }
}

const given = readCommandLine();
if (given?.values.help) process.stdout.write(HELP);
else if (given) {
  const { blocks, profile, short } = given.values;
  await run(given.positionals, {
    blocksMax: Number(blocks ?? (short ? SHORT_BLOCKS : Number.POSITIVE_INFINITY)),
    profileDir: profile === undefined ? null : resolve(profile),
    isShort: short === true,
  });
}
