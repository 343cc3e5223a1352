/**
 * Measures the size of a million sessions on the disk and in a backup, before and after old data is removed, and the
 * cost of removing it. The installation is a whole sandbox. Its sessions can be paid on four networks.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { openRetention, runRetention } from '../../src/app/retention.ts';
import { loadConfig } from '../../src/config/config.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import { built } from '../../test/support/built.ts';
import {
  endAll,
  find,
  runProgram,
  type SandboxInstallation,
  sandboxInstallation,
} from '../../test/support/quayside-process.ts';
import { payersPages } from './payers-pages.ts';
import { judgeP99, progress, quantile, type Row, round, show } from './report.ts';
import { addYear } from './year-of-sessions.ts';

const SESSIONS = 1_000_000;
const SESSIONS_SHORT = 150_000;
const ANONYMISE_DAYS = 90;
const RUNS = 5;
const GB = 1e9;
const KB_PER_MB = 1024;

/** @param isShort with fewer sessions, for a quick look */
export async function benchRetention({ isShort }: Readonly<{ isShort: boolean }>): Promise<Row[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'quayside-bench-'));
  const installation = sandboxInstallation(dataDir, { QUAYSIDE_RETENTION__ANONYMISE_DAYS: String(ANONYMISE_DAYS) });
  const rows: Row[] = [];
  const keep = (title: string, row: Row) => {
    show(title, [row]);
    rows.push(row);
  };
  try {
    const paid = await fill(dataDir, installation, isShort ? SESSIONS_SHORT : SESSIONS);
    keep('A year of sessions', sizeOf(dataDir));
    keep('A backup of it', await backUp(dataDir, installation, true));
    await installation.start();
    const { url } = (await installation.showSession(paid)) as unknown as { url: string };
    keep('Removing beside a payer’s page', await removeBeside(installation, url));
    await endAll();
    keep('The rest of it, while nothing else runs', await removeRest(installation));
    keep('A year of sessions, made anonymous', sizeOf(dataDir));
    keep('A backup of it', await backUp(dataDir, installation, false));
    return rows;
  } finally {
    await endAll();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Makes an installation with a year of sessions. @returns the id of a paid one that the shop knows */
async function fill(dataDir: string, installation: SandboxInstallation, sessions: number): Promise<string> {
  const shop = createServer((_, response) => void response.end('{"received":true}')).listen(0, '127.0.0.1');
  await once(shop, 'listening');
  await installation.start();
  const { port } = shop.address() as AddressInfo;
  await installation.tool('webhooks', 'add', `http://127.0.0.1:${port}/quayside`, '--mode', 'test');
  const { id: paid } = await installation.createSession();
  const { id: unpaid } = await installation.createSession();
  await installation.tool('pay', paid, '--network', 'tron');
  await installation.paid(paid);
  await installation.cancelSession(unpaid);
  await find('both webhooks are delivered', async () => {
    const { deliveries } = await installation.tool('webhooks', 'list');
    return deliveries.filter((one: { state: string }) => one.state === 'delivered').length >= 2;
  });
  await endAll();
  shop.close();
  const bar = progress('filling the database', 1);
  addYear(dataDir, sessions, { paid, unpaid }, systemClock.nowMs(), (done, of) => bar.step(done / of));
  bar.end();
  return paid;
}

function sizeOf(dataDir: string): Row {
  const file = databaseFile(dataDir);
  const client = new Sqlite(file);
  client.pragma('wal_checkpoint(TRUNCATE)');
  const of = (pragma: string) => Number(client.pragma(pragma, { simple: true }));
  const freeBytes = of('freelist_count') * of('page_size');
  const sessions = Number(client.prepare('SELECT count(*) FROM sessions').pluck().get());
  client.close();
  const { size } = statSync(file);
  return {
    sessions,
    'file GB': round(size / GB),
    'in use GB': round((size - freeBytes) / GB),
    'kB a session': round((size - freeBytes) / sessions / 1e3),
  };
}

/** Makes a backup, and proves it if asked to, while nothing runs. */
async function backUp(dataDir: string, installation: SandboxInstallation, isProved: boolean): Promise<Row> {
  const to = join(dataDir, 'bench-backups');
  const passphrase = join(dataDir, 'bench-passphrase');
  mkdirSync(to);
  writeFileSync(passphrase, 'only for this benchmark', { mode: 0o600 });
  const withPassphrase = ['--passphrase-file', passphrase];
  const makeS = await timed(installation, 'backup', '--to', to, ...withPassphrase, '--without-signer');
  const file = join(to, readdirSync(to)[0] ?? '');
  const { size } = statSync(file);
  const made = { 'backup GB': round(size / GB, 3), 'backup s': round(makeS, 0) };
  const verify = ['backup', 'verify', file, ...withPassphrase, '--scratch', dataDir];
  const row = isProved ? { ...made, 'verify s': round(await timed(installation, ...verify), 0) } : made;
  rmSync(to, { recursive: true });
  return row;
}

/** Runs a command in a process of its own. @returns the seconds that it took */
async function timed({ variables }: SandboxInstallation, ...words: string[]): Promise<number> {
  const sinceMs = performance.now();
  const { code, stdout, stderr } = await runProgram(['scripts/quayside.ts', ...words], variables);
  if (code !== 0) throw new Error(`quayside ${words.join(' ')} ended with ${code}: ${stdout}${stderr}`);
  return (performance.now() - sinceMs) / 1000;
}

/** Runs the program of every night for as long as payers look at pages. What it leaves is done the next time. */
async function removeBeside({ variables }: SandboxInstallation, pageUrl: string): Promise<Row> {
  const p99s = async (): Promise<number[]> => {
    const all: number[] = [];
    for (let run = 0; run < RUNS; run++) all.push(quantile(await payersPages(pageUrl), 0.99));
    return all;
  };
  const quietMs = quantile(await p99s(), 0.5);
  const child = spawn(process.execPath, [built('scripts/nightly-retention.ts')], {
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  const besideMs = quantile(await p99s(), 0.5);
  const peakKb = peakMemoryKb(child.pid ?? 0);
  child.kill('SIGTERM');
  const [code] = await ended;
  if (code !== 0) throw new Error(`removing ended with ${code}`);
  return {
    'peak memory MB': round(peakKb / KB_PER_MB, 0),
    'p99 quiet ms': round(quietMs, 1),
    'p99 beside ms': round(besideMs, 1),
    target: judgeP99(quietMs, besideMs),
  };
}

/** Does what is left without pauses, in this process. */
async function removeRest({ variables }: SandboxInstallation): Promise<Row> {
  const config = loadConfig({ env: { ...process.env, ...variables }, cwd: process.cwd() });
  const database = openRetention(config, variables);
  const sinceMs = performance.now();
  const cpu = process.cpuUsage();
  try {
    const done = await runRetention({ config, database, clock: { ...systemClock, sleep: async () => {} } });
    const { user, system } = process.cpuUsage(cpu);
    return {
      ...done,
      'took s': round((performance.now() - sinceMs) / 1000, 0),
      'CPU s': round((user + system) / 1e6, 0),
    };
  } finally {
    database.close();
  }
}

/** Returns the largest resident set that a process has had; 0 once it is gone. */
function peakMemoryKb(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
