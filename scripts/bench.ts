/**
 * Measures what the indexers' design rests on, on this machine:
 *
 *   npm run bench                    everything
 *   npm run bench -- matching        in-line decoding against worker threads, by size of a block's answer
 *   npm run bench -- table           the table of watched addresses at a million
 *   npm run bench -- catch-up        an indexer that catches up with a simulated node in another process
 *
 * Prints tables, and writes everything to `.tmp/bench.json`. Compare figures of one run only; machines differ.
 * @module
 */
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SingleBar } from 'cli-progress';
import { createAddressTable } from '../indexers/address-table.ts';
import { indexNetwork } from '../indexers/indexer.ts';
import { createMatcher, INLINE_BYTES_MAX, type Matcher } from '../indexers/matcher.ts';
import type { RawContent } from '../src/chains/chain.ts';
import { chains } from '../src/chains/index.ts';
import { systemClock } from '../src/clock.ts';
import { openLog } from '../src/log.ts';
import { renderHeader } from '../src/sandbox/evm-render.ts';
import { migrate } from '../src/store/sqlite/migrate.ts';
import { openSqliteStore } from '../src/store/sqlite/sqlite-store.ts';
import { addressKeyOf } from '../test/support/address-keys.ts';
import { evmContent } from '../test/support/evm-content.ts';
import { sandboxTokens, startSandboxNode } from '../test/support/sandbox-node.ts';
import { testNetwork } from '../test/support/test-network.ts';

type Row = Readonly<Record<string, number | string>>;

const RESULT_FILE = '.tmp/bench.json';
const chain = chains.evm;
const threadsMax = Math.max(1, availableParallelism() - 1);

function show(title: string, rows: readonly Row[]): void {
  const columns = Object.keys(rows[0] ?? {});
  const widths = columns.map((name) => Math.max(name.length, ...rows.map((row) => String(row[name]).length)));
  const line = (cells: readonly unknown[]) =>
    `  ${cells.map((cell, at) => String(cell).padStart(widths[at] ?? 0)).join('  ')}\n`;
  process.stdout.write(
    `\n${title}\n${line(columns)}${rows.map((row) => line(columns.map((name) => row[name]))).join('')}`,
  );
}

const round = (value: number, places = 2): number => Number(value.toFixed(places));

/** A bar on the terminal, and nothing where there is none. */
function progress(title: string, total: number) {
  const bar = new SingleBar({ format: `  ${title} {bar} {value}/{total}`, noTTYOutput: false, clearOnComplete: true });
  bar.start(total, 0);
  return { step: (to: number) => bar.update(to), end: () => bar.stop() };
}

// ── Matching ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const TRANSFERS_PER_BLOCK = [10, 50, 100, 200, 400, 800, 3200];
const BYTES_PER_SIZE = 48 * 1024 * 1024;
const BLOCKS_MAX = 1500;
const WATCHED = 100_000;

async function benchMatching(): Promise<Row[]> {
  const table = createAddressTable(chain.address.keyBytes);
  for (let n = 0; n < WATCHED; n++) table.add(addressKeyOf(n, chain.address.keyBytes));
  const options = { chain, tokens: sandboxTokens, table, threadsMax };
  const inline = await createMatcher({ ...options, inlineBytesMax: Number.POSITIVE_INFINITY });
  const threads = await createMatcher({ ...options, inlineBytesMax: 0 });
  const node = await startSandboxNode({ seed: 'bench' });
  const bar = progress('matching', TRANSFERS_PER_BLOCK.length);
  const rows: Row[] = [];
  for (const transfers of TRANSFERS_PER_BLOCK) {
    node.pay(addressKeyOf(transfers, chain.address.keyBytes), 1n);
    const content = evmContent(node.world.mine(transfers - 1), 'logs');
    const blocks = Math.min(BLOCKS_MAX, Math.ceil(BYTES_PER_SIZE / content.bytes.byteLength));
    await matchAll(inline, content, Math.min(50, blocks));
    await matchAll(threads, content, Math.min(50, blocks));
    const here = await matchAll(inline, content, blocks);
    const there = await matchAll(threads, content, blocks);
    rows.push({
      transfers,
      KiB: round(content.bytes.byteLength / 1024, 0),
      'in-line ms/block': round(here.wallMs / blocks, 3),
      'threads ms/block': round(there.wallMs / blocks, 3),
      'threads, event loop ms/block': round(there.busyMs / blocks, 3),
      'event loop saved': `${round(100 * (1 - there.busyMs / here.busyMs), 0)} %`,
    });
    bar.step(rows.length);
  }
  bar.end();
  await Promise.all([inline.close(), threads.close(), node.close()]);
  show(`Matching with ${threadsMax} thread(s); in-line up to ${INLINE_BYTES_MAX / 1024} KiB`, rows);
  return rows;
}

