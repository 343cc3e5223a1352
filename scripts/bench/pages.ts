/**
 * Payment pages: how fast one is served, what it weighs, and what hundreds of open ones cost the server. The server is
 * the real one, in a whole sandbox with four networks that each mine a block every 0.3 s.
 * @module
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { readCredentials } from '../../src/app/sandbox-credentials.ts';
import { readServerFile } from '../../src/app/server-file.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { payInSandbox } from '../../src/sandbox/operator/control.ts';
import { endAll, find, sandboxInstallation } from '../../test/support/quayside-process.ts';
import { signedClient } from '../../test/support/signed-client.ts';
import { inspectable, inspectorOf, liveBytes } from './live-memory.ts';
import { livePageOf, type OpenPage, openPage } from './open-page.ts';
import { progress, quantile, type Row, round, show } from './report.ts';

const PAGES = 500;
/** Sessions created at once, and how long to wait after them: well below the rate limit of a key. */
const BATCH = 20;
const BATCH_MS_MIN = 300;
const IDLE_MS = 15_000;
const SETTLE_MS = 3_000;
const ROWS_LOOK_MS = 5;
const FIRST_RENDER_MS_MAX = 100;
const WEIGHT_BYTES_MAX = 60_000;
const PAYER_NETWORK = 'ethereum';
const PAYER_UNITS = 10_500_000n;
const MB = 1e6;
const KB = 1e3;

type Sale = Readonly<{ id: string; url: string; address: string }>;
type Usage = Readonly<{ atMs: number; cpuMs: number; rssBytes: number }>;

