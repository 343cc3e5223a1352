/**
 * Deposit addresses that may have been given out by a run that nothing here knows, because the whole machine was put
 * back to an earlier state: where nothing has followed the chains for a while, the database may be that of an earlier
 * moment. The addresses that would have been given next are retired: nobody gets an address that another payer has.
 */

import type { Mode } from '../core/transfer.ts';
import { DAY_MS, HOUR_MS } from '../lib/clock.ts';
import { sortableTime } from '../lib/id.ts';
import type { PoolKey } from './addresses.ts';
import type { Client } from './engine/connection.ts';
import { connect } from './engine/connection.ts';
import { guarded } from './engine/storage-fault.ts';
import type { pools } from './tables.ts';

const BUSY_TIMEOUT_MS = 5_000;
/** A restart takes less. A longer gap may be anything: a stop, or a machine that was put back to a snapshot. */
export const GAP_MS_MIN = 15_000;
/** How many times the busiest hour or day before it the gap may have been. */
const USE_FACTOR = 3;
/** Retired in any case: a new shop has no busy hour yet. */
const SPARE = 10;
/** At most this many are derived, in the background, before blocks are read: a minute or so of one core. */
const RETIRED_MAX = 50_000;
/** Days in which the busiest hour is looked for. */
const USE_DAYS = 30;
const DAY_HOURS = DAY_MS / HOUR_MS;

/** Addresses of a source with an index below `through` were given out, according to the marks beside the database. */
type Mark = Readonly<{ family: string; mode: Mode; source: string; through: number }>;

type Gap = Readonly<{
  /** Marks beside the database. Where they are above it, only the database was restored. */
  marks: readonly Mark[];
  /** Returns whether a pool has imported addresses, which cannot be derived: it keeps at least half of them. */
  isImported(pool: PoolKey): boolean;
  nowMs: number;
  /** When this installation was last known to run; absent, the database says so. */
  sinceMs?: number;
}>;

/** How many addresses of a pool were retired. */
type RetiredByGap = PoolKey & Readonly<{ source: string; retired: number }>;

/**
 * Returns how many addresses may have been given out in a gap.
 * @param hours how many sessions were created in each hour of the days before
 */
export function mayHaveGiven(hours: readonly number[], gapMs: number): number {
  const days = Array.from({ length: Math.ceil(hours.length / DAY_HOURS) }, (_, day) =>
    hours.slice(day * DAY_HOURS, (day + 1) * DAY_HOURS).reduce((sum, one) => sum + one, 0),
  );
  const byHour = (Math.max(0, ...hours) * gapMs) / HOUR_MS;
  const byDay = Math.max(0, ...days) * Math.max(1, gapMs / DAY_MS);
  return Math.min(RETIRED_MAX, SPARE + Math.ceil(USE_FACTOR * Math.min(byHour, byDay)));
}

/**
 * Retires what may have been given out if there was a gap, to be called before anything gives out addresses or reads
 * blocks.
 * @returns the pools in which addresses were retired
 * @throws Fault `storage_unavailable`, `storage_damaged`
 */
export function retireAfterGap(file: string, gap: Gap): RetiredByGap[] {
  return guarded(file, () => {
    const client = connect(file, BUSY_TIMEOUT_MS, true);
    try {
      return client.transaction(() => retire(client, gap)).immediate();
    } finally {
      client.close();
    }
  });
}

type Pool = typeof pools.$inferSelect & Readonly<{ given: number; free: number }>;

function retire(client: Client, { marks, isImported, nowMs, sinceMs }: Gap): RetiredByGap[] {
  const lastMs = sinceMs ?? lastSeen(client);
  if (lastMs === null || nowMs < lastMs + GAP_MS_MIN) return [];
  const count = mayHaveGiven(sessionsByHour(client, lastMs), nowMs - lastMs);
  const rows = client
    .prepare(
      `SELECT id, family, mode, source, next_index AS nextIndex, retired_through AS retiredThrough,
         gap_since_ms AS gapSinceMs, gap_given AS gapGiven,
         coalesce((SELECT derivation_index + 1 FROM addresses INDEXED BY addresses_given
                   WHERE pool_id = pools.id AND state <> 'free' AND state = 'taken' ORDER BY id DESC LIMIT 1), 0) AS given,
         (SELECT count(*) FROM addresses WHERE pool_id = pools.id AND state = 'free') AS free
       FROM pools WHERE current = 1`,
    )
    .all() as Pool[];
  return rows.flatMap((pool) => {
    const { id, family, mode, source, given, free } = pool;
    const mark = marks.find((one) => one.family === family && one.mode === mode && one.source === source);
    if (mark && mark.through > given) return [];
    const before = pool.gapSinceMs === lastMs ? pool.gapGiven : 0;
    const retired = Math.min(count - before, isImported(pool) ? Math.floor(free / 2) : RETIRED_MAX);
    if (retired <= 0) return [];
    retireNext(client, pool, retired);
    client.prepare('UPDATE pools SET gap_since_ms = ?, gap_given = ? WHERE id = ?').run(lastMs, count, id);
    return [{ family, mode, source, retired }];
  });
}

/** Returns when a chain was last followed, or when a backup was restored, which has retired addresses itself. */
function lastSeen(client: Client): number | null {
  const followedMs = client.prepare('SELECT max(updated_at_ms) FROM networks').pluck().get() as number | null;
  const restoredMs = client
    .prepare("SELECT max(since_ms) FROM payout_freezes WHERE code = 'restored_from_backup'")
    .pluck()
    .get() as number | null;
  return followedMs === null ? null : Math.max(followedMs, restoredMs ?? 0);
}

/** Returns how many sessions were created in each hour of the days before. Each takes one address of a pool at most. */
function sessionsByHour(client: Client, endMs: number): number[] {
  const count = client.prepare('SELECT count(*) FROM sessions WHERE id >= ? AND id < ?').pluck();
  const idAt = (ms: number) => `cs_${sortableTime(Math.max(0, ms))}`;
  return Array.from({ length: USE_DAYS * DAY_HOURS }, (_, hour) => {
    const toMs = endMs - hour * HOUR_MS;
    return Number(count.get(idAt(toMs - HOUR_MS), idAt(toMs)));
  });
}

/** Retires the addresses that the pool would give out next, also those that are not derived yet. */
function retireNext(client: Client, { id, nextIndex, retiredThrough }: Pool, count: number): void {
  const spoiled = client
    .prepare(
      `UPDATE addresses SET state = 'spoiled' WHERE id IN (
         SELECT id FROM addresses WHERE pool_id = ? AND state = 'free' ORDER BY id LIMIT ?)
       RETURNING derivation_index`,
    )
    .pluck()
    .all(id, count) as number[];
  const unknown = count - spoiled.length;
  const known = spoiled.reduce((most, one) => Math.max(most, one + 1), 0);
  const through = unknown > 0 ? Math.max(nextIndex, retiredThrough) + unknown : known;
  client.prepare('UPDATE pools SET retired_through = max(retired_through, ?) WHERE id = ?').run(through, id);
}
