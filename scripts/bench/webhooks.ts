/**
 * How fast webhooks are sent, and whether dead hosts, slow ones and a long history delay those of a healthy endpoint.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { Database } from '../../src/database/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { makeCertificates } from '../../test/support/certificates.ts';
import { ingestedChain } from '../../test/support/ingested-chain.ts';
import { merchantStore, newSession } from '../../test/support/new-session.ts';
import { connectTo, openTempDatabase } from '../../test/support/temp-database.ts';
import { testNetwork } from '../../test/support/test-network.ts';
import { endWorker, inTurn, progress, quantile, type Row, ratioOf, round, show, startWorker } from './frame.ts';
import type { Arrival, Ports } from './webhooks-receiver.ts';

/** Of the whole and of the short form. */
type Size = Readonly<{ stored: number; oneOff: readonly number[]; burst: number; runs: number; runMs: number }>;
const whole: Size = { stored: 1_000_000, oneOff: [5_000, 15_000], burst: 3_000, runs: 5, runMs: 15_000 };
const short: Size = { stored: 100_000, oneOff: [5_000], burst: 1_500, runs: 3, runMs: 6_000 };

const RECEIVER = new URL('./webhooks-receiver.ts', import.meta.url);
const SENDER = new URL('./webhooks-sender.ts', import.meta.url);
const DEAD_NAMES = 12;
const EVENTS_PER_S = 20;
/** As in `webhooks-sender.ts`. */
const CONCURRENT = 16;
const CLAIMS = 200;
const ADDRESSES = 20_000;
const SETTLE_MS = 1_000;

const network = testNetwork({ name: 'one' });

type Receiver = Readonly<{
  ports: Ports;
  authorityFile: string;
  taken(): Promise<Arrival[]>;
  close(): void;
}>;

async function startReceiver(): Promise<Receiver> {
  const dir = mkdtempSync(join(tmpdir(), 'quayside-bench-tls-'));
  const { server, authorityFile } = makeCertificates(dir, 'IP:127.0.0.1');
  const [child, ports] = await startWorker<Ports>(RECEIVER, [server.key, server.cert]);
  return {
    ports,
    authorityFile,
    async taken() {
      child.send('take');
      const [arrived] = (await once(child, 'message')) as [Arrival[]];
      return arrived;
    },
    close() {
      child.disconnect();
      rmSync(dir, { recursive: true });
    },
  };
}

async function startSender(receiver: Receiver, args: readonly string[]): Promise<ChildProcess> {
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: receiver.authorityFile };
  const [child] = await startWorker(SENDER, args, { env });
  return child;
}

/** A shop on a database: each of its orders is canceled at once, which is one event. */
function openShop(database: Database, storeId: string) {
  const chain = ingestedChain(() => database, systemClock, network);
  let orders = 0;
  return {
    begin: () => chain.mine(),
    async cancelOne(): Promise<void> {
      if (orders % 100 === 0) await chain.report('following');
      const nowMs = systemClock.nowMs();
      const wish = { storeId, name: `${nowMs}n${orders++}`, networks: [network], amountMinor: 1000, nowMs };
      const outcome = await database.sessions.create(newSession(wish));
      if (outcome.kind !== 'created') throw new Error(`no session: ${outcome.kind}`);
      const replay = { idempotencyKey: null, path: 'cancel', bodyHash: '' };
      const { id } = outcome.session;
      await database.sessions.cancel({ id, storeId, mode: 'test', replay, nowMs: systemClock.nowMs() });
    },
  };
}

type Shop = ReturnType<typeof openShop>;

async function makeInstallation(receiver: Receiver) {
  const place = openTempDatabase();
  const { database, file } = place;
  const store = merchantStore();
  await database.stores.create(store);
  const keys = Array.from({ length: ADDRESSES }, (_, n) => n.toString(16).padStart(40, '0'));
  await database.addresses.add({ family: network.family, mode: 'test', source: 'bench', firstIndex: 0, keys });
  const shop = openShop(database, store.id);
  await shop.begin();
  await addEndpoint(database, store.id, 'we_healthy', `https://127.0.0.1:${receiver.ports.fast}/hook`);
  return { place, database, file, storeId: store.id, shop };
}

