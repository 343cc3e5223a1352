/**
 * A copy of a database that is in use, and what it holds.
 */
import type { Mode } from '../../core/transfer.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { connect } from './connection.ts';
import { versionOf } from './migrate.ts';
import { guarded } from './storage-fault.ts';

const BUSY_TIMEOUT_MS = 30_000;
/** Days in which the busiest one is looked for. */
const USE_DAYS = 30;

/** Addresses of a source with an index below `through` were given out or retired; `dailyMax`: given on one day. */
type PoolUse = Readonly<{ family: string; mode: Mode; source: string; through: number; dailyMax: number }>;

type SnapshotContent = Readonly<{
  schemaVersion: number;
  /** Rows of each table. */
  counts: Readonly<Record<string, number>>;
  pools: readonly PoolUse[];
}>;

/**
 * Copies the database as it is at this moment into `to`, which must not exist or be empty. Writers go on meanwhile: the
 * copy is one read transaction. (SQLite's backup interface begins again at each write of another process, so that it
 * would not end on a busy installation.)
 * @throws Fault transient `storage_unavailable`
 */
export function copyDatabase(file: string, to: string): void {
  guarded(file, () => {
    const client = connect(file, BUSY_TIMEOUT_MS, true);
    try {
      client.prepare('VACUUM INTO ?').run(to);
    } finally {
      client.close();
    }
  });
}

/**
 * Reads what a copy holds, of any version of the schema since retired addresses are known.
 * @throws Fault `storage_unavailable`, `storage_damaged`
 */
export function describeSnapshot(file: string, nowMs: number): SnapshotContent {
  return guarded(file, () => {
    const client = connect(file, BUSY_TIMEOUT_MS, true);
    try {
      const tables = client
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
        .pluck()
        .all() as string[];
      const count = (table: string) => Number(client.prepare(`SELECT count(*) FROM "${table}"`).pluck().get());
      const pools = client
        .prepare(
          `SELECT family, mode, source,
             max(retired_through, coalesce((SELECT max(derivation_index) + 1 FROM addresses
                                            WHERE pool_id = pools.id AND state = 'taken'), 0)) AS through,
             coalesce((SELECT max(given) FROM (
               SELECT count(*) AS given FROM sessions JOIN addresses ON addresses.session_id = sessions.id
               WHERE sessions.created_at_ms >= @sinceMs AND addresses.pool_id = pools.id
               GROUP BY sessions.created_at_ms / @dayMs)), 0) AS dailyMax
           FROM pools ORDER BY id`,
        )
        .all({ sinceMs: nowMs - USE_DAYS * DAY_MS, dayMs: DAY_MS }) as PoolUse[];
      const counts = Object.fromEntries(tables.map((table) => [table, count(table)]));
      return { schemaVersion: versionOf(client), counts, pools };
    } finally {
      client.close();
    }
  });
}
