/**
 * The test command: runs the test files, slowest first, and ends with the counts on one line. As many processes as
 * there are cores run at a time; of slow files, which mostly wait for blocks, two more, and beside them one with fast
 * files. A slow file has a process of its own; fast ones of one folder share one.
 *
 *   npm test                      the fast files: every `*.test.ts` except `*.slow.test.ts`
 *   npm run test:rest             the slow files only
 *   npm run test:all              both
 *   npm run test:nodes            the files in `test/nodes/`, which those above leave out: on real nodes, built once
 *   npm test -- --all --nodes     every file; those in `test/nodes/` start as soon as a node is built
 *   npm test -- database follow   the files, fast or slow, whose path contains one of the words
 *
 * `TEST_JOBS` changes how many processes run at a time. With `--second-try`, a slow file that fails runs once more, at
 * most three of them; what passes then counts as passed, and the end names it: it has a race, which is to be mended.
 */
import '../src/lib/runtime.ts';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import PQueue from 'p-queue';
import { buildGeth } from '../test/nodes/geth-binary.ts';
import { batchesOf } from '../test/run/batches.ts';
import { buildTests } from '../test/run/build-tests.ts';
import { makeMemoryFolder } from '../test/run/memory-folder.ts';
import { killGroup, type Result, runBatch, running } from '../test/run/run-batch.ts';
import { startBrowserProcess } from '../test/support/browser-process.ts';

const STILL_RUNNING_MS = 30_000;
/** Of files that mostly wait, so many more run at a time than there are cores. */
const WAITING_MORE = 2;
/** Where more slow files fail, it is not chance. */
const SECOND_TRIES_MAX = 3;
/** How many seconds each file took when it last ran here. */
const TIMES_FILE = '.tmp/test-times.json';
/** The same for a fresh checkout: the files that take longest. */
const usualTimes = fileURLToPath(new URL('../test/usual-times.json', import.meta.url));
const builder = fileURLToPath(new URL('./build.mjs', import.meta.url));

const { values: flags, positionals: words } = parseArgs({
  options: {
    all: { type: 'boolean' },
    rest: { type: 'boolean' },
    nodes: { type: 'boolean' },
    'second-try': { type: 'boolean' },
  },
  allowPositionals: true,
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);

function readTimes(path: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return {};
  }
}

const isOnNodes = (file: string): boolean => file.startsWith('test/nodes/');

