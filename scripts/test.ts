/**
 * The test command: runs the test files and ends with the counts on one line.
 *
 *   npm test                      the fast files: every `*.test.ts` except `*.slow.test.ts`
 *   npm run test:rest             the slow files only
 *   npm run test:all              both
 *   npm run test:nodes            the files in `test/nodes/`, which those above leave out: on real nodes, built once
 *   npm test -- --all --nodes     every file
 *   npm test -- --postgres        what both engines of the database must pass, on a PostgreSQL that is started for it
 *   npm test -- database follow   the files, fast or slow, whose path contains one of the words
 *
 * A slow file has a process of its own; fast ones of one folder share one. `TEST_JOBS` stands for the number of cores.
 */
import '../src/lib/runtime.ts';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import PQueue from 'p-queue';
import { buildGeth } from '../test/nodes/geth-binary.ts';
import { buildTests } from '../test/run/build-tests.ts';
import { killRunning, type Result, runBatch } from '../test/run/run-batch.ts';
import { serverPrograms, startPostgres } from '../test/support/postgres.ts';

/** Slow files mostly wait for blocks, so many more of them run at a time than there are cores. */
const WAITING_MORE = 2;
/** Fast ones wait too, for timers and for processes that they start. */
const FAST_MORE = 1;
/** So many fast files share a process. */
const BATCH_FILES = 6;
const cores = Number(process.env.TEST_JOBS) || availableParallelism();
const builder = fileURLToPath(new URL('./build.mjs', import.meta.url));

const { values: flags, positionals: words } = parseArgs({
  options: {
    all: { type: 'boolean' },
    rest: { type: 'boolean' },
    nodes: { type: 'boolean' },
    postgres: { type: 'boolean' },
  },
  allowPositionals: true,
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const isOnNodes = (file: string): boolean => file.startsWith('test/nodes/');
const isForBoth = (file: string): boolean => /^test\/(conformance\/database\/|database\/postgres)/.test(file);
const isSlow = (file: string): boolean => file.endsWith('.slow.test.ts') || isOnNodes(file);

function isChosen(file: string): boolean {
  if (words.length > 0 && !words.some((word) => file.includes(word))) return false;
  if (flags.postgres) return isForBoth(file);
  if (isOnNodes(file)) return Boolean(flags.nodes);
  if (flags.all) return true;
  if (flags.rest) return isSlow(file);
  return !flags.nodes && (words.length > 0 || !isSlow(file));
}

/** Returns which files share a process: fast ones of one folder. */
function batchesOf(files: readonly string[]): readonly (readonly string[])[] {
  const batches: string[][] = [];
  for (const file of files) {
    const last = batches.at(-1);
    const isJoining = last && last.length < BATCH_FILES && !isSlow(file) && dirname(last[0] ?? '') === dirname(file);
    if (isJoining) last.push(file);
    else batches.push([file]);
  }
  return batches;
}

const describe = ({ passed, failed, skipped }: Pick<Result, 'passed' | 'failed' | 'skipped'>) =>
  `${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`;

/** Counts each file as one skipped test, and names it. */
function skipAll(files: readonly string[], why: string): readonly Result[] {
  for (const file of files) print(`- ${file}  skipped: ${why}`);
  return files.map((file) => ({ file, passed: 0, failed: 0, skipped: 1, seconds: 0 }));
}

/** Starts the Chromium of the run, whose library takes a while to load. */
async function startBrowser() {
  const { startBrowserProcess } = await import('../test/support/browser-process.ts');
  return startBrowserProcess(print);
}

async function runAll(files: readonly string[]): Promise<readonly Result[]> {
  const bin = flags.postgres ? serverPrograms() : null;
  if (flags.postgres && !bin) return skipAll(files, 'PostgreSQL is not installed (package postgresql)');
  // Tests start programs from dist/.
  execFileSync(process.execPath, [builder, '--if-stale'], { stdio: ['ignore', 2, 2] });
  buildTests();
  const needsBrowser = files.some((file) => readFileSync(file, 'utf8').includes('support/browser.ts'));
  const browser = needsBrowser ? await startBrowser() : null;
  const postgres = bin ? await startPostgres(bin) : null;
  const shared = {
    ...(browser && { TEST_BROWSER: browser.address }),
    ...(postgres && { TEST_POSTGRES: postgres.folder }),
  };
  const run = async (batch: readonly string[]): Promise<readonly Result[]> => {
    const results = await runBatch(batch, shared, print);
    for (const result of results)
      print(`${result.failed ? '✗' : '✓'} ${result.file}  ${describe(result)}  ${result.seconds.toFixed(1)} s`);
    return results;
  };
  const slow = new PQueue({ concurrency: cores + WAITING_MORE });
  // Slow files leave some of the processor to one process with fast ones, which have all of it afterwards.
  const fast = new PQueue({ concurrency: files.some(isSlow) ? 1 : cores + FAST_MORE });
  slow.once('idle', () => {
    fast.concurrency = cores + FAST_MORE;
  });
  const runOn = async (queue: PQueue, some: readonly string[]): Promise<readonly Result[]> =>
    (await Promise.all(batchesOf(some).map((batch) => queue.add(() => run(batch))))).flat();
  const onNodes = files.filter(isOnNodes);
  const runOnNodes = async (): Promise<readonly Result[]> => {
    if (onNodes.length === 0) return [];
    const why = await buildGeth(print);
    return why ? skipAll(onNodes, why) : runOn(slow, onNodes);
  };
  try {
    // Whole installations wait longest: begun last, they would be left over.
    const isWhole = (file: string) => file.startsWith('test/e2e/');
    const own = files.filter((file) => isSlow(file) && !isOnNodes(file));
    const waiting = [...own.filter(isWhole), ...own.filter((file) => !isWhole(file))];
    const busy = files.filter((file) => !isSlow(file));
    return (await Promise.all([runOnNodes(), runOn(slow, waiting), runOn(fast, busy)])).flat();
  } finally {
    await browser?.stop();
    postgres?.stop();
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    killRunning();
    process.kill(process.pid, signal);
  });
}

const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => `test/${name}`)
  .filter(isChosen)
  .sort();
if (files.length === 0) print(`no path of a test file contains any of these words: ${words.join(' ')}`);
const results = await runAll(files);
const sum = (pick: (result: Result) => number) => results.reduce((total, result) => total + pick(result), 0);
const failed = sum((result) => result.failed);
for (const { file } of results.filter((result) => result.failed)) print(`✗ ${file}`);
print(`\n${describe({ passed: sum(({ passed }) => passed), failed, skipped: sum(({ skipped }) => skipped) })}`);
process.exitCode = failed > 0 || results.length === 0 ? 1 : 0;
