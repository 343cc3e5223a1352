/**
 * Parts that the benchmarks share: programs in processes of their own, measures in turn with something plain, tables.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtTest } from '../../test/run/build-tests.ts';
import { openProgress, progressBar } from '../cli/output.ts';

/** Measured values, by column. */
export type Row = Readonly<Record<string, number | string>>;

/** Prints rows as a table; all have the columns of the first. */
export function show(title: string, rows: readonly Row[]): void {
  const columns = Object.keys(rows[0] ?? {});
  const widths = columns.map((name) => Math.max(name.length, ...rows.map((row) => String(row[name]).length)));
  const line = (cells: readonly unknown[]) =>
    `  ${cells.map((cell, at) => String(cell).padStart(widths[at] ?? 0)).join('  ')}\n`;
  process.stdout.write(
    `\n${title}\n${line(columns)}${rows.map((row) => line(columns.map((name) => row[name]))).join('')}`,
  );
}

/** Rounds to `places` decimals. */
export const round = (value: number, places = 2): number => Number(value.toFixed(places));

/** Returns the value that `share` of all values do not exceed; 0 without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

/** Returns the middle one of the values. */
export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Opens a progress bar on standard error. */
export function progress(title: string, total: number) {
  const { show, end } = openProgress();
  return { step: (done: number, note?: string) => show(progressBar(`  ${title}`, done, total, note)), end };
}

/** Measures of one run, of something plain and of ours, in the same unit. */
type Pair = Readonly<{ plain: number; ours: number }>;

/** Measures both in turn, so that what else happens on the machine meets both. */
export async function inTurn(
  runs: number,
  plain: () => Promise<number>,
  ours: () => Promise<number>,
): Promise<readonly Pair[]> {
  const pairs: Pair[] = [];
  for (let run = 0; run < runs; run++) pairs.push({ plain: await plain(), ours: await ours() });
  return pairs;
}

/** Returns the medians of both, and of their ratio in each run. */
export const ratioOf = (pairs: readonly Pair[], names: Readonly<{ plain: string; ours: string }>): Row => ({
  [names.plain]: round(median(pairs.map(({ plain }) => plain)), 0),
  [names.ours]: round(median(pairs.map(({ ours }) => ours)), 0),
  ratio: round(median(pairs.map(({ plain, ours }) => ours / plain))),
});

/** Returns the processor time that all cores together have spent since the machine started, in ms. */
function busyMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
}

type Machine = Readonly<{
  node: string;
  cores: number;
  arch: string;
  model: string;
  loadavg: readonly number[];
}>;

/** `loadavg` covers the last 1, 5 and 15 minutes: above 0 before a run, other processes are running. */
export const machine = (): Machine => ({
  node: process.version,
  cores: availableParallelism(),
  arch: process.arch,
  model: cpus()[0]?.model ?? 'unknown',
  loadavg: loadavg().map((load) => Number(load.toFixed(2))),
});

/**
 * Starts to measure the machine.
 * @returns a function that returns how many percent of all cores went to other processes; `ownCpuMs` is what the
 * measured ones took
 */
export function watchOthers(): (ownCpuMs: number) => number {
  const startedAtMs = performance.now();
  const before = busyMs();
  return (ownCpuMs) => {
    const capacityMs = (performance.now() - startedAtMs) * availableParallelism();
    return Math.max(0, Math.round((100 * (busyMs() - before - ownCpuMs)) / capacityMs));
  };
}

type WorkerOptions = Readonly<{ execArgv?: string[]; env?: NodeJS.ProcessEnv }>;

/**
 * Starts a program that sends messages, as the compiler has written it: what compiles TypeScript while it is loaded
 * also makes functions slower.
 */
export const startProgram = (program: URL, words: readonly string[], options: WorkerOptions = {}) =>
  fork(builtTest(relative('.', fileURLToPath(program))), words, { execArgv: [], ...options });

/** Starts a program and waits for its first message. @returns the process and that message */
export async function startWorker<Message>(
  ...program: Parameters<typeof startProgram>
): Promise<readonly [ChildProcess, Message]> {
  const child = startProgram(...program);
  const [message] = (await once(child, 'message')) as [Message];
  return [child, message];
}

/** Disconnects from a program, which ends it. */
export async function endWorker(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.disconnect();
  await exited;
}
