/**
 * Keeps every address pool that is derived from an xpub filled ahead of demand. There is one pool for each chain family
 * and mode; a request only takes an existing address. `app/watches/pools.ts` watches them all.
 */
import { createHash } from 'node:crypto';
import type { Family } from '../chains/chain.ts';
import type { Config } from '../config/config.ts';
import type { Mode } from '../core/transfer.ts';
import type { PoolLevel } from '../database/addresses.ts';
import type { Database } from '../database/database.ts';
import { aborted, type Clock } from '../lib/clock.ts';
import { every, type Round } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';
import { openThreadPool } from '../lib/thread-pool.ts';
import type { DeriveTask } from './derive-worker.ts';

/** Size of the first slice: a new installation can take sessions as soon as it is saved. */
const FIRST_SLICE = 25;
/** Addresses in one commit afterwards: a fraction of a second to derive, a few milliseconds to save. */
const SLICE = 250;
/** Filling starts when the pool is below this share of its target. */
const REFILL_BELOW = 0.75;
/** Where sessions take more than the target in such a time, the pool holds what they took in the last one or two. */
const USE_MS = 60_000;
/** How many times the target it holds at most: addresses that are never used stay in the database. */
const TARGET_TIMES_MAX = 10;
const POLL_MS = 500;
/** The thread ends some time after a refill: it costs tens of megabytes and is needed only every few minutes. */
const THREAD_IDLE_MS_MAX = 3_000;

/** The effect of an empty pool, for messages. */
export const WHILE_EMPTY = 'new sessions do not offer its networks, and are refused where no other is left';

/** The source of a pool: all networks of its family and mode have this xpub. */
type Xpub = Readonly<{ family: Family; mode: Mode; xpub: string; fingerprint: string }>;

export type PoolOptions = Readonly<{
  database: Database;
  config: Pick<Config, 'networks'> & { readonly limits: Pick<Config['limits'], 'poolTarget'> };
  clock: Clock;
  log: Log;
}>;

interface PoolKeeper {
  /** Resolves after `stop`; rejects when a pool can no longer be filled and a person must act. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Identifies an xpub without showing it: the first 16 hex digits of its SHA-256. The xpub itself lists every address of
 * the shop, so logs and tables hold only this.
 */
export const xpubFingerprint = (xpub: string): string => createHash('sha256').update(xpub).digest('hex').slice(0, 16);

/** Starts filling the pools of every configured network. */
export function startPool({ database, config, clock, log }: PoolOptions): PoolKeeper {
  const stopping = new AbortController();
  const { signal } = stopping;
  const thread = openThreadPool<DeriveTask, string[]>({
    module: new URL('./derive-worker.ts', import.meta.url),
    task: 'deriveAddresses',
    threadsMax: 1,
    idleMsMax: THREAD_IDLE_MS_MAX,
  });

  /** Adds one slice if the pool needs one. @returns whether it did */
  async function topUp(
    source: Xpub,
    { free, nextIndex, retiredThrough }: PoolLevel,
    { target, isFilling }: Readonly<{ target: number; isFilling: boolean }>,
  ): Promise<boolean> {
    const { family, mode, xpub, fingerprint } = source;
    // Retired ones come first, and are needed soon: followers wait for them.
    const isBehind = retiredThrough > nextIndex;
    if (!isBehind && free >= (isFilling ? target : target * REFILL_BELOW)) return false;
    const wanted = isBehind ? retiredThrough - nextIndex : target - free;
    const count = Math.min(wanted, free === 0 && !isBehind ? FIRST_SLICE : SLICE);
    const indexes = Array.from({ length: count }, (_, n) => nextIndex + n);
    const keys = await thread.run({ family, xpub, indexes });
    await database.addresses.add({ family, mode, source: fingerprint, firstIndex: nextIndex, keys });
    log.debug({ family, mode, source: fingerprint, firstIndex: nextIndex, count }, 'addresses added to the pool');
    return true;
  }

  async function keep(source: Xpub): Promise<void> {
    const { family, mode, fingerprint } = source;
    let isFilling = true;
    const targetAfter = createTarget(config.limits.poolTarget);
    const fill = async (): Promise<Round> => {
      const wasFilling = isFilling;
      const level = await database.addresses.level({ family, mode }, fingerprint);
      const target = targetAfter(level.taken, clock.nowMs());
      isFilling = await topUp(source, level, { target, isFilling });
      if (wasFilling && !isFilling) log.info({ family, mode, source: fingerprint }, 'the address pool is full');
      return isFilling ? 'again' : undefined;
    };
    await every(POLL_MS, fill, { clock, log, signal, what: `filling the ${mode} ${family} address pool` });
  }

  // Without pools to fill, the keeper still runs until it is stopped.
  const sources = sourcesOf(config.networks);
  const work = Promise.all([aborted(signal), ...sources.map(keep)]);
  const ended = work.then(
    () => thread.close(),
    async (error) => {
      stopping.abort();
      await thread.close();
      throw error;
    },
  );
  return {
    ended,
    stop() {
      stopping.abort();
      return ended;
    },
  };
}

/**
 * Returns the size that a pool should have now, from how many of its addresses have ever been taken: the configured
 * target, or as many as were taken since a minute or two ago.
 */
export function createTarget(configured: number): (taken: number, nowMs: number) => number {
  /** When this minute began, and what had been taken then and when the one before it began. */
  let minute: Readonly<{ atMs: number; taken: number; takenBefore: number }> | null = null;
  return (taken, nowMs) => {
    minute ??= { atMs: nowMs, taken, takenBefore: taken };
    if (nowMs - minute.atMs >= USE_MS) minute = { atMs: nowMs, taken, takenBefore: minute.taken };
    return Math.min(TARGET_TIMES_MAX * configured, Math.max(configured, taken - minute.takenBefore));
  };
}

/** Returns the pools to fill. All networks of a family and mode have one xpub, which the configuration checks. */
function sourcesOf(networks: Config['networks']): Xpub[] {
  const sources = new Map<string, Xpub>();
  for (const { family, mode, xpub } of networks) {
    if (xpub === null) continue;
    sources.set(`${family}/${mode}`, { family, mode, xpub, fingerprint: xpubFingerprint(xpub) });
  }
  return [...sources.values()];
}
