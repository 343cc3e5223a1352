/**
 * Keeps every address pool that is derived from an xpub filled ahead of the sessions that will take from it. There is one pool for each
 * chain family and mode; a request only ever takes an address that is already there. Imported pools are watched by `imported-pools.ts`.
 * @module
 */
import { createHash } from 'node:crypto';
import type { Family } from '../chains/chain.ts';
import type { Config } from '../config/config.ts';
import type { Mode, NetworkKey } from '../core/transfer.ts';
import type { Database, PoolLevel } from '../database/database.ts';
import type { Clock } from '../lib/clock.ts';
import { every, type Round } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';
import { openThreadPool } from '../lib/thread-pool.ts';
import type { DeriveTask } from './derive-worker.ts';

/** A fresh install can take its first session as soon as this many addresses are there. */
const FIRST_SLICE = 25;
/** Addresses in one commit afterwards: a fraction of a second of derivation, a few milliseconds of writing. */
const SLICE = 250;
/** Filling starts when the pool has sunk below this share of its target. */
const REFILL_BELOW = 0.75;
const POLL_MS = 500;
/** The thread ends some time after a refill; it costs tens of megabytes and a busy shop needs it every few minutes. */
const THREAD_IDLE_MS_MAX = 10_000;

/** What an empty pool means, to people. */
export const WHILE_EMPTY = 'new sessions do not offer its networks, and are refused where no other is left';

/** One pool to keep: every network of the family and mode shares the extended public key (the configuration sees to it). */
type Source = Readonly<{ network: NetworkKey; family: Family; mode: Mode; xpub: string; fingerprint: string }>;

export type PoolOptions = Readonly<{
  database: Pick<Database, 'poolLevel' | 'addAddresses' | 'raiseAlarm'>;
  config: Pick<Config, 'networks'> & { readonly limits: Pick<Config['limits'], 'poolTarget'> };
  clock: Clock;
  log: Log;
}>;

export interface PoolKeeper {
  /** Ends in order after `stop`; rejects when a pool can no longer be filled and a person must act. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Names an extended public key without showing it: the first 16 hex digits of its SHA-256. Whoever has the key itself could
 * list every address of the shop, so logs and tables carry only this.
 */
export const xpubFingerprint = (xpub: string): string => createHash('sha256').update(xpub).digest('hex').slice(0, 16);

/** Starts keeping the pools of every configured network. */
export function startPool({ database, config, clock, log }: PoolOptions): PoolKeeper {
  const stopping = new AbortController();
  const { signal } = stopping;
  const thread = openThreadPool<DeriveTask, string[]>({
    module: new URL('./derive-worker.ts', import.meta.url),
    task: 'deriveAddresses',
    threadsMax: 1,
    idleMsMax: THREAD_IDLE_MS_MAX,
  });

  /** Says that sessions took addresses faster than they were made. */
  async function tellEmpty({ network, family, mode }: Source): Promise<void> {
    const code = 'address_pool_empty';
    const message = `The ${mode} ${family} address pool ran empty: until it is filled, ${WHILE_EMPTY}. If this comes again, raise limits.pool_target above ${config.limits.poolTarget}.`;
    log.warn({ code, family, mode }, message);
    await database.raiseAlarm({ atMs: clock.nowMs(), code, message, network, sessionId: null });
  }

  /** Adds one slice when the pool wants one. @returns whether it did */
  async function topUp(source: Source, { free, nextIndex }: PoolLevel, isFilling: boolean): Promise<boolean> {
    const { family, mode, xpub, fingerprint } = source;
    const target = config.limits.poolTarget;
    if (free >= (isFilling ? target : target * REFILL_BELOW)) return false;
    const count = Math.min(free === 0 ? FIRST_SLICE : SLICE, target - free);
    const keys = await thread.run({ family, xpub, firstIndex: nextIndex, count });
    await database.addAddresses({ family, mode, source: fingerprint, firstIndex: nextIndex, keys });
    log.debug({ family, mode, source: fingerprint, firstIndex: nextIndex, count }, 'addresses added to the pool');
    return true;
  }

  async function keep(source: Source): Promise<void> {
    const { family, mode, fingerprint } = source;
    let isFilling = true;
    /** Since it was last told to be empty. Until it is full for the first time, nothing else can be expected. */
    let wasFull = false;
    const fill = async (): Promise<Round> => {
      const wasFilling = isFilling;
      const level = await database.poolLevel({ family, mode }, fingerprint);
      if (level.free === 0 && wasFull) {
        await tellEmpty(source);
        wasFull = false;
      }
      isFilling = await topUp(source, level, isFilling);
      wasFull ||= !isFilling;
      if (wasFilling && !isFilling) log.info({ family, mode, source: fingerprint }, 'the address pool is full');
      return isFilling ? 'again' : undefined;
    };
    await every(POLL_MS, fill, { clock, log, signal, what: `filling the ${mode} ${family} address pool` });
  }

  // An installation whose addresses are all imported has nothing to keep, and is no less up for it.
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  const work = Promise.all([stopped, ...sourcesOf(config.networks).map(keep)]);
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

function sourcesOf(networks: Config['networks']): Source[] {
  const sources = new Map<string, Source>();
  for (const { key: network, family, mode, xpub } of networks) {
    if (xpub === null) continue;
    sources.set(`${family}/${mode}`, { network, family, mode, xpub, fingerprint: xpubFingerprint(xpub) });
  }
  return [...sources.values()];
}