function chooseFiles(): string[] {
  const isWanted = (file: string) => {
    if (words.length > 0 && !words.some((word) => file.includes(word))) return false;
    if (isOnNodes(file)) return Boolean(flags.nodes);
    if (flags.nodes && !flags.rest && !flags.all) return false;
    const isSlow = file.endsWith('.slow.test.ts');
    return flags.all || (flags.rest ? isSlow : words.length > 0 || !isSlow);
  };
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/${name}`)
    .filter(isWanted);
}

const describe = ({ passed, failed, skipped }: Pick<Result, 'passed' | 'failed' | 'skipped'>) =>
  `${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`;

/** Counts each file as one skipped test, and names it. */
function skipAll(files: readonly string[], why: string): readonly Result[] {
  for (const file of files) print(`- ${file}  skipped: ${why}`);
  return files.map((file) => ({ file, passed: 0, failed: 0, skipped: 1, seconds: 0 }));
}

const waitsOften = (file: string): boolean => file.endsWith('.slow.test.ts') || isOnNodes(file);

/**
 * Returns the queue of a file. Waiting files leave some of the processor: meanwhile one process with busy files takes
 * it, and afterwards those have all cores.
 */
function openQueues(files: readonly string[]): (file: string) => PQueue {
  const given = Number(process.env.TEST_JOBS);
  if (given > 0) {
    const only = new PQueue({ concurrency: given });
    return () => only;
  }
  const cores = availableParallelism();
  const waiting = new PQueue({ concurrency: cores + WAITING_MORE });
  const busy = new PQueue({ concurrency: files.some(waitsOften) ? 1 : cores });
  waiting.once('idle', () => {
    busy.concurrency = cores;
  });
  return (file) => (waitsOften(file) ? waiting : busy);
}

/** The files that failed before they passed. */
const passedLater: string[] = [];
let secondTries = 0;

/** Runs a batch and, where that is asked for, a slow file that failed a second time. */
async function tryBatch(batch: readonly string[], env: NodeJS.ProcessEnv): Promise<readonly Result[]> {
  const results = await runBatch(batch, env, print);
  const [file = '', ...more] = batch;
  const isTriedAgain = flags['second-try'] && more.length === 0 && waitsOften(file) && results[0]?.failed !== 0;
  if (!isTriedAgain || secondTries >= SECOND_TRIES_MAX) return results;
  secondTries++;
  print(`… ${file} failed, and runs a second time`);
  const again = await runBatch(batch, env, print);
  if (again.every(({ failed }) => failed === 0)) passedLater.push(file);
  return again;
}

async function runAll(files: readonly string[]): Promise<readonly Result[]> {
  // Tests start programs from dist/.
  execFileSync(process.execPath, [builder, '--if-stale'], { stdio: ['ignore', 2, 2] });
  await buildTests(files.length);
  const needsBrowser = files.some((file) => readFileSync(file, 'utf8').includes('support/browser.ts'));
  const browser = needsBrowser ? await startBrowserProcess(print) : null;
  // Whoever chose a folder keeps it.
  const folder = process.env.TMPDIR === undefined ? makeMemoryFolder() : null;
  const env = { ...(browser && { TEST_BROWSER: browser.address }), ...(folder && { TMPDIR: folder.path }) };
  const stillRunning = setInterval(() => {
    const nowMs = performance.now();
    const names = [...running.values()].map(
      ({ name, startedAtMs }) => `${name} (${Math.round((nowMs - startedAtMs) / 1000)} s)`,
    );
    print(`… running: ${names.join(', ')}`);
  }, STILL_RUNNING_MS);
  const queueOf = openQueues(files);
  let ended = 0;
  const place = () => `${String(++ended).padStart(String(files.length).length)}/${files.length}`;
  const run = async (batch: readonly string[]): Promise<readonly Result[]> => {
    const results = await tryBatch(batch, env);
    for (const result of results) {
      const mark = result.failed ? '✗' : '✓';
      print(`${mark} ${place()} ${result.file}  ${describe(result)}  ${result.seconds.toFixed(1)} s`);
    }
    return results;
  };
  const times = { ...readTimes(usualTimes), ...readTimes(TIMES_FILE) };
  const runEach = async (some: readonly string[], priority: number): Promise<readonly Result[]> =>
    (
      await Promise.all(
        batchesOf(some, times).map((batch) => queueOf(batch[0] ?? '').add(() => run(batch), { priority })),
      )
    ).flat();
  const runOnNodes = async (some: readonly string[]): Promise<readonly Result[]> => {
    if (some.length === 0) return [];
    const why = await buildGeth(print);
    return why ? skipAll(some, why) : runEach(some, 1);
  };
  const rest = files.filter((file) => !isOnNodes(file));
  try {
    // What runs on real nodes comes first, once they are built; the others do not wait for that.
    return (await Promise.all([runOnNodes(files.filter(isOnNodes)), runEach(rest, 0)])).flat();
  } finally {
    clearInterval(stillRunning);
    browser?.stop();
    folder?.remove();
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const child of running.keys()) killGroup(child);
    process.kill(process.pid, signal);
  });
}

const files = chooseFiles();
const results = await runAll(files);
const sum = (pick: (result: Result) => number) => results.reduce((total, result) => total + pick(result), 0);
const totals = {
  passed: sum(({ passed }) => passed),
  failed: sum(({ failed }) => failed),
  skipped: sum(({ skipped }) => skipped),
};

mkdirSync('.tmp', { recursive: true });
const ran = results.filter(({ seconds }) => seconds > 0);
const seen = Object.fromEntries(ran.map(({ file, seconds }) => [file, Math.round(seconds * 10) / 10]));
writeFileSync(TIMES_FILE, `${JSON.stringify({ ...readTimes(TIMES_FILE), ...seen }, null, 2)}\n`);

if (files.length === 0) print(`no path of a test file contains any of these words: ${words.join(' ')}`);
for (const file of passedLater) print(`! ${file} passed only at the second try: it has a race`);
print(`\n${describe(totals)}`);
process.exitCode = totals.failed > 0 || results.length === 0 ? 1 : 0;
