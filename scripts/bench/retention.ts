/**
 * What a million sessions of a year take on the disk and in a backup, before and after old data is archived; what
 * archiving costs meanwhile; and how long the checks before an upgrade take. The installation is a whole sandbox.
 * @module
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
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
const SESSIONS_SHORT = 20_000;
const ANONYMISE_DAYS = 90;
const QUIET_RUNS = 3;
const GB = 1e9;
const KB_PER_MB = 1024;
/** Blocks come as seldom as on a live network, once the two sessions to copy are there. */
const BLOCK_MS = 1_000;
const slowBlocks = Object.fromEntries(
  ['TRON', 'ETHEREUM', 'BSC', 'SOLANA'].map((name) => [
    `QUAYSIDE_NETWORKS__SANDBOX_${name}__BLOCK_TIME_MS`,
    String(BLOCK_MS),
  ]),
);
const settings = { QUAYSIDE_RETENTION__ANONYMISE_DAYS: String(ANONYMISE_DAYS) };

/** @param isShort with fewer sessions, for a quick look */
export async function benchRetention({ isShort }: Readonly<{ isShort: boolean }>): Promise<Row[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'quayside-bench-'));
  try {
    const paid = await fill(dataDir, isShort ? SESSIONS_SHORT : SESSIONS);
    const installation = sandboxInstallation(dataDir, { ...settings, ...slowBlocks });
    const before = await measureSize('kept', dataDir, installation);
    await installation.start();
    const { url } = (await installation.showSession(paid)) as unknown as { url: string };
    const run = await archive(installation, url);
    await endAll();
    const after = await measureSize('archived', dataDir, installation);
    show('A year of sessions', [before, after]);
    show('Archiving beside a payer’s page', [run]);
    return [before, after, run];
  } finally {
    await endAll();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Makes an installation with a year of sessions. @returns the id of a paid one that the shop knows */
async function fill(dataDir: string, sessions: number): Promise<string> {
  const installation = sandboxInstallation(dataDir, settings);
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

/** Measures the file, and a backup of it with its proof. Nothing runs meanwhile. */
async function measureSize(name: string, dataDir: string, { variables }: SandboxInstallation): Promise<Row> {
  const file = databaseFile(dataDir);
  const client = new Sqlite(file);
  client.pragma('wal_checkpoint(TRUNCATE)');
  const pages = (pragma: string) => Number(client.pragma(pragma, { simple: true }));
  const freeBytes = pages('freelist_count') * pages('page_size');
  const sessions = client
    .prepare('SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM archived_sessions)')
    .raw()
    .get();
  client.close();
  const to = join(dataDir, 'bench-backups');
  const passphrase = join(dataDir, 'bench-passphrase');
  mkdirSync(to, { recursive: true });
  writeFileSync(passphrase, 'only for this benchmark', { mode: 0o600 });
  const tool = async (...words: string[]) => {
    const sinceMs = performance.now();
    const { code, stderr } = await runProgram(['scripts/quayside.ts', ...words], variables);
    if (code !== 0) throw new Error(`quayside ${words.join(' ')} ended with ${code}: ${stderr}`);
    return (performance.now() - sinceMs) / 1000;
  };
  const backupS = await tool('backup', '--to', to, '--passphrase-file', passphrase, '--without-signer');
  const [backup = ''] = readdirSync(to);
  const verifyS = await tool(
    'backup',
    'verify',
    join(to, backup),
    '--passphrase-file',
    passphrase,
    '--scratch',
    dataDir,
  );
  const backupBytes = statSync(join(to, backup)).size;
  rmSync(to, { recursive: true });
  const checkS = await tool('upgrade', '--check', '--without-nodes');
  const [live = 0, archived = 0] = sessions as number[];
  return {
    'old data is': name,
    sessions: live,
    archived,
    'file GB': round(statSync(file).size / GB),
    'in use GB': round((statSync(file).size - freeBytes) / GB),
    'backup GB': round(backupBytes / GB, 3),
    'backup s': round(backupS, 0),
    'verify s': round(verifyS, 0),
    'upgrade --check s': round(checkS, 0),
  };
}

/** Runs the program of every night once. */
async function archive({ variables }: SandboxInstallation, pageUrl: string): Promise<Row> {
  const quiet: number[] = [];
  for (let run = 0; run < QUIET_RUNS; run++) quiet.push(quantile(await payersPages(pageUrl), 0.99));
  const sinceMs = performance.now();
  const child = spawn(process.execPath, [built('scripts/nightly-archive.ts')], {
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  const beside: number[] = [];
  let peakKb = 0;
  while (child.exitCode === null && child.signalCode === null) {
    beside.push(quantile(await payersPages(pageUrl), 0.99));
    peakKb = Math.max(peakKb, peakMemoryKb(child.pid ?? 0));
  }
  await ended;
  if (child.exitCode !== 0) throw new Error(`archiving ended with ${child.exitCode}`);
  const [quietMs, besideMs] = [quantile(quiet, 0.5), quantile(beside, 0.5)];
  return {
    'took s': round((performance.now() - sinceMs) / 1000, 0),
    'peak memory MB': round(peakKb / KB_PER_MB, 0),
    'p99 quiet ms': round(quietMs, 1),
    'p99 beside ms': round(besideMs, 1),
    target: judgeP99(quietMs, besideMs),
  };
}

/** Returns the largest resident set that a process has had; 0 once it is gone. */
function peakMemoryKb(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
