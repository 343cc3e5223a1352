/**
 * Pools of deposit addresses: one for each chain family and mode, filled ahead of the sessions that take from it.
 */
import type { PoolKey } from './sweeps.ts';

/** An address that a session takes. */
export type Taken = PoolKey & Readonly<{ source: string; index: number }>;

/** Addresses from `nextIndex` to below `retiredThrough` are to be watched and are not derived yet. */
export type PoolLevel = PoolKey & Readonly<{ free: number; taken: number; nextIndex: number; retiredThrough: number }>;

/** An address of a session that waits for its payment, and where it was derived. */
export type OpenAddress = Readonly<{ id: number; key: string; index: number }>;

export interface Addresses {
  /** Adds addresses `firstIndex…` of a source, which becomes the pool's; free ones of another source are retired. */
  add(
    input: PoolKey & { readonly source: string; readonly firstIndex: number; readonly keys: readonly string[] },
  ): Promise<void>;
  /**
   * Retires the addresses of a source with an index below `through` that no session took, known now or added later:
   * they are watched and never given out. @returns how many there are
   */
  retire(pool: PoolKey, source: string, through: number): Promise<number>;
  /** Returns, for each source, the index after the highest that a session took; 0 when none was. */
  given(): Promise<readonly (PoolKey & Readonly<{ source: string; through: number }>)[]>;
  /** Returns the level for new sessions. A retired source has nothing free until addresses are added to it again. */
  level(pool: PoolKey, source: string): Promise<PoolLevel>;
  /** Returns the source that the pool gives addresses from; null before the first. */
  source(pool: PoolKey): Promise<string | null>;
  /** Returns the key of address number `index` of a source; null when it is not in the database. */
  poolAddress(pool: PoolKey, source: string, index: number): Promise<string | null>;
  /** Returns the index of the address with a key; null if the pool has none, or its row was altered. */
  depositIndex(pool: PoolKey, key: string): Promise<number | null>;
  /**
   * Returns addresses of open sessions among the next `limit` that were given out, by id: after `afterId`, or from the
   * oldest open session's on. `throughId` is the last of these `limit`; null at the end.
   */
  open(
    pool: PoolKey,
    source: string,
    afterId: number | null,
    limit: number,
  ): Promise<Readonly<{ found: readonly OpenAddress[]; throughId: number | null }>>;
  /** Refuses an address that its xpub does not derive: it is not shown, paid to or given out, and raises an alarm. */
  refuse(id: number, nowMs: number): Promise<void>;
  /** Returns addresses with ids above `afterId`, by id: taken, free and retired ones, because all are watched. */
  watchList(pool: PoolKey, afterId: number, limit: number): Promise<readonly Readonly<{ id: number; key: string }>[]>;
}
