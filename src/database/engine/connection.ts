/**
 * A connection to a database file, with the settings that everything else relies on.
 */
import Sqlite from 'better-sqlite3';
import { invariant, permanent } from '../../core/fault.ts';

/** Older versions can corrupt a WAL file that several processes write (sqlite.org/wal.html, "WAL-reset bug"). */
const SQLITE_VERSION_MIN = [3, 51, 3] as const;

/** The value of `PRAGMA synchronous` that syncs each commit. */
const FULL = 2;

/** A connection to one file, for statements. */
export type Client = Sqlite.Database;

/**
 * Opens a connection with our settings. The busy timeout comes first, because the switch to WAL already needs it.
 * @throws SqliteError; Fault permanent `sqlite_too_old`
 */
export function connect(file: string, busyTimeoutMs: number, mustExist: boolean): Sqlite.Database {
  const client = new Sqlite(file, { timeout: busyTimeoutMs, fileMustExist: mustExist });
  try {
    client.pragma(`busy_timeout = ${busyTimeoutMs}`);
    refuseOldSqlite(String(client.prepare('SELECT sqlite_version()').pluck().get()));
    client.pragma('journal_mode = WAL');
    client.pragma('synchronous = FULL');
    // Signed bytes are sent as soon as they are recorded, so power loss must not undo the record.
    invariant(client.pragma('synchronous', { simple: true }) === FULL, 'each commit is synced to the disk');
    client.pragma('foreign_keys = ON');
    addSumOfUnits(client);
    return client;
  } catch (error) {
    client.close();
    throw error;
  }
}

/** Adds the aggregate `sum_units`, the exact sum of amounts as decimal text: SQLite's own integers are too small. */
function addSumOfUnits(client: Sqlite.Database): void {
  client.aggregate<bigint | string | null>('sum_units', {
    start: () => 0n,
    step: (sum, units) => (units === null ? sum : BigInt(sum ?? 0n) + BigInt(units)),
    result: (sum) => String(sum),
    deterministic: true,
  });
}

/** @throws Fault permanent `sqlite_too_old` */
export function refuseOldSqlite(version: string): void {
  const parts = version.split('.').map(Number);
  const at = SQLITE_VERSION_MIN.findIndex((part, index) => parts[index] !== part);
  if (at < 0 || (parts[at] ?? 0) > (SQLITE_VERSION_MIN[at] ?? 0)) return;
  throw permanent(
    'sqlite_too_old',
    `SQLite ${version} can corrupt a file that several processes write; at least ${SQLITE_VERSION_MIN.join('.')} is ` +
      'needed. Run `npm ci` again, which installs better-sqlite3 with its own SQLite.',
  );
}
