/**
 * Translates SQLite's errors into faults.
 */
import Sqlite from 'better-sqlite3';
import { type Fault, permanent, transient } from '../../core/fault.ts';

/** Result codes (sqlite.org/rescode.html, extended ones cut to their family) after which a retry may succeed. */
const passing: Readonly<Record<string, string>> = {
  BUSY: 'another process held its write lock for too long. Try again; if it stays, find the process that has it open',
  LOCKED: 'it is locked. Try again; if it stays, find the process that has it open',
  FULL: 'the disk or the configured size limit (limits.storage_bytes_max) is full. Make room or raise the limit',
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
 * `storage_damaged` (permanent). A failed constraint becomes an Error named `ConstraintFailed`: a bug, because input is
 * checked before it is written. Its transaction is rolled back, so memory is consistent. Returns any other error as is.
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
  if (family !== 'CONSTRAINT') return error;
  const failed = new Error(`the database refused what the program wrote: ${error.message}`, { cause: error });
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
