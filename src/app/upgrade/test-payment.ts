/**
 * One payment from end to end in a sandbox of its own, with the programs of this version: its API, follower, database
 * and webhooks work on this machine before they touch an installation's data.
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readShipped, runnable } from '../../lib/installation.ts';
import { openScratch } from '../backup/scratch.ts';

/** Everything together: start, payment and webhook take some ten seconds on an idle machine. */
const PATIENCE_MS = 150_000;
const STOP_MS_MAX = 15_000;
const BLOCK_MS = 200;
/** Of what the programs wrote, for the message about a failure. */
const TAIL_CHARS = 600;

/** `why` is null if the payment came through. */
export type TestPayment = Readonly<{ why: string | null; ms: number }>;

/**
 * Runs it below a data folder, and removes it. Nothing outside of that folder is read or written, and nothing listens
 * but on loopback.
 * @param patienceMs how long all of it may take
 */
export async function runTestPayment(
  dataDir: string,
  env: NodeJS.ProcessEnv,
  { signal, patienceMs = PATIENCE_MS }: Readonly<{ signal?: AbortSignal; patienceMs?: number }> = {},
): Promise<TestPayment> {
  const sinceMs = performance.now();
  const scratch = openScratch(dataDir, 'testing-upgrade');
  const ended = AbortSignal.any([AbortSignal.timeout(patienceMs), ...(signal ? [signal] : [])]);
  try {
    const variables = { ...withoutOurs(env), QUAYSIDE_CONFIG: writeSettings(scratch.folder) };
    const installation = start('../../main.ts', [], variables);
    try {
      const payment = start('../../../scripts/demo.ts', ['--json'], variables);
      const why = await outcomeOf(installation, payment, ended);
      return { why, ms: performance.now() - sinceMs };
    } finally {
      await end(installation);
    }
  } finally {
    scratch.remove();
  }
}

type Started = Readonly<{ child: ChildProcess; exit: Promise<number | null>; said(): string }>;

function start(module: string, args: readonly string[], env: NodeJS.ProcessEnv): Started {
  const file = fileURLToPath(runnable(new URL(module, import.meta.url)));
  const child = spawn(process.execPath, [...process.execArgv, file, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  const keep = (chunk: Buffer): void => {
    text = (text + chunk.toString()).slice(-TAIL_CHARS);
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const exit = new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      keep(Buffer.from(String(error)));
      resolve(null);
    });
    child.once('exit', resolve);
  });
  return { child, exit, said: () => text.trim() };
}

/** @returns null, or why there was no payment */
async function outcomeOf(installation: Started, payment: Started, ended: AbortSignal): Promise<string | null> {
  const timeout = once(ended, 'abort').then(() => 'timeout' as const);
  const first = await Promise.race([
    payment.exit.then((code) => ({ code })),
    installation.exit.then(() => 'stopped' as const),
    timeout,
  ]);
  if (typeof first === 'object' && first.code === 0) return null;
  payment.child.kill('SIGKILL');
  if (first === 'stopped') return `the test installation ended: ${installation.said()}`;
  if (first === 'timeout') return `it was not done in time: ${payment.said() || installation.said()}`;
  return payment.said();
}

async function end({ child, exit }: Started): Promise<void> {
  child.kill('SIGTERM');
  const late = AbortSignal.timeout(STOP_MS_MAX);
  late.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
  await exit;
}

/** The installation's own settings, and what systemd tells its supervisor, are not the test's. */
const withoutOurs = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => !/^(QUAYSIDE_|NOTIFY_SOCKET$|WATCHDOG_|LISTEN_|CREDENTIALS_DIRECTORY$|NODE_CHANNEL_)/.test(name),
    ),
  );

/** Writes the settings of a sandbox with one network and quick blocks. @returns their file */
function writeSettings(folder: string): string {
  const { networks } = readShipped<{ networks: Record<string, unknown> }>('config/sandbox.json');
  const [network = ''] = Object.keys(networks);
  const file = join(folder, 'quayside.json');
  const quick = { block_time_ms: BLOCK_MS, poll_ms: BLOCK_MS };
  const settings = {
    ...readShipped<Record<string, unknown>>('config/sandbox.json'),
    ...{ data_dir: 'data', host: '127.0.0.1', port: 0, signer: null, networks: { [network]: quick } },
    limits: { pool_target: 5 },
    retention: { nightly: null },
    evidence: { nightly: null },
  };
  mkdirSync(join(folder, 'data'), { mode: 0o700 });
  writeFileSync(file, JSON.stringify(settings), { mode: 0o600 });
  return file;
}