async function addEndpoint(database: Database, storeId: string, id: string, url: string): Promise<void> {
  const createdAtMs = systemClock.nowMs();
  await database.endpoints.add({ id, storeId, mode: 'test', url, extendedEvents: [], createdAtMs });
}

/** Returns the deliveries/s of a burst that waits when the sender starts. */
async function measureBurst(receiver: Receiver, file: string, shop: Shop, burst: number): Promise<number> {
  for (let n = 0; n < burst; n++) await shop.cancelOne();
  await receiver.taken();
  const sender = await startSender(receiver, ['dispatch', file, `127.0.0.1:${receiver.ports.names}`]);
  const rate = await arrivalRate(receiver, burst);
  await endWorker(sender);
  return rate;
}

async function measureRaw(receiver: Receiver, count: number, body: string): Promise<number> {
  await receiver.taken();
  const url = `https://127.0.0.1:${receiver.ports.fast}/hook`;
  const sender = await startSender(receiver, ['raw', url, String(count), String(CONCURRENT), body]);
  const rate = await arrivalRate(receiver, count);
  await endWorker(sender);
  return rate;
}

/** Waits for so many arrivals. @returns how many came in a second, the first tenth left out */
async function arrivalRate(receiver: Receiver, count: number): Promise<number> {
  const atMs: number[] = [];
  while (atMs.length < count) {
    await systemClock.sleep(100);
    for (const arrival of await receiver.taken()) atMs.push(arrival.atMs);
  }
  const counted = atMs.sort((a, b) => a - b).slice(Math.floor(count / 10));
  return ((counted.length - 1) * 1000) / Math.max(1, (counted.at(-1) ?? 0) - (counted[0] ?? 0));
}

/** Adds what may be in the way: endpoints that do not answer or are slow, single sessions' ones, and a history. */
async function addLoad(
  installation: Readonly<{ file: string; storeId: string }>,
  ports: Ports,
  oneOff: number,
  stored: number,
) {
  const { file, storeId } = installation;
  const database = connectTo(file);
  for (let n = 0; n < DEAD_NAMES; n++) {
    await addEndpoint(database, storeId, `we_dead${n}`, `https://dead${n}.example/hook`);
  }
  await addEndpoint(database, storeId, 'we_slow', `https://127.0.0.1:${ports.slow}/hook`);
  database.close();
  const client = new Sqlite(file);
  client.pragma('synchronous = OFF');
  client.pragma('foreign_keys = OFF');
  const sessionId = client.prepare('SELECT id FROM sessions LIMIT 1').pluck().get();
  const origin = `https://127.0.0.1:${ports.dead}`;
  const events = Math.max(oneOff, Math.ceil(stored / 1_000));
  const count = (max: string) => `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${max})`;
  const rows = { storeId, sessionId, origin, oneOff, events, stored: Math.ceil(stored / 1_000) };
  const columns =
    'id, store_id, mode, url, extended_events, per_session, created_at_ms, removed, failures, gones, silences, ' +
    'paused_until_ms';
  const fill = [
    // The terms end with the options; three that are null stand before the URL.
    `UPDATE sessions SET terms = substr(terms, 1, length(terms) - 1) || ',null,null,null,"' || :origin || '/order"]'
       WHERE id = :sessionId`,
    `${count(':events')} INSERT INTO events (id, store_id, session_id, type, facts, created_at_ms, mode)
       SELECT i, :storeId, :sessionId, 'payment.expired', '{}', i, 'test' FROM n`,
    `${count('1000')} INSERT INTO endpoints (${columns})
       SELECT 'we_old' || i, :storeId, 'test', 'https://old.example/' || i, '[]', 0, 0, 1, 0, 0, 0, 0 FROM n`,
    `${count(':stored')} INSERT INTO deliveries (id, event_id, endpoint_id, state, attempts)
       SELECT n.i * 1000 + CAST(substr(e.id, 7) AS INTEGER), n.i, e.id, 'delivered', 1 FROM n, endpoints AS e WHERE e.removed = 1`,
    `INSERT INTO endpoints (${columns}, due_at_ms)
       VALUES ('we_named', :storeId, 'test', :origin, '[]', 1, 0, 0, 0, 0, 5, 0, 1)`,
    `${count(':oneOff')} INSERT INTO deliveries (id, event_id, endpoint_id, state, attempts, due_at_ms)
       SELECT 1000000000 + i, i, 'we_named', 'waiting', 0, 1 FROM n`,
  ];
  for (const text of fill) client.prepare(text).run(rows);
  client.pragma('wal_checkpoint(TRUNCATE)');
  client.close();
}

