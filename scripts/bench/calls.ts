/**
 * Signed creates of sessions, beside a bare Express that only inserts a row, signed reads, and views of the payment
 * page beside the same Express, which sends the same bytes. The server is the real one, in a sandbox with one network;
 * the client is the same for both.
 */
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Pool } from 'undici';
import { readCredentials } from '../../src/app/sandbox-credentials.ts';
import { readServerFile } from '../../src/app/server-file.ts';
import { systemClock, toSeconds } from '../../src/lib/clock.ts';
import { endAll } from '../../test/support/processes.ts';
import {
  blocksEvery,
  find,
  type SandboxInstallation,
  sandboxInstallation,
} from '../../test/support/quayside-process.ts';
import { signature } from '../../test/support/signed-client.ts';
import { endWorker, inTurn, median, progress, quantile, type Row, ratioOf, round, show, startWorker } from './frame.ts';
import { bytesWrittenBy, cpuMsOf } from './processes.ts';

type Size = Readonly<{ runs: number; burst: number }>;
const whole: Size = { runs: 5, burst: 2_000 };
const short: Size = { runs: 3, burst: 300 };

const BARE_SHOP = new URL('./bare-shop.ts', import.meta.url);
/** So many calls are under way at once. */
export const CONCURRENT = 8;
const NETWORKS = ['ethereum'] as const;
const SESSIONS = '/api/v1/checkout/sessions';
/** One key and one address make all calls, and blocks are not what is measured. */
const SETTINGS = {
  QUAYSIDE_LIMITS__REQUESTS_PER_SECOND_PER_KEY: '100000',
  QUAYSIDE_LIMITS__REQUESTS_PER_SECOND_PER_ADDRESS: '100000',
  QUAYSIDE_LIMITS__PAGES_PER_SECOND_PER_ADDRESS: '100000',
  ...blocksEvery(2_000, NETWORKS),
};

/** A server under measurement: how long its answers took, and what its process spent on them. */
type Target = Readonly<{ pool: Pool; pid: number; times: number[]; cpuMs: number[]; bytes: number[] }>;

export const openTarget = (origin: string, pid: number): Target => ({
  pool: new Pool(origin, { connections: CONCURRENT }),
  pid,
  times: [],
  cpuMs: [],
  bytes: [],
});

/** Measures creates of both in turn, then reads. */
export const benchCalls = (options: BenchOptions): Promise<Row[]> => withBoth(options, measure);

/** Measures views of the page of an open session, with its QR code, by both in turn. */
export const benchPages = (options: BenchOptions): Promise<Row[]> => withBoth(options, measurePages);

type BenchOptions = Readonly<{ isShort: boolean }>;

async function withBoth({ isShort }: BenchOptions, work: (setup: Setup) => Promise<Row[]>): Promise<Row[]> {
  const size = isShort ? short : whole;
  const dir = mkdtempSync(join(tmpdir(), 'quayside-bench-'));
  const [shop, port] = await startWorker<number>(BARE_SHOP, [join(dir, 'bare.db')]);
  const bare = openTarget(`http://127.0.0.1:${port}`, shop.pid ?? 0);
  try {
    const dataDir = join(dir, 'data');
    // The pool is filled again once a fifth of it is used: a burst must leave enough for the next one.
    const settings = { ...SETTINGS, QUAYSIDE_LIMITS__POOL_TARGET: String(2 * size.burst) };
    const sandbox = sandboxInstallation(dataDir, settings, NETWORKS);
    await sandbox.start();
    return await work({ bare, shop, sandbox, dataDir, size });
  } finally {
    await bare.pool.close();
    await endWorker(shop);
    await endAll();
    rmSync(dir, { recursive: true, force: true });
  }
}

type Setup = Readonly<{
  bare: Target;
  shop: ChildProcess;
  sandbox: SandboxInstallation;
  dataDir: string;
  size: Size;
}>;

function runningIn(dataDir: string) {
  const [running, known] = [readServerFile(dataDir), readCredentials(dataDir)];
  if (!running || !known) throw new Error(`no sandbox runs in ${dataDir}`);
  return { running, known };
}

async function measurePages({ bare, shop, sandbox, dataDir, size: { runs, burst } }: Setup): Promise<Row[]> {
  const { base_url: origin, pid } = runningIn(dataDir).running;
  const ours = openTarget(origin, pid);
  const { id } = await sandbox.createSession();
  const path = `/pay/${id}?pay=ethereum-USDT`;
  const html = await textAt(`${origin}${path}`);
  if (!html.includes('class="qr')) throw new Error(`the page at ${path} has no QR code`);
  shop.send(html);
  const [, style = ''] = /<link rel="stylesheet" href="([^"]+)"/.exec(html) ?? [];
  const css = await textAt(new URL(style, `${origin}${path}`).href);
  const bar = progress('pages', runs);
  let done = 0;
  const pair = await inTurn(
    runs,
    () => rateOf(bare, burst, () => send(bare, 'GET', '/', '')),
    async () => {
      const rate = await rateOf(ours, burst, () => send(ours, 'GET', path, ''));
      bar.step(++done);
      return rate;
    },
  );
  bar.end();
  await ours.pool.close();
  const kB = (...texts: readonly string[]) =>
    round(texts.reduce((sum, text) => sum + gzipSync(text).length, 0) / 1000, 1);
  const size: Row = {
    'kB of HTML': round(html.length / 1000, 1),
    'kB compressed': kB(html),
    'with styles': kB(html, css),
  };
  const rows = [rowOf('a bare Express with the same bytes', bare), rowOf('a view of the payment page', ours)];
  const ratio = ratioOf(pair, { plain: 'bare /s', ours: 'ours /s' });
  show(`Views of the payment page beside a bare Express, ${CONCURRENT} at once`, [ratio]);
  show('Each view', rows);
  show('The page', [size]);
  return [ratio, ...rows, size];
}

