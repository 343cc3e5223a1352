/**
 * Puts the copy that was made before an upgrade in the place of a database: what happened since, and the change itself.
 * The copy has the schema of an earlier program, so this uses only what every version has that could have made one.
 * @module
 */
import { closeSync, copyFileSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type Sqlite from 'better-sqlite3';
import { RESTORED } from '../freezes.ts';
import type { PoolKey } from '../sweeps.ts';
import { connect } from './connection.ts';
import { versionOf } from './migrate.ts';
import { guarded } from './storage-fault.ts';

const BUSY_TIMEOUT_MS = 5_000;

/** Rows that a copy lacks, by what they are. */
export type NewSince = Readonly<{
  sessions: number;
  transfers: number;
  refunds: number;
  payouts: number;
  /** Signatures that were asked for. */
  payoutAttempts: number;
  ledgerEntries: number;
  /** What operators changed. */
  operatorActs: number;
}>;

/** Addresses of a source with an index below `through` were given out or retired. */
type Given = PoolKey & Readonly<{ source: string; through: number }>;

const added = (table: string, id = 'id'): string =>
  `SELECT count(*) FROM main.${table} AS now WHERE NOT EXISTS (SELECT 1 FROM copy.${table} AS past WHERE past.${id} = now.${id})`;

const queries: Readonly<Record<keyof NewSince, string>> = {
  sessions: added('sessions'),
  transfers: added('transfers'),
  refunds: added('refunds'),
  payouts: added('payouts'),
  payoutAttempts: `SELECT count(*) FROM main.payout_attempts AS now WHERE NOT EXISTS (
    SELECT 1 FROM copy.payout_attempts AS past WHERE past.payout_id = now.payout_id
      AND past.generation = now.generation AND past.attempt = now.attempt AND (past.tx IS NULL) = (now.tx IS NULL))`,
  ledgerEntries: added('ledger_entries'),
  operatorActs: added('audit_log'),
};

/**
 * Counts what a database has and its copy has not, and returns how far its addresses were given out.
 * @throws Fault `storage_unavailable`, `storage_damaged`
 */
export function compareWithCopy(
  file: string,
  copy: string,
): Readonly<{ since: NewSince; given: readonly Given[]; schema: number }> {
  return guarded(file, () => {
    const client = connect(file, BUSY_TIMEOUT_MS, true);
    try {
      client.prepare('ATTACH ? AS copy').run(copy);
      const since = Object.fromEntries(
        Object.entries(queries).map(([name, text]) => [name, Number(client.prepare(text).pluck().get())]),
      ) as NewSince;
      const given = client
        .prepare(
          `SELECT p.family, p.mode, p.source, max(p.retired_through, coalesce(max(a.derivation_index) + 1, 0)) AS through
           FROM pools AS p LEFT JOIN addresses AS a ON a.pool_id = p.id AND a.state = 'taken' GROUP BY p.id`,
        )
        .all() as Given[];
      return { since, given, schema: versionOf(client) };
    } finally {
      client.close();
    }
  });
}

/** Why money out is frozen once the copy is in place. */
export type PutBackFreeze = Readonly<{ reason: string; frozenBy: string; sinceMs: number }>;

/**
 * Puts a copy in the place of the database, which gets another name. Nothing else may use either. If it is interrupted,
 * there is the one or the other, whole.
 * @param aside the name that the database gets; must not exist
 * @returns the schema of the copy
 * @throws Fault `storage_unavailable`, `storage_damaged`
 */
export function putBack(file: string, copy: string, aside: string, freeze: PutBackFreeze): number {
  return guarded(file, () => {
    const prepared = `${file}.put-back`;
    for (const side of ['', '-wal', '-shm']) rmSync(`${prepared}${side}`, { force: true });
    copyFileSync(copy, prepared);
    const schema = withClient(prepared, (client) => {
      freezePayouts(client, freeze);
      return versionOf(client);
    });
    sync(prepared);
    withClient(file, () => {});
    linkSync(file, aside);
    for (const side of ['-wal', '-shm']) rmSync(`${file}${side}`, { force: true });
    renameSync(prepared, file);
    sync(dirname(file));
    return schema;
  });
}

/** Opens a file, and leaves nothing of it in its journal. */
function withClient<T>(file: string, work: (client: Sqlite.Database) => T): T {
  const client = connect(file, BUSY_TIMEOUT_MS, true);
  try {
    const result = work(client);
    client.pragma('wal_checkpoint(TRUNCATE)');
    return result;
  } finally {
    client.close();
  }
}

function freezePayouts(client: Sqlite.Database, { reason, frozenBy, sinceMs }: PutBackFreeze): void {
  const has = client.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'payout_freezes'").get();
  // A version without freezes has no other way: its operator is told not to unlock the signer.
  if (!has) return;
  client
    .prepare(
      // In older versions it replaces any other freeze of every network, of which there can be one only.
      `INSERT OR REPLACE INTO payout_freezes (network, code, reason, frozen_by, since_ms)
       VALUES ('', '${RESTORED}', :reason, :frozenBy, :sinceMs)`,
    )
    .run({ reason, frozenBy, sinceMs });
}

function sync(path: string): void {
  const handle = openSync(path, 'r');
  fsyncSync(handle);
  closeSync(handle);
}
