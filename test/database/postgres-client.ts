/**
 * A process of the concurrent histories: a shop, a follower, a payer and a sender, each with connections of its own.
 * It tells its parent what was answered, hears of new blocks and signatures from it, and may be killed at any moment.
 */
import { randomBytes, randomInt } from 'node:crypto';
import type { BlockRef } from '../../src/core/block.ts';
import { Fault } from '../../src/core/fault.ts';
import type { ChainTransfer } from '../../src/core/transfer.ts';
import { type Database, openSqliteDatabase } from '../../src/database/database.ts';
import { allot, network, payer, sent, signatureOf } from '../conformance/database/payout-scene.ts';
import { addressOf, keyOf, newSession, pool } from '../conformance/database/place.ts';
import { counted } from '../support/nonces.ts';
import { recordAttempt } from '../support/record-attempt.ts';
import { secretKey } from '../support/temp-database.ts';

export type MadeBlock = Readonly<{ block: BlockRef; transfers: readonly ChainTransfer[] }>;
/** An attempt as the signer signs it; its place in the signer's list, and one, is its number in the journal. */
export type Signed = Readonly<{ id: string; nonce: number }>;
export type ToClient = Readonly<
  { is: 'block'; on: 'one' | 'two'; made: MadeBlock } | { is: 'signed'; signed: Signed } | { is: 'stop' }
>;
export type FromClient = Readonly<
  | { is: 'session'; id: string; orderId: string; address: string }
  | { is: 'claimed'; id: string; atMs: number; untilMs: number }
  | ({ is: 'sign' } & Signed)
  | { is: 'refused'; code: string }
  | { is: 'broken'; why: string }
>;

/** So few orders that two shops often open one at the same time. */
const ORDERS = 4_000;
const FREE_MIN = 30;
const ADDED = 20;
const LEASE_MS = 3_000;
export const decimals = { one: 6, two: 18 } as const;

const chains: Record<'one' | 'two', MadeBlock[]> = { one: [], two: [] };
const journal: Signed[] = [];
const holder = randomBytes(4).toString('hex');
let [isStopping, order] = [false, randomInt(10)];

process.on('message', (message: ToClient) => {
  if (message.is === 'block') chains[message.on].push(message.made);
  else if (message.is === 'signed') journal.push(message.signed);
  else isStopping = true;
});
process.on('disconnect', () => process.exit());

const tell = (message: FromClient): void => void process.send?.(message);
const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Does something again and again. What the database refuses to do now is done again. */
async function repeat(once: (database: Database) => Promise<void>): Promise<void> {
  const [, , url = ''] = process.argv;
  const common = { file: '', url, secretKey, busyTimeoutMs: 5_000, bytesMax: null, outageWaitS: 600 };
  const database = openSqliteDatabase(common);
  while (!isStopping) {
    try {
      await once(database);
    } catch (error) {
      if (!(error instanceof Fault) || error.kind !== 'transient') throw error;
      tell({ is: 'refused', code: error.code });
    }
    await rest(randomInt(5, 30));
  }
  database.close();
}

async function shop(database: Database): Promise<void> {
  const { free, nextIndex } = await database.addresses.level(pool, 'xpub');
  const keys = Array.from({ length: ADDED }, (_, at) => keyOf(nextIndex + at + 1));
  if (free < FREE_MIN) await database.addresses.add({ ...pool, source: 'xpub', firstIndex: nextIndex, keys });
  order = (order + randomInt(2)) % ORDERS;
  const [orderId, nowMs] = [`o${order}`, Date.now()];
  const id = `cs_${orderId}_${randomBytes(4).toString('hex')}`;
  const nonce = { keyId: 'k1', nonce: id, nowMs, keepUntilMs: nowMs + 60_000 };
  const replay = { idempotencyKey: orderId, path: '/sessions/create', bodyHash: orderId };
  const outcome = await database.sessions.create(newSession(orderId, { id, nonce, replay, nowMs }));
  if (outcome.kind === 'address_pool_empty' || outcome.kind === 'no_network_followed') return;
  if (outcome.kind !== 'created' && outcome.kind !== 'replayed') throw new Error(`a session is ${outcome.kind}`);
  tell({ is: 'session', id: outcome.session.id, orderId, address: addressOf(outcome.session) });
}

/** Follows a network by the addresses that it has read, as `seq` names them. */
function follow(on: 'one' | 'two') {
  const watched = new Set<string>();
  let through = 0;
  async function watch(database: Database): Promise<void> {
    for (const { seq, key } of await database.addresses.watchList(pool, through, 10_000)) {
      watched.add(key);
      through = seq;
    }
  }
  return async (database: Database): Promise<void> => {
    const [tip] = await database.blocks.tail(`test:${on}`, 1);
    const made = chains[on].find(({ block }) => block.number === (tip?.number ?? 99) + 1);
    if (!made) return;
    const outcome = await database.blocks.ingest({
      ...{ network: `test:${on}`, family: 'evm', expectTip: tip?.hash ?? null, watchedThrough: through, drop: [] },
      ...{ decimals: { USDT: decimals[on] }, dustFloorPar: 1n, ownWallet: 1_000_000, floor: null },
      connect: [{ ...made, transfers: made.transfers.filter(({ to }) => watched.has(to)) }],
      confirm: tip ? [{ hash: tip.hash }] : [],
      ...{ readThroughS: Math.floor(Date.now() / 1000), nowMs: Date.now() },
    });
    if (outcome === 'stale_watch') await watch(database);
  };
}

/** Allots what waits, has it signed, and records what was signed. */
async function pay(database: Database): Promise<void> {
  const nowMs = Date.now();
  const mined = journal.length;
  for (const { payout, attempts } of await database.payouts.open(network, nowMs, 100)) {
    const nonce = attempts[0]?.nonce;
    if (attempts[0]?.tx === null && nonce != null) tell({ is: 'sign', id: payout.id, nonce });
    if (payout.state !== 'waiting') continue;
    const offer = await database.payouts.offerNonce(network, payer, counted(mined), nowMs);
    if (offer.kind !== 'free') continue;
    const outcome = await allot(database, payout.id, { nonce: offer.nonce, nowMs });
    if (outcome.kind === 'allotted') tell({ is: 'sign', id: payout.id, nonce: offer.nonce });
  }
  const recorded = (await database.engines.list()).find((engine) => engine.network === network)?.journalId ?? 0;
  for (const [at, { id, nonce }] of journal.entries()) {
    if (at + 1 <= recorded) continue;
    const payout = await database.payouts.find(id);
    if (payout?.intent.kind !== 'refund') throw new Error(`${id} is a refund`);
    const stray = await database.payouts.recordSigned(network, [signatureOf(payout.intent, at + 1, { nonce })]);
    if (stray) throw new Error(`the signature of ${id} is stray`);
    await sent(database, id);
  }
}

async function send(database: Database): Promise<void> {
  const atMs = Date.now();
  const limits = { limit: 5, unprovenMax: 5, places: () => 5 };
  for (const one of await database.sending.claim({ nowMs: atMs, leaseMs: LEASE_MS, holder, ...limits })) {
    tell({ is: 'claimed', id: one.id, atMs, untilMs: one.leaseUntilMs });
    await recordAttempt(database, one, { startedAtMs: Date.now(), status: 200 }, { kind: 'delivered' });
  }
}

try {
  await Promise.all([shop, follow('one'), follow('two'), pay, send].map(repeat));
  process.exit();
} catch (error) {
  process.send?.({ is: 'broken', why: error instanceof Error ? (error.stack ?? error.message) : String(error) }, () =>
    process.exit(1),
  );
}