/** Starts a sandbox and measures its payment pages. */
export async function benchPages(): Promise<Row[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'quayside-bench-'));
  Object.assign(process.env, inspectable);
  try {
    const supervisor = await sandboxInstallation(dataDir).start();
    const { pid } = reach(dataDir);
    const inspector = await inspectorOf(pid, supervisor.stderr);
    return await measure(dataDir, () => liveBytes(inspector));
  } finally {
    await endAll();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** @param liveMemory returns the server's live memory, in bytes */
async function measure(dataDir: string, liveMemory: () => Promise<number>): Promise<Row[]> {
  const sales = await makeSales(dataDir);
  const weight = await weigh(`${sales[0]?.url}?pay=${PAYER_NETWORK}-USDT`);
  const renderFrom = await usage(dataDir);
  const alone = await timeRenders(sales);
  const renderTo = await usage(dataDir);
  const liveBefore = await liveMemory();
  const pages = await openAll(sales);
  const liveOpen = await liveMemory();
  await systemClock.sleep(SETTLE_MS);
  const idleFrom = await usage(dataDir);
  await systemClock.sleep(IDLE_MS);
  const idleTo = await usage(dataDir);
  const among = await timeRenders(sales);
  const delays = await payAll(dataDir, sales, pages);
  const after = await usage(dataDir);
  for (const page of pages) page.close();

  const renders = [
    renderRow('no page open', alone, true),
    renderRow(`${PAGES} pages open`, among, true),
    renderRow('by each open page after its event', delays.renders, false),
  ];
  const page: Row = { 'CPU ms to render': round((renderTo.cpuMs - renderFrom.cpuMs) / alone.length, 2), ...weight };
  const open: Row = {
    'open pages': pages.length,
    'RSS MB': round(idleTo.rssBytes / MB, 0),
    'RSS MB after paying': round(after.rssBytes / MB, 0),
    'live KB/page': round((liveOpen - liveBefore) / KB / PAGES, 1),
    'CPU idle': `${round((100 * (idleTo.cpuMs - idleFrom.cpuMs)) / (idleTo.atMs - idleFrom.atMs), 1)} %`,
    'row → event median ms': msOf(delays.events, 0.5),
    'p99 ms': msOf(delays.events, 0.99),
    'max ms': msOf(delays.events, 1),
  };
  show('Payment pages: time from the request to the last byte', renders);
  show('Size of a page with amount and address, uncompressed; the QR code is extra', [page]);
  show(`${PAGES} sessions with a page open on each, then paid`, [open]);
  return [...renders, page, open];
}

const msOf = (values: readonly number[], share: number) => round(quantile(values, share), 1);

/** @param isFirst whether these are first requests for a page, which have a target */
function renderRow(name: string, values: readonly number[], isFirst: boolean): Row {
  const p99 = msOf(values, 0.99);
  return {
    'GET /pay/:id': name,
    pages: values.length,
    'median ms': msOf(values, 0.5),
    'p99 ms': p99,
    'max ms': msOf(values, 1),
    target: isFirst ? `${FIRST_RENDER_MS_MAX} ms: ${p99 <= FIRST_RENDER_MS_MAX ? 'met' : 'missed'}` : '',
  };
}

/** Creates sessions of the demo store, as fast as the rate limit allows. */
async function makeSales(dataDir: string): Promise<Sale[]> {
  const { baseUrl, credentials } = reach(dataDir);
  const client = signedClient({ baseUrl, ...credentials }, () => Math.floor(systemClock.nowMs() / 1000));
  const bar = progress('sessions', PAGES);
  const sales: Sale[] = [];
  const make = (order: number) =>
    find<Sale>(`a deposit address for session ${order}`, async () => {
      const body = { amount: 1050, currency: 'USD', order_id: `bench-${order}`, expires_in: 3600 };
      const { status, json } = await client.send('POST', '/api/v1/checkout/sessions/create', body);
      if (status !== 200) return null;
      const {
        id,
        url,
        payment_options: options,
      } = json as {
        id: string;
        url: string;
        payment_options: readonly { network: string; address: string }[];
      };
      const address = options.find(({ network }) => network === PAYER_NETWORK)?.address ?? '';
      return { id, url, address };
    });
  while (sales.length < PAGES) {
    const from = sales.length;
    const batch = Array.from({ length: Math.min(BATCH, PAGES - from) }, (_, at) => make(from + at));
    sales.push(...(await Promise.all(batch)));
    await systemClock.sleep(BATCH_MS_MIN);
    bar.step(sales.length);
  }
  bar.end();
  return sales;
}

function reach(dataDir: string) {
  const [running, known] = [readServerFile(dataDir), readCredentials(dataDir)];
  if (!running || !known) throw new Error(`no sandbox runs in ${dataDir}`);
  return {
    pid: running.pid,
    baseUrl: running.base_url,
    metricsUrl: running.metrics_url,
    credentials: { apiKey: known.api_key, apiSecret: known.api_secret },
  };
}

/** Reads the server's metrics of its process. */
async function usage(dataDir: string): Promise<Usage> {
  const text = await (await fetch(`${reach(dataDir).metricsUrl}/metrics`)).text();
  const read = (name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1]);
  const cpuMs = 1000 * read('process_cpu_seconds_total');
  return { atMs: performance.now(), cpuMs, rssBytes: read('process_resident_memory_bytes') };
}

/** Returns the sizes of a page and its files as they are sent, without headers. */
async function weigh(url: string): Promise<Row> {
  const text = await (await fetch(url)).text();
  const qrBytes = Buffer.byteLength(/<svg class="qr".*?<\/svg>/s.exec(text)?.[0] ?? '');
  const sizeOf = async (pattern: RegExp): Promise<number> => {
    let bytes = 0;
    for (const [, path = ''] of text.matchAll(pattern)) {
      bytes += (await (await fetch(new URL(path, url))).arrayBuffer()).byteLength;
    }
    return bytes;
  };
  const styleBytes = await sizeOf(/<link[^>]+href="([^"]+\.css)"/g);
  const scriptBytes = await sizeOf(/<script[^>]+src="([^"]+)"/g);
  const pageBytes = Buffer.byteLength(text) - qrBytes;
  const totalBytes = pageBytes + styleBytes + scriptBytes;
  const kb = (bytes: number) => round(bytes / KB, 1);
  return {
    'page KB': kb(pageBytes),
    'style KB': kb(styleBytes),
    'script KB': kb(scriptBytes),
    'total KB': kb(totalBytes),
    target: `${kb(WEIGHT_BYTES_MAX)} KB: ${totalBytes <= WEIGHT_BYTES_MAX ? 'met' : 'missed'}`,
    'QR KB': kb(qrBytes),
  };
}

