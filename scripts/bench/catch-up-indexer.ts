/**
 * A separate process: an indexer that catches up with a node and reports what it took. Arguments: the network's name,
 * then `Served` as JSON.
 */
import { subscribe } from 'node:diagnostics_channel';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { indexNetwork } from '../../indexers/indexer.ts';
import { makeRoomForAnswers } from '../../indexers/v8-flags.ts';
import { chains } from '../../src/chains/index.ts';
import { openSqliteDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/engine/migrate.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { addressKeyOf } from '../../test/support/address-keys.ts';
import { testNetwork } from '../../test/support/test-network.ts';
import { findNetwork } from './catch-up-networks.ts';
import { ADDRESSES_WATCHED, type Served } from './growing-world.ts';

const LOOK_MS = 50;
const BLOCKS_PER_INGEST_MAX = 64;

/** Memory at one moment, in bytes. `liveBytes` is heap and buffers after a garbage collection; null without one. */
export type Sample = Readonly<{ blocks: number; rssBytes: number; liveBytes: number | null }>;

/** Messages to the parent: samples as they are taken, then the end. */
export type Message =
  | Readonly<{ kind: 'sample'; sample: Sample }>
  | Readonly<{ kind: 'end'; wallMs: number; cpuMs: number; loopBusyMs: number; bytesRead: number; paid: number }>;

const send = (message: Message): void => void process.send?.(message);

// As the indexers' programs do.
makeRoomForAnswers();
const [name, text = ''] = process.argv.slice(2);
const { keyBytes, threadsMax, ...settings } = findNetwork(name);
const { url, from, to }: Served = JSON.parse(text);
const { family } = settings;
const network = testNetwork({ ...settings, url });
const folder = mkdtempSync(join(tmpdir(), 'quayside-bench-'));
const file = join(folder, 'quayside.db');
migrate({ file, backupDir: folder });
const database = openSqliteDatabase({
  file,
  secretKey: new Uint8Array(32),
  busyTimeoutMs: 5000,
  outageWaitS: 600,
});
const keys = Array.from({ length: ADDRESSES_WATCHED }, (_, n) => addressKeyOf(n, keyBytes));
await database.addresses.add({ family, mode: 'test', source: 'bench', firstIndex: 0, keys });
// The indexer had read this far when the outage began.
await database.blocks.ingest({
  network: network.key,
  family,
  expectTip: null,
  watchedThrough: ADDRESSES_WATCHED,
  decimals: {},
  dustFloorPar: 0n,
  drop: [],
  connect: [{ block: from, transfers: [] }],
  confirm: [],
  floor: null,
  readThroughS: from.timeS,
  nowMs: systemClock.nowMs(),
});

/** Every connection from here on. */
const sockets: Socket[] = [];
subscribe('net.client.socket', (made) => {
  sockets.push((made as { socket: Socket }).socket);
});
const stopping = new AbortController();
process.on('disconnect', () => stopping.abort());
const log = openLog('bench', process.env.LOG ?? 'silent');
const blocksToRead = to - from.number;
const cpuBefore = process.cpuUsage();
const loopBefore = performance.eventLoopUtilization();
const startedAtMs = performance.now();
const indexing = indexNetwork(
  {
    network,
    database,
    chain: chains[family],
    clock: systemClock,
    log,
    pid: process.pid,
    blocksPerIngestMax: BLOCKS_PER_INGEST_MAX,
    ...(threadsMax !== null && { threadsMax }),
    random: Math.random,
  },
  stopping.signal,
);
/** How many quarters of the blocks have been read, and memory collected after each. */
let quarters = 0;
for (let blocks = 0; blocks < blocksToRead && !stopping.signal.aborted; ) {
  await systemClock.sleep(LOOK_MS);
  blocks = ((await database.networks.list())[0]?.tipNumber ?? from.number) - from.number;
  const isQuarter = blocks >= (blocksToRead * (quarters + 1)) / 4;
  const rssBytes = process.memoryUsage.rss();
  if (isQuarter) quarters += 1;
  send({ kind: 'sample', sample: { blocks, rssBytes, liveBytes: isQuarter ? liveBytes() : null } });
}
const wallMs = performance.now() - startedAtMs;
const cpu = process.cpuUsage(cpuBefore);
const loopBusyMs = performance.eventLoopUtilization(loopBefore).active;
const bytesRead = sockets.reduce((sum, socket) => sum + socket.bytesRead, 0);
const paid = (await database.alarms.list(1_000_000)).length;
stopping.abort();
await indexing;
database.close();
rmSync(folder, { recursive: true, force: true });
send({ kind: 'end', wallMs, cpuMs: (cpu.user + cpu.system) / 1000, loopBusyMs, bytesRead, paid });
process.disconnect();

function liveBytes(): number {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
