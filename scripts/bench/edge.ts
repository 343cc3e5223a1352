/**
 * What one address can do to everybody else: signed calls of a merchant alone, and while one other address asks for
 * pages on 30 connections, as fast as the server answers. The server is the real one, in a whole sandbox.
 * @module
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { readCredentials } from '../../src/app/sandbox-credentials.ts';
import { readServerFile } from '../../src/app/server-file.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { endAll, find, sandboxInstallation } from '../../test/support/quayside-process.ts';
import { type SignedClient, signedClient } from '../../test/support/signed-client.ts';
import { judgeP99, quantile, type Row, round, show } from './report.ts';

const CONNECTIONS = 30;
/** Quiet and beside the flood in turn, so that what else happens on the machine meets both. */
const ROUNDS = 3;
const CALLS = 80;
const PAUSE_MS = 15;
/** The sandbox lets one address, usually that of its developer, ask for more. */
const LIVE_LIMITS = { QUAYSIDE_LIMITS__PAGES_PER_SECOND_PER_ADDRESS: '20' };
const FLOODER = '203.0.113.9';

/** Loops in a thread of its own: one request after the other on each connection. */
const FLOOD = `
const { workerData: { url, from, connections }, parentPort } = require('node:worker_threads');
const { Agent, get } = require('node:http');
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const answers = {};
let isOver = false;
const ask = () => isOver ? undefined : get(url, { agent, headers: { 'x-forwarded-for': from } }, (response) => {
  answers[response.statusCode] = (answers[response.statusCode] ?? 0) + 1;
  response.resume().once('end', ask);
}).on('error', ask);
for (let n = 0; n < connections; n++) ask();
parentPort.once('message', () => { isOver = true; agent.destroy(); parentPort.postMessage(answers); });
`;

/** Starts a sandbox and measures signed calls beside a flood. */
export async function benchEdge(): Promise<Row[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'quayside-bench-'));
  try {
    await sandboxInstallation(dataDir, LIVE_LIMITS).start();
    return await measure(dataDir);
  } finally {
    await endAll();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function measure(dataDir: string): Promise<Row[]> {
  const [running, known] = [readServerFile(dataDir), readCredentials(dataDir)];
  if (!running || !known) throw new Error(`no sandbox runs in ${dataDir}`);
  const credentials = { baseUrl: running.base_url, apiKey: known.api_key, apiSecret: known.api_secret };
  const client = signedClient(credentials, () => Math.floor(systemClock.nowMs() / 1000));
  const sale = await find('a session', async () => {
    const body = { amount: 1050, currency: 'USD', order_id: 'bench-edge', expires_in: 3600 };
    const { status, json } = await client.send('POST', '/api/v1/checkout/sessions/create', body);
    return status === 200 ? (json as Readonly<{ id: string; url: string }>) : null;
  });
  const path = `/api/v1/checkout/sessions/${sale.id}`;
  await timeCalls(client, path);
  const quiet: number[] = [];
  const beside: number[] = [];
  const answers = new Map<string, number>();
  let floodMs = 0;
  for (let round = 0; round < ROUNDS; round++) {
    quiet.push(...(await timeCalls(client, path)));
    const startedAtMs = performance.now();
    const flood = startFlood(sale.url);
    beside.push(...(await timeCalls(client, path)));
    for (const [status, count] of await flood()) answers.set(status, (answers.get(status) ?? 0) + count);
    floodMs += performance.now() - startedAtMs;
  }
  const rows = [rowOf('alone', quiet), rowOf(`beside ${CONNECTIONS} connections of one address`, beside)];
  const served: Row = {
    ...Object.fromEntries([...answers].map(([status, count]) => [`${status}/s`, round(count / (floodMs / 1000), 0)])),
    target: judgeP99(quantile(quiet, 0.99), quantile(beside, 0.99)),
  };
  show('Signed calls of a merchant', rows);
  show('What the flood was answered, and whether the p99 of signed calls stays near that of quiet', [served]);
  return [...rows, served];
}

const rowOf = (name: string, times: readonly number[]): Row => ({
  'GET a session, signed': name,
  calls: times.length,
  'median ms': round(quantile(times, 0.5), 1),
  'p99 ms': round(quantile(times, 0.99), 1),
  'max ms': round(quantile(times, 1), 1),
});

/** @returns ms of each call @throws Error at a call that was not answered with 200 */
async function timeCalls(client: SignedClient, path: string): Promise<number[]> {
  const times: number[] = [];
  for (let call = 0; call < CALLS; call++) {
    const startedAtMs = performance.now();
    const { status, text } = await client.send('GET', path);
    if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`);
    times.push(performance.now() - startedAtMs);
    await systemClock.sleep(PAUSE_MS);
  }
  return times;
}

/** @returns ends the flood, and returns how often it was answered with each status */
function startFlood(url: string): () => Promise<readonly [string, number][]> {
  const worker = new Worker(FLOOD, { eval: true, workerData: { url, from: FLOODER, connections: CONNECTIONS } });
  return () =>
    new Promise((resolve, reject) => {
      worker.once('error', reject);
      worker.once('message', (answers: Record<string, number>) => {
        void worker.terminate().then(() => resolve(Object.entries(answers)));
      });
      worker.postMessage('end');
    });
}
