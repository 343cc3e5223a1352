/**
 * A machine is lost while it writes, twenty times: the standby's copy is restored and compared with what was committed.
 * Prints what was lost and how long restoring took.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkIntegrity } from '../../src/database/engine/inspection.ts';
import { runnable } from '../../src/lib/installation.ts';
import { createDatabaseFile } from '../support/database-file.ts';
import { until } from '../support/until.ts';

const KILLS = 20;
/** The copy is made every second; the rest is for a busy machine. */
const LOST_MS_MAX = 15_000;

const checker = 'deploy/standby/check-litestream.sh';
const folder = mkdtempSync(join(tmpdir(), 'quayside-kills-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));
/** The path of the program that copies a database to a standby; null where it is not installed. */
const litestream =
  ['.tmp/litestream/bin/litestream', 'litestream'].find((path) => spawnSync(path, ['version']).status === 0) ?? null;
const on = litestream === null ? test.skip : test;

/** Waits until all that it printed is here, too. */
async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'close');
  child.kill('SIGKILL');
  await ended;
}

/** @returns the newest number that was committed and that was restored, with their times, and what restoring took */
async function loseMachine(program: string, round: number) {
  const own = join(folder, `${round}`);
  const [file, replica, restored] = [`${own}.db`, `file://${own}-replica`, `${own}-restored.db`];
  createDatabaseFile(file);
  const copying = spawn(program, ['replicate', file, replica], { stdio: 'ignore' });
  const module = fileURLToPath(runnable(new URL('./standby-writer.ts', import.meta.url)));
  const writing = spawn(process.execPath, [...process.execArgv, module, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  writing.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  try {
    await once(writing.stdout, 'data');
    // The first copy is of the empty file; one of the next has rows.
    await until('three copies are there', () => globSync(`${own}-replica/ltx/0/*.ltx`).length > 2);
    await sleep(1_500 + 97 * round);
  } finally {
    await Promise.all([kill(writing), kill(copying)]);
  }
  const lines = said.split('\n').filter((line) => /^\d+ \d+$/.test(line));
  const [number = 0, atMs = 0] = (lines.at(-1) ?? '').split(' ').map(Number);
  const startedMs = Date.now();
  execFileSync(program, ['restore', '-o', restored, replica], { stdio: 'ignore' });
  const tookMs = Date.now() - startedMs;
  const { pages, foreignKeys } = checkIntegrity(restored);
  const copy = new Sqlite(restored, { readonly: true });
  const rows = copy.prepare("SELECT message, at_ms FROM alarms WHERE code = 'written' ORDER BY at_ms, id").all() as {
    message: string;
    at_ms: number;
  }[];
  copy.close();
  return { number, atMs, rows, tookMs, damage: [...pages, ...foreignKeys] };
}

on('after twenty kills each copy is whole, has no holes, and lacks seconds at most (needs litestream)', async () => {
  const program = litestream ?? '';
  const lost: number[] = [];
  const took: number[] = [];
  for (let round = 0; round < KILLS; round++) {
    const { number, atMs, rows, tookMs, damage } = await loseMachine(program, round);
    assert.equal(damage, []);
    // Of alarms, only the newest are kept: the oldest number is any.
    const numbers = rows.map(({ message }) => Number(message));
    const [first = 0] = numbers;
    const hole = numbers.findIndex((one, at) => one !== first + at);
    assert.is(hole, -1, `after ${numbers[hole - 1]} comes ${numbers[hole]}`);
    const last = numbers.at(-1) ?? 0;
    assert.ok(number > 0 && last <= number + 1, `${last} of ${number}`);
    lost.push(Math.max(0, atMs - (rows.at(-1)?.at_ms ?? 0)));
    took.push(tookMs);
  }
  const spread = (all: number[]) => `${Math.min(...all)} to ${Math.max(...all)} ms`;
  process.stdout.write(`lost at ${KILLS} kills: ${spread(lost)}; restored in ${spread(took)}\n`);
  assert.ok(Math.max(...lost) <= LOST_MS_MAX, lost.join(' '));
});

on('litestream is accepted by what it bundles (needs litestream)', () => {
  const program =
    litestream === 'litestream' ? execFileSync('which', ['litestream'], { encoding: 'utf8' }).trim() : litestream;
  const { status, stderr } = spawnSync(checker, [program ?? ''], { encoding: 'utf8' });
  assert.is(status, 0, stderr);
});

test.run();
