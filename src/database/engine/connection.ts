/**
 * Connections to a SQLite file with our settings, and SQLite's errors as faults.
 */
import Sqlite from 'better-sqlite3';
import { type Fault, invariant, permanent, transient } from '../../core/fault.ts';
import { systemClock } from '../../lib/clock.ts';

/** Older versions can corrupt a WAL file that several processes write (sqlite.org/wal.html, "WAL-reset bug"). */
const SQLITE_VERSION_MIN = [3, 51, 3] as const;

const WAL_RETRY_MS = 10;

/** The value of `PRAGMA synchronous` that syncs each commit. */
const FULL = 2;

/**
 * Opens a connection with our settings. The busy timeout comes first, because the switch to WAL already needs it.
 * @throws SqliteError; Fault permanent `sqlite_too_old`
 */
export function connect(file: string, busyTimeoutMs: number, mustExist: boolean): Sqlite.Database {
  const client = new Sqlite(file, { timeout: busyTimeoutMs, fileMustExist: mustExist });
  try {
    client.pragma(`busy_timeout = ${busyTimeoutMs}`);
    refuseOldSqlite(String(client.prepare('SELECT sqlite_version()').pluck().get()));
    useWal(client, busyTimeoutMs);
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

/**
 * Switches the file to WAL. Two processes that switch a new file at the same time would wait for each other. SQLite
 * refuses one of them at once, whatever its timeout (sqlite.org/c3ref/busy_handler.html).
 */
function useWal(client: Sqlite.Database, timeoutMs: number): void {
  for (const giveUpAtMs = systemClock.nowMs() + timeoutMs; ; ) {
    try {
      client.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || systemClock.nowMs() >= giveUpAtMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAL_RETRY_MS);
    }
  }
}

/**
 * Adds the aggregate `sum_units`, the exact sum of amounts in decimal text. SQLite's integers are too small for them.
 */
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

// ── Errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Result codes (sqlite.org/rescode.html, extended ones cut to their family) after which a retry may succeed. */
const passing: Readonly<Record<string, string>> = {
  BUSY: 'another process held its write lock for too long. Try again; if it stays, find the process that has it open',
  LOCKED: 'it is locked. Try again; if it stays, find the process that has it open',
  FULL: 'the disk is full. Make room',
  IOERR: 'reading or writing the disk failed. Check that the disk has room, and the file system',
  READONLY: 'it is read-only. Check the owner and mode of the file and its folder',
  CANTOPEN:
    'it cannot be opened. Check that its folder exists and is writable, and start Quayside once with `npm start`',
  NOMEM: 'memory ran out. Free memory on the machine',
  PROTOCOL: 'too many processes are opening it at once. Try again',
};

const lasting: Readonly<Record<string, string>> = {
  CORRUPT: 'it is damaged. Stop all processes and restore the newest backup',
  NOTADB: 'it is not a SQLite database. Check the path in the configuration',
};

/**
 * Translates an error of SQLite, or of the files beside it, into a `Fault`: `storage_unavailable` (transient) or
 * `storage_damaged` (permanent). A failed constraint becomes an Error named `ConstraintFailed`. It is a bug, because
 * input is checked before it is written. Returns any other error as is.
 */
export function asStorageFault(error: unknown, file: string): unknown {
  if (isSystemError(error)) {
    return transient(
      'storage_unavailable',
      `A file of the database ${file} cannot be used: ${error.message}. Check the folder and the disk.`,
      error,
    );
  }
  if (!(error instanceof Sqlite.SqliteError)) return error;
  const family = error.code.replace(/^SQLITE_/, '').split('_', 1)[0] ?? '';
  const why = passing[family];
  if (why) return transient('storage_unavailable', `The database ${file} cannot be used now: ${why}.`, error);
  const damage = lasting[family];
  if (damage) return permanent('storage_damaged', `The database ${file} cannot be used: ${damage}.`, error);
  return family === 'CONSTRAINT' ? constraintFailed(error) : error;
}

/** Returns the error of a failed constraint. */
export function constraintFailed(cause: Error): Error {
  const failed = new Error(`the database refused what the program wrote: ${cause.message}`, { cause });
  failed.name = 'ConstraintFailed';
  return failed;
}

/** An error of the operating system, as `node:fs` throws it. */
const isSystemError = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && 'syscall' in error;

/** The fault of a write that was not run because another process held the lock for too long. */
export const lockWaitFault = (file: string): Fault =>
  transient('storage_unavailable', `The database ${file} cannot be used now: ${passing.BUSY}.`);

/** Returns true when another process held the write lock for longer than this one waits. */
export const isBusy = (error: unknown): boolean =>
  error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY');

/** Runs `work` and translates errors of SQLite and of the file system. */
export function guarded<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw asStorageFault(error, file);
  }
}
