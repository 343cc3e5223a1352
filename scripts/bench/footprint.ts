/**
 * The sandbox as it is delivered: how long `npm start` takes until it is ready, and what each process costs then.
 *
 * Memory is the proportional set size (PSS) from /proc, so this needs Linux: a page that n processes share counts as
 * 1/n in each, and the sum is what the whole takes. Node's executable is copied first, so that no page of it is shared
 * with other programs on the machine.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, join, relative } from 'node:path';
import { readServerFile } from '../../src/app/server-file.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { installationFolder } from '../../src/lib/installation.ts';
import { median, progress, type Row, round, show } from './frame.ts';
import { cpuMsOf, parentOf, readText } from './processes.ts';

const IDLE_MS = 30_000;
const LOOK_MS = 5;
const READY_MS_MAX = 240_000;
const KB_PER_MB = 1024;

type Footprint = Readonly<{ name: string; pssMb: number; cpuMs: number }>;
/** `idlePercent`: of one core, while nothing is asked of it. */
type Start = Readonly<{
  firstMs: number;
  laterMs: number;
  cpuMs: number;
  idlePercent: number;
  processes: readonly Footprint[];
}>;

/** Starts the built sandbox several times and measures it. */
export async function benchFootprint({ isShort }: Readonly<{ isShort: boolean }>): Promise<Row[]> {
  const startsMax = isShort ? 1 : 3;
  const folder = mkdtempSync(join(tmpdir(), 'quayside-footprint-'));
  const bar = progress('starts', startsMax);
  try {
    const node = join(folder, 'bin/node');
    mkdirSync(join(folder, 'bin'));
    copyFileSync(process.execPath, node);
    const starts: Start[] = [];
    while (starts.length < startsMax) {
      const dataDir = join(folder, `data-${starts.length}`);
      // Of the first start, which creates the database, the wallets and the first addresses, only the time is taken.
      const first = await measure(dataDir, join(folder, 'bin'), 0);
      const later = await measure(dataDir, join(folder, 'bin'), IDLE_MS);
      starts.push({ ...later, firstMs: first.readyMs, laterMs: later.readyMs });
      bar.step(starts.length);
    }
    bar.end();
    return report(starts);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function report(starts: readonly Start[]): Row[] {
  const time: Row = {
    starts: starts.length,
    'first start ms': round(median(starts.map(({ firstMs }) => firstMs)), 0),
    'later start ms': round(median(starts.map(({ laterMs }) => laterMs)), 0),
    'CPU ms of it': round(median(starts.map(({ cpuMs }) => cpuMs)), 0),
    'idle CPU % of a core': round(median(starts.map(({ idlePercent }) => idlePercent)), 1),
    'PSS MB': round(median(starts.map(({ processes }) => sum(processes.map(({ pssMb }) => pssMb)))), 0),
  };
  const names = starts[0]?.processes.map(({ name }) => name) ?? [];
  const rows = names.map((name): Row => {
    const all = starts.flatMap(({ processes }) => processes.filter((one) => one.name === name));
    const of = (value: (one: Footprint) => number) => round(median(all.map(value)), 1);
    return { process: name, 'PSS MB': of(({ pssMb }) => pssMb), 'CPU ms until idle': of(({ cpuMs }) => cpuMs) };
  });
  show('From `npm start` until it is ready, medians', [time]);
  show(`Each process, ${IDLE_MS / 1000} s after that, medians`, rows);
  return [time, ...rows];
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const cpuMsOfAll = (processes: readonly Footprint[]): number => sum(processes.map(({ cpuMs }) => cpuMs));

/** Runs `npm start` until it has been ready for `idleMs`. */
async function measure(dataDir: string, bin: string, idleMs: number) {
  const startedAtMs = performance.now();
  const child = spawn('npm', ['start'], {
    cwd: installationFolder,
    env: {
      ...process.env,
      PATH: `${bin}${delimiter}${process.env.PATH}`,
      QUAYSIDE_DATA_DIR: dataDir,
      QUAYSIDE_PORT: '0',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  try {
    await untilReady(dataDir, child);
    const readyMs = performance.now() - startedAtMs;
    const cpuMs = cpuMsOfAll(footprints(child.pid ?? 0));
    await systemClock.sleep(idleMs / 2);
    const halfwayMs = cpuMsOfAll(footprints(child.pid ?? 0));
    await systemClock.sleep(idleMs / 2);
    const processes = footprints(child.pid ?? 0);
    const idlePercent = idleMs === 0 ? 0 : (100 * (cpuMsOfAll(processes) - halfwayMs)) / (idleMs / 2);
    return { readyMs, cpuMs, idlePercent, processes };
  } finally {
    child.kill('SIGTERM');
    if (child.exitCode === null) await new Promise((resolve) => child.once('exit', resolve));
  }
}

/** Waits until `/readyz` says that requests are answered and networks are followed. */
async function untilReady(dataDir: string, child: ChildProcess): Promise<void> {
  const giveUpAtMs = performance.now() + READY_MS_MAX;
  while (performance.now() < giveUpAtMs) {
    if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode}`);
    const running = readServerFile(dataDir);
    if (running && (await fetch(`${running.base_url}/readyz`)).ok) return;
    await systemClock.sleep(LOOK_MS);
  }
  throw new Error(`the sandbox was not ready within ${READY_MS_MAX} ms`);
}

/** Returns a process and its descendants, in the order of their start. */
function footprints(root: number): Footprint[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (pid > 0) parents.set(pid, parentOf(pid));
  }
  const isOurs = (pid: number): boolean => pid === root || (parents.has(pid) && isOurs(parents.get(pid) ?? 0));
  return [...parents.keys()]
    .filter(isOurs)
    .sort((a, b) => a - b)
    .map(footprintOf);
}

function footprintOf(pid: number): Footprint {
  const pssKb = /^Pss:\s+(\d+) kB/m.exec(readText(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0;
  return { name: nameOf(pid), pssMb: Number(pssKb) / KB_PER_MB, cpuMs: cpuMsOf(pid) };
}

/** Returns the program and the networks or services that its arguments name. */
function nameOf(pid: number): string {
  const words = readText(`/proc/${pid}/cmdline`).split('\0').filter(Boolean);
  const program = words.find((word) => word.endsWith('.js'));
  if (!program) return words.join(' ') || String(pid);
  const network = words.at(words.indexOf(program) + 1);
  const name = program.includes('/dist/') ? relative(join(installationFolder, 'dist'), program) : basename(program);
  return network?.includes(':') ? `${name} ${network}` : name;
}