async function textAt(url: string): Promise<string> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} was answered with ${answer.status}`);
  return answer.text();
}

async function measure({ bare, sandbox, dataDir, size: { runs, burst } }: Setup): Promise<Row[]> {
  const { running, known } = runningIn(dataDir);
  const credentials = { key: known.api_key, secret: known.api_secret };
  const [creates, reads] = [openTarget(running.base_url, running.pid), openTarget(running.base_url, running.pid)];
  const { id } = await sandbox.createSession();
  const bar = progress('calls', 2 * runs);
  let [orders, done] = [0, 0];
  const createPair = await inTurn(
    runs,
    () => rateOf(bare, burst, () => send(bare, 'POST', '/', orderOf(`bench-${orders++}`), credentials)),
    async () => {
      await find('enough deposit addresses', async () =>
        (await sandbox.status()).pools.every(({ free }) => free >= burst),
      );
      const rate = await rateOf(creates, burst, () => createOrder(creates, `bench-${orders++}`, credentials));
      bar.step(++done);
      return rate;
    },
  );
  const readRates: number[] = [];
  for (let run = 0; run < runs; run++) {
    readRates.push(await rateOf(reads, burst, () => send(reads, 'GET', `${SESSIONS}/${id}`, '', credentials)));
    bar.step(++done);
  }
  bar.end();
  await Promise.all([creates, reads].map(({ pool }) => pool.close()));
  const cpuPair = bare.cpuMs.map((ms, run) => ({ plain: ms / burst, ours: (creates.cpuMs[run] ?? 0) / burst }));
  const ratio: Row = {
    ...ratioOf(createPair, { plain: 'bare /s', ours: 'ours /s' }),
    'by cpu': round(median(cpuPair.map(({ plain, ours }) => plain / ours))),
  };
  const rows = [
    rowOf('a bare Express with one insert', bare),
    rowOf('a signed create', creates),
    rowOf('a signed read', reads),
  ];
  const readRow: Row = { 'signed reads /s': round(quantile(readRates, 0.5), 0) };
  show(`Signed creates beside a bare Express with one synced insert, ${CONCURRENT} at once`, [ratio]);
  show('Signed reads of a session', [readRow]);
  show('Each call', rows);
  return [ratio, readRow, ...rows];
}

const orderOf = (id: string): string =>
  JSON.stringify({ amount: 1050, currency: 'USD', order_id: id, expires_in: 3600 });

type Credentials = Readonly<{ key: string; secret: string }>;

/** Creates a session. @throws Error if it is not answered with 200 */
export const createOrder = (target: Target, id: string, credentials: Credentials): Promise<void> =>
  send(target, 'POST', `${SESSIONS}/create`, orderOf(id), credentials);

const rowOf = (name: string, { times, cpuMs, bytes }: Target): Row => ({
  call: name,
  calls: times.length,
  'p50 ms': round(quantile(times, 0.5), 1),
  'p99 ms': round(quantile(times, 0.99), 1),
  'cpu ms': round(median(cpuMs) / (times.length / cpuMs.length)),
  'kB written': round(median(bytes) / 1000 / (times.length / bytes.length), 1),
});

/** Calls so often, `CONCURRENT` at once. @returns calls/s */
async function rateOf({ pid, cpuMs, bytes }: Target, count: number, call: () => Promise<void>): Promise<number> {
  const [cpuMsBefore, bytesBefore] = [cpuMsOf(pid), bytesWrittenBy(pid)];
  const startedAtMs = performance.now();
  let left = count;
  const lane = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: CONCURRENT }, lane));
  const tookMs = performance.now() - startedAtMs;
  cpuMs.push(cpuMsOf(pid) - cpuMsBefore);
  bytes.push(bytesWrittenBy(pid) - bytesBefore);
  return (1000 * count) / tookMs;
}

/** Makes one call, signed whether or not the server looks. @throws Error if it is not answered with 200 */
async function send(
  { pool, times }: Target,
  method: 'GET' | 'POST',
  path: string,
  body: string,
  { key, secret }: Credentials = { key: '', secret: '' },
): Promise<void> {
  const [timestamp, nonce] = [String(toSeconds(systemClock.nowMs())), randomUUID()];
  const startedAtMs = performance.now();
  const answer = await pool.request({
    method,
    path,
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${key}`,
      'x-service-timestamp': timestamp,
      'x-service-nonce': nonce,
      'x-service-signature': signature(secret, timestamp, nonce, body),
    },
    ...(method === 'POST' && { body }),
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${method} ${path} was answered with ${answer.statusCode}: ${text}`);
  times.push(performance.now() - startedAtMs);
}
