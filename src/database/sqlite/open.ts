/**
 * Opens the database file with the settings that everything else relies on.
 * @module
 */
import Sqlite from 'better-sqlite3';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';
import { invariant, permanent } from '../../core/fault.ts';
import { guarded, isBusy } from './storage-fault.ts';

/** Older versions can corrupt a WAL file that several processes write (sqlite.org/wal.html, "WAL-reset bug"). */
const SQLITE_VERSION_MIN = [3, 51, 3] as const;

/**
 * After a failed wait for the write lock, later waits are this short until one succeeds. A wait blocks the thread, so a
 * series of long ones would keep it from answering requests and health checks.
 */
const BUSY_RETRY_MS = 50;

/** The value of `PRAGMA synchronous` that syncs each commit. */
const FULL = 2;

export type Db = Readonly<{
  file: string;
  client: Sqlite.Database;
  orm: BetterSQLite3Database;
  /**
   * Runs `work` in one BEGIN IMMEDIATE transaction: commits, or changes nothing. `work` is synchronous.
   * @throws Fault transient `storage_unavailable`
   */
  write<T>(work: () => T): T;
  /** Runs `work` on one consistent snapshot of the file. */
  read<T>(work: () => T): T;
}>;

export type OpenOptions = Readonly<{
  file: string;
  /** How long a call may wait for another process's write. The wait blocks the thread, and is short after a failure. */
  busyTimeoutMs: number;
  /** Largest size of the file; null for no limit. */
  bytesMax: number | null;
}>;

/**
 * Opens an existing file.
 * @throws Fault `storage_unavailable`, `storage_damaged`, `sqlite_too_old`
 */
export function openDatabase({ file, busyTimeoutMs, bytesMax }: OpenOptions): Db {
  const client = guarded(file, () => connect(file, busyTimeoutMs, true));
  const inTransaction = client.transaction((work: () => unknown) => work());
  let isPatient = true;

  /** Sets whether the next wait for another process's write may be long. */
  function setPatience(patient: boolean): void {
    if (isPatient === patient) return;
    isPatient = patient;
    client.pragma(`busy_timeout = ${patient ? busyTimeoutMs : Math.min(busyTimeoutMs, BUSY_RETRY_MS)}`);
  }

  function write<T>(work: () => T): T {
    try {
      const result = inTransaction.immediate(work) as T;
      setPatience(true);
      return result;
    } catch (error) {
      if (isBusy(error)) setPatience(false);
      throw error;
    }
  }

  try {
    guarded(file, () => {
      if (bytesMax === null) return;
      const pageBytes = Number(client.pragma('page_size', { simple: true }));
      client.pragma(`max_page_count = ${Math.max(1, Math.floor(bytesMax / pageBytes))}`);
    });
  } catch (error) {
    client.close();
    throw error;
  }
  return {
    file,
    client,
    orm: drizzle(client, { casing: 'snake_case' }),
    write: <T>(work: () => T) => guarded(file, () => write(work)),
    read: <T>(work: () => T) => guarded(file, () => inTransaction.deferred(work) as T),
  };
}

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
    return client;
  } catch (error) {
    client.close();
    throw error;
  }
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