/** Requests each page once, one after the other, each from another payer's address. @returns ms of each */
async function timeRenders(sales: readonly Sale[]): Promise<number[]> {
  const times: number[] = [];
  for (const [at, { url }] of sales.entries()) times.push(await timeRender(url, at));
  return times;
}

const payerAddress = (at: number): string => `10.0.${Math.floor(at / 250)}.${1 + (at % 250)}`;

async function timeRender(url: string, payer: number): Promise<number> {
  const startedAtMs = performance.now();
  await (await fetch(url, { headers: { 'x-forwarded-for': payerAddress(payer) } })).arrayBuffer();
  return performance.now() - startedAtMs;
}

async function openAll(sales: readonly Sale[]): Promise<OpenPage[]> {
  const pages: OpenPage[] = [];
  for (const [at, { id, url }] of sales.entries()) {
    const headers = { 'x-forwarded-for': payerAddress(at) };
    const live = livePageOf(id, url, await (await fetch(url, { headers })).text());
    pages.push(await openPage(live, payerAddress(at)));
  }
  return pages;
}

/**
 * Pays every session. Each page fetches itself again at its event, as its script does.
 * @returns ms from when a payment's row can be read to its event, and ms that each page then took
 */
async function payAll(dataDir: string, sales: readonly Sale[], pages: readonly OpenPage[]) {
  const rowAtMs = new Map<string, number>();
  const eventAtMs = new Map<string, number>();
  const renders: number[] = [];
  const rendering: Promise<void>[] = [];
  for (const [at, page] of pages.entries()) {
    page.onChange(() => {
      // Networks that go up or down cause events, too.
      if (!rowAtMs.has(page.sessionId) || eventAtMs.has(page.sessionId)) return;
      eventAtMs.set(page.sessionId, performance.now());
      rendering.push(timeRender(sales[at]?.url ?? '', at).then((ms) => void renders.push(ms)));
    });
  }
  const database = new Sqlite(join(dataDir, 'quayside.db'), { readonly: true });
  const rowsAbove = database.prepare(
    'SELECT transfers.id, session_id FROM transfers JOIN addresses ON addresses.id = address_id WHERE transfers.id > ?',
  );
  let lastId = 0;
  const events = find('an event for every payment', async () => {
    for (let look = 0; look < 10; look++) {
      const nowMs = performance.now();
      for (const { id, session_id: session } of rowsAbove.all(lastId) as { id: number; session_id: string }[]) {
        rowAtMs.set(session, rowAtMs.get(session) ?? nowMs);
        lastId = id;
      }
      await systemClock.sleep(ROWS_LOOK_MS);
    }
    return eventAtMs.size === pages.length;
  });
  await Promise.all([events, payInBatches(dataDir, sales)]);
  await Promise.all(rendering);
  database.close();
  const delays = pages.map(({ sessionId }) => (eventAtMs.get(sessionId) ?? 0) - (rowAtMs.get(sessionId) ?? 0));
  return { events: delays, renders };
}

async function payInBatches(dataDir: string, sales: readonly Sale[]): Promise<void> {
  for (let at = 0; at < sales.length; at += BATCH) {
    const payments = sales
      .slice(at, at + BATCH)
      .map(({ address }) => payInSandbox(dataDir, PAYER_NETWORK, { to: address, symbol: 'USDT', units: PAYER_UNITS }));
    await Promise.all(payments);
  }
}
