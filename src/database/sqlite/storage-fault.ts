/**
 * What SQLite's own errors mean to a caller.
 * @module
 */
import Sqlite from 'better-sqlite3';
import { permanent, transient } from '../../core/fault.ts';

/** Result codes (sqlite.org/rescode.html), extended ones cut to their family, that a later try may not meet again. */
const passing: Readonly<Record<string, string>> = {
  BUSY: 'another process has held its write lock for too long. Try again; if it stays, find the process that holds the file open',
  LOCKED: 'it is locked. Try again; if it stays, find the process that holds the file open',
  FULL: 'the disk or the configured size limit (limits.storage_bytes_max) is full. Make room or raise the limit',
  IOERR: 'reading or writing the disk failed. Check the disk and the file system',
  READONLY: 'it may not be written. Check the owner and the mode of the file and of its folder',
  CANTOPEN: 'it cannot be opened. Check that the folder exists and may be written, and that the schema has been made',
  NOMEM: 'memory ran out. Free memory on the machine',
  PROTOCOL: 'too many processes open it at this moment. Try again',
};

const lasting: Readonly<Record<string, string>> = {
  CORRUPT: 'it is damaged. Stop all processes and restore the newest backup',
  NOTADB: 'it is not a SQLite database. Check the path in the configuration',
};

/**
 * Translates an error of SQLite, or of the files beside it, into a `Fault`: `storage_unavailable` (transient) or
 * `storage_damaged` (permanent). A failed constraint becomes an Error named `ConstraintFailed`: a mistake of this program, which
 * checks input before it writes. Its transaction is rolled back, so nothing in memory is wrong. Returns any other error as it is.
 */
function asStorageFault(error: unknown, file: string): unknown {
  if (isSystemError(error)) {
    return transient(
      'storage_unavailable',
      `Beside the database ${file}: ${error.message}. Check the folder and the disk.`,
      error,
    );
  }
  if (!(error instanceof Sqlite.SqliteError)) return error;
  const family = error.code.replace(/^SQLITE_/, '').split('_', 1)[0] ?? '';
  const why = passing[family];
  if (why) return transient('storage_unavailable', `The database ${file} cannot be used now: ${why}.`, error);
  const damage = lasting[family];
  if (damage) return permanent('storage_damaged', `The database ${file} cannot be used: ${damage}.`, error);
  if (family !== 'CONSTRAINT') return error;
  const failed = new Error(`the database refused what the program wrote: ${error.message}`, { cause: error });
  failed.name = 'ConstraintFailed';
  return failed;
}

/** An error of the operating system, as `node:fs` throws it. */
const isSystemError = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && 'syscall' in error;

/** Whether another process held the write lock for longer than this one may wait. */
export const isBusy = (error: unknown): boolean =>
  error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY');

/** Runs `work`; errors of SQLite and of the file system come out as faults or failed constraints. */
export function guarded<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw asStorageFault(error, file);
  }
}
