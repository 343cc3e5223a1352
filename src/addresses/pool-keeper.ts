/**
 * Fills every address pool that is derived from an xpub ahead of demand, so that a request only takes an existing
 * address. There is one pool for each chain family and mode. `app/watches/pools.ts` watches all pools.
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

/** Size of the first slice. It is small, because a new installation can take sessions as soon as it is saved. */
const FIRST_SLICE = 25;
/** Size of later slices, which take a fraction of a second to derive, and a few milliseconds to save. */
const SLICE = 250;
/** Filling starts when the pool is below this share of its target. */
const REFILL_BELOW = 0.75;
/**
 * Period of demand. If sessions take more than the target in it, the target becomes their number in the last one or two
 * periods.
 */
const USE_MS = 60_000;
/** Largest target, in multiples of the configured one. Unused addresses would stay in the database for good. */
const TARGET_TIMES_MAX = 10;
const POLL_MS = 500;
/** Idle time after which the thread ends. It takes tens of megabytes, and is needed only every few minutes. */
const THREAD_IDLE_MS_MAX = 3_000;

/** The effect of an empty pool, for messages. */
export const WHILE_EMPTY = 'new sessions do not offer its networks, and are refused where no other is left';

/** The source of a pool, which all networks of its family and mode share. */
type Xpub = Readonly<{ family: Family; mode: Mode; xpub: string; fingerprint: string }>;

export type PoolOptions = Readonly<{
  database: Database;
  config: Pick<Config, 'networks'> & { readonly limits: Pick<Config['limits'], 'poolTarget'> };
  clock: Clock;
  log: Log;
}>;

interface PoolKeeper {
  /** Resolves after `stop`. Rejects when a pool can no longer be filled, and a person must act. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Returns the first 16 hex digits of an xpub's SHA-256, which identify it in logs and tables. The xpub itself would
 * reveal every address of the shop.
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
    // Retired addresses come first, and are needed soon, because followers wait for them.
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

  // A keeper without pools still runs until it is stopped.
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
 * Returns a function that computes a pool's target from the number of its addresses that were ever taken. The target is
 * the configured one, or the number taken in the last one or two minutes if that is larger.
 */
export function createTarget(configured: number): (taken: number, nowMs: number) => number {
  /** The beginning of this minute, and the numbers taken by then and by the beginning of the minute before. */
  let minute: Readonly<{ atMs: number; taken: number; takenBefore: number }> | null = null;
  return (taken, nowMs) => {
    minute ??= { atMs: nowMs, taken, takenBefore: taken };
    if (nowMs - minute.atMs >= USE_MS) minute = { atMs: nowMs, taken, takenBefore: minute.taken };
    return Math.min(TARGET_TIMES_MAX * configured, Math.max(configured, taken - minute.takenBefore));
  };
}

/** Returns the pools to fill. The configuration ensures that all networks of a family and mode have one xpub. */
function sourcesOf(networks: Config['networks']): Xpub[] {
  const sources = new Map<string, Xpub>();
  for (const { family, mode, xpub } of networks) {
    if (xpub === null) continue;
    sources.set(`${family}/${mode}`, { family, mode, xpub, fingerprint: xpubFingerprint(xpub) });
  }
  return [...sources.values()];
}