/** Returns how late the healthy endpoint's events arrive, in ms, at a steady rate. */
async function measureDelays(receiver: Receiver, file: string, storeId: string, runMs: number): Promise<number[]> {
  const database = connectTo(file);
  const shop = openShop(database, storeId);
  const sender = await startSender(receiver, ['dispatch', file, `127.0.0.1:${receiver.ports.names}`]);
  await systemClock.sleep(SETTLE_MS);
  await receiver.taken();
  const count = Math.ceil((runMs * EVENTS_PER_S) / 1000);
  const delays: number[] = [];
  const take = async () => {
    for (const { event, atMs } of await receiver.taken())
      delays.push(atMs - Number(BigInt(event.slice(4)) / 1_000_000n));
  };
  for (let n = 0; n < count; n++) {
    await shop.cancelOne();
    await systemClock.sleep(1000 / EVENTS_PER_S);
  }
  while (delays.length < count) {
    await systemClock.sleep(50);
    await take();
  }
  await endWorker(sender);
  database.close();
  return delays;
}

/** Returns the median time of a claim when nothing is due, in ms. */
async function measureIdleClaim(file: string): Promise<number> {
  const database = connectTo(file);
  const times: number[] = [];
  for (let n = 0; n < CLAIMS; n++) {
    const startedAtMs = performance.now();
    // Everything becomes due after the first millisecond.
    await database.deliveries.claim({
      holder: 'bench',
      nowMs: 0,
      leaseMs: 1,
      limit: 32,
      unprovenMax: 32,
      places: () => 4,
    });
    times.push(performance.now() - startedAtMs);
  }
  database.close();
  return quantile(times, 0.5);
}

/** Measures deliveries/s beside plain POSTs, then a healthy endpoint's delay, quiet and beside everything else. */
export async function benchWebhooks({ isShort }: Readonly<{ isShort: boolean }>): Promise<Row[]> {
  const size = isShort ? short : whole;
  const receiver = await startReceiver();
  const bar = progress('webhooks', size.runs * (1 + 2 * size.oneOff.length));
  let done = 0;
  const installation = await makeInstallation(receiver);
  const { file, storeId, shop } = installation;
  const pairs = await inTurn(
    size.runs,
    () => measureRaw(receiver, size.burst, `{"id":"evt_1","data":"${'x'.repeat(300)}"}`),
    async () => {
      const rate = await measureBurst(receiver, file, shop, size.burst);
      bar.step(++done);
      return rate;
    },
  );
  const speed = ratioOf(pairs, { plain: 'raw /s', ours: 'ours /s' });
  const rows: Row[] = [];
  for (const oneOff of size.oneOff) {
    const [quietFile, loadedFile] = [`${file}.quiet`, `${file}.loaded`];
    checkpoint(file);
    copyFileSync(file, quietFile);
    copyFileSync(file, loadedFile);
    await addLoad({ file: loadedFile, storeId }, receiver.ports, oneOff, size.stored);
    const p99 = async (from: string) => {
      const copy = `${file}.run`;
      copyFileSync(from, copy);
      const delays = await measureDelays(receiver, copy, storeId, size.runMs);
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${copy}${suffix}`, { force: true });
      bar.step(++done);
      return quantile(delays, 0.99);
    };
    const p99s = await inTurn(
      size.runs,
      () => p99(quietFile),
      () => p99(loadedFile),
    );
    rows.push({
      'one-off deliveries': oneOff,
      stored: size.stored,
      ...ratioOf(p99s, { plain: 'quiet p99', ours: 'loaded p99' }),
      'idle claim': round(await measureIdleClaim(loadedFile), 3),
    });
  }
  bar.end();
  receiver.close();
  installation.place.close();
  show('Deliveries to one https endpoint, beside plain POSTs with the same signatures', [speed]);
  show('Delay of a healthy endpoint’s webhooks in ms, and a claim when nothing is due', rows);
  return [speed, ...rows];
}

/** Writes everything into the file itself, so that it can be copied. */
function checkpoint(file: string): void {
  const client = new Sqlite(file);
  client.pragma('wal_checkpoint(TRUNCATE)');
  client.close();
}
