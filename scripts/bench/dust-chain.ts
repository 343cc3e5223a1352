/**
 * A separate process: a database in which one session's address has received many transfers, and a follower of it.
 * Argument: how many transfers. Sends `Ready`, then measures one more block for each message `step`, and writes block
 * after block between the messages `run` and `rest`.
 * @module
 */
import type { BlockRef } from '../../src/core/block.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { ingestedChain } from '../../test/support/ingested-chain.ts';
import { merchantStore, newSession } from '../../test/support/new-session.ts';
import { openTempDatabase } from '../../test/support/temp-database.ts';
import { testNetwork } from '../../test/support/test-network.ts';

/** Transfers of one block while the address fills. */
const BLOCK_TRANSFERS = 2_000;
const ADDRESSES = 20_000;
/** Time that a follower spends with its node between two steps. */
const NODE_MS = 40;
/** A follower that catches up saves several blocks in one step; here each is a step, with this many payments. */
const RUN_TRANSFERS = 5;

export type Ready = Readonly<{ kind: 'ready'; file: string; storeId: string }>;
/** Milliseconds: saving one more block with one transfer, confirming it, and reading the session. */
export type Step = Readonly<{ kind: 'step'; connectMs: number; confirmMs: number; readMs: number }>;

const count = Number(process.argv[2]);
const place = openTempDatabase();
const { database } = place;
const network = testNetwork({ name: 'one' });
const [token] = network.tokens;
const units = 10n ** BigInt((token?.decimals ?? 0) - 2);
const store = merchantStore();
await database.createStore(store);
const keys = Array.from({ length: ADDRESSES }, (_, n) => n.toString(16).padStart(40, '0'));
await database.addAddresses({ family: network.family, mode: 'test', source: 'bench', firstIndex: 0, keys });
const chain = ingestedChain(() => database, systemClock, network);
await chain.mine();
await chain.report('following');
const wish = { storeId: store.id, networks: [network], amountMinor: 100_000_000, nowMs: systemClock.nowMs() };
const made = await database.createSession(newSession({ ...wish, name: 'dusted', expiresInS: 3600 }));
if (made.kind !== 'created') throw new Error(`no session: ${made.kind}`);
const to = made.session.addresses[network.family] ?? '';
const coin = { to, currency: token?.symbol ?? 'USDT', units };

for (let left = count - 1; left > 0; left -= BLOCK_TRANSFERS) {
  const block = await chain.mine(Array.from({ length: Math.min(left, BLOCK_TRANSFERS) }, () => coin));
  await chain.confirm(block);
  await chain.finalize(block);
}

async function timed<T>(work: () => Promise<T>): Promise<readonly [result: T, ms: number]> {
  const startedAtMs = performance.now();
  const result = await work();
  return [result, performance.now() - startedAtMs];
}

async function step(transfers: number): Promise<Omit<Step, 'kind' | 'readMs'>> {
  const [block, connectMs] = await timed<BlockRef>(() => chain.mine(Array.from({ length: transfers }, () => coin)));
  const [, confirmMs] = await timed(() => chain.confirm(block));
  await chain.finalize(block);
  return { connectMs, confirmMs };
}

let isRunning = false;
async function run(): Promise<void> {
  while (isRunning) {
    await step(RUN_TRANSFERS);
    await systemClock.sleep(NODE_MS);
  }
}

process.on('message', async (message) => {
  isRunning = message === 'run';
  if (isRunning) return run();
  if (message !== 'step') return;
  const times = await step(1);
  const [, readMs] = await timed(() => database.findSession(made.session.id));
  process.send?.({ kind: 'step', ...times, readMs } satisfies Step);
});
process.on('disconnect', () => {
  isRunning = false;
  place.close();
});
process.send?.({ kind: 'ready', file: place.file, storeId: store.id } satisfies Ready);