/** Matches the block many times, eight at once as the follower does. `busyMs` is what the event loop spent on it. */
async function matchAll(matcher: Matcher, content: RawContent, blocks: number) {
  const contents = Array.from({ length: blocks }, () => ({ ...content, bytes: new Uint8Array(content.bytes) }));
  const before = performance.eventLoopUtilization();
  const startedAtMs = performance.now();
  const lane = async () => {
    for (let next = contents.pop(); next; next = contents.pop()) await matcher.match(next);
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  return {
    wallMs: performance.now() - startedAtMs,
    busyMs: performance.eventLoopUtilization(before).active,
  };
}

// ── Table ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const ADDRESSES = 1_000_000;

function benchTable(): Row[] {
  const random = () => randomBytes(20).toString('hex');
  const bar = progress('table', 4);
  const keys = Array.from({ length: ADDRESSES }, random);
  bar.step(1);
  const table = createAddressTable(20);
  const perSecond = (work: (key: string) => unknown, list: readonly string[]): number => {
    const startedAtMs = performance.now();
    for (const key of list) work(key);
    return round((list.length / (performance.now() - startedAtMs)) * 1000, 0);
  };
  const adds = perSecond((key) => table.add(key), keys);
  bar.step(2);
  const hits = perSecond((key) => table.has(key), keys);
  bar.step(3);
  const misses = perSecond((key) => table.has(key), Array.from({ length: ADDRESSES }, random));
  bar.end();
  const rows = [
    {
      addresses: table.size(),
      MB: round(table.buffer().byteLength / 1e6, 1),
      'bytes/address': round(table.buffer().byteLength / table.size(), 1),
      'added/s': adds,
      'found/s': hits,
      'missed/s': misses,
    },
  ];
  show('Table of watched addresses, 20 bytes each', rows);
  return rows;
}

// ── Catch-up ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const CHAIN_BLOCKS = 2000;
const CHAIN_TRANSFERS = 100;
const ADDRESSES_WATCHED = 5000;
/** One block in so many pays a watched address. */
const PAID_EVERY_BLOCKS = 20;

/** In the other process: a node with a long chain, and its address for whoever started it. */
async function serveChain(): Promise<void> {
  const node = await startSandboxNode({ seed: 'bench' });
  for (let n = 0; n < CHAIN_BLOCKS; n++) {
    if (n % PAID_EVERY_BLOCKS === 0) node.pay(addressKeyOf(n, 20), 1n);
    // The node's own work of making headers is done beforehand.
    renderHeader(node.world.mine(CHAIN_TRANSFERS));
  }
  process.send?.(node.wsUrl);
}

async function benchCatchUp(): Promise<Row[]> {
  const child = fork(fileURLToPath(import.meta.url), ['--serve-chain'], {
    execArgv: ['--import', import.meta.resolve('tsx')],
  });
  const [url] = await once(child, 'message');
  const folder = mkdtempSync(join(tmpdir(), 'quayside-bench-'));
  const file = join(folder, 'quayside.db');
  migrate({ file, backupDir: folder });
  const store = openSqliteStore({ file, secretKey: new Uint8Array(32), busyTimeoutMs: 5000, bytesMax: null });
  const keys = Array.from({ length: ADDRESSES_WATCHED }, (_, n) => addressKeyOf(n, 20));
  await store.addAddresses({ family: 'evm', mode: 'test', source: 'bench', firstIndex: 0, keys });
  const network = testNetwork({ name: 'bench', url: String(url), reorgDepthMax: CHAIN_BLOCKS, blockTimeMs: 450 });
  const stopping = new AbortController();
  const log = openLog('bench', process.env.LOG ?? 'silent');
  const cpuBefore = process.cpuUsage();
  const startedAtMs = performance.now();
  const indexer = indexNetwork(
    { network, store, chain, clock: systemClock, log, pid: process.pid, blocksPerIngestMax: 64, random: Math.random },
    stopping.signal,
  );
  const bar = progress('catch-up', CHAIN_BLOCKS);
  for (let number = 0; number < CHAIN_BLOCKS; ) {
    number = (await store.listNetworks())[0]?.cursor?.number ?? 0;
    bar.step(number);
    await systemClock.sleep(10);
  }
  bar.end();
  const wallS = (performance.now() - startedAtMs) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  stopping.abort();
  await indexer;
  store.close();
  child.kill();
  rmSync(folder, { recursive: true, force: true });
  const blocksPerS = CHAIN_BLOCKS / wallS;
  const rows = [
    {
      blocks: CHAIN_BLOCKS,
      'transfers/block': CHAIN_TRANSFERS,
      'blocks/s': round(blocksPerS, 0),
      'transfers read/s': round(blocksPerS * CHAIN_TRANSFERS, 0),
      'times a 0.45 s chain': round(blocksPerS * 0.45, 0),
      'times a 12 s chain': round(blocksPerS * 12, 0),
      'CPU s': round((cpu.user + cpu.system) / 1e6, 1),
    },
  ];
  show('Catch-up from an empty store, node in another process on the same machine', rows);
  return rows;
}

// ── The command ──────────────────────────────────────────────────────────────────────────────────────────────────────

const parts: Readonly<Record<string, () => Row[] | Promise<Row[]>>> = {
  matching: benchMatching,
  table: benchTable,
  'catch-up': benchCatchUp,
};

async function runParts(words: readonly string[]): Promise<void> {
  const names = words.length > 0 ? words : Object.keys(parts);
  const unknown = names.filter((name) => !parts[name]);
  if (unknown.length > 0) {
    process.stderr.write(`no part ${unknown.join(', ')}: there are ${Object.keys(parts).join(', ')}\n`);
    process.exitCode = 2;
    return;
  }
  const results: Record<string, readonly Row[]> = {};
  for (const name of names) results[name] = (await parts[name]?.()) ?? [];
  mkdirSync('.tmp', { recursive: true });
  const machine = { node: process.version, cores: availableParallelism(), arch: process.arch };
  writeFileSync(RESULT_FILE, `${JSON.stringify({ machine, results }, null, 2)}\n`);
  process.stdout.write(`\nwritten to ${RESULT_FILE}\n`);
}

const words = process.argv.slice(2);
if (words[0] === '--serve-chain') await serveChain();
else await runParts(words);
