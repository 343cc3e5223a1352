/**
 * Translates PostgreSQL's errors, and those of the connection to it, into the faults that SQLite's errors become.
 */
import { DatabaseError } from 'pg';
import { Fault, permanent, transient } from '../../core/fault.ts';

/** Classes and codes of errors (postgresql.org/docs/15/errcodes-appendix.html) after which a retry may succeed. */
const passing: Readonly<Record<string, string>> = {
  '08': 'the connection broke. Check that the server runs, and the network to it',
  '25006': 'it takes no writes: it is a standby. Set QUAYSIDE_DATABASE_URL to the primary',
  '28': 'it refuses the user or the password of QUAYSIDE_DATABASE_URL. Correct them',
  '3D000': 'it has no database of this name. Create it, or correct QUAYSIDE_DATABASE_URL',
  '40': 'other writers were in the way for too long. Try again; if it stays, look for a program that holds a lock',
  '42501': 'its user lacks a right. Make the user the owner of the database',
  '53': 'it has no room or no free connection left. Make room, or raise max_connections',
  '55P03': 'a lock was held for too long. Try again; if it stays, look for a program that holds it',
  '57': 'it was stopped, or it ended the statement. Check that the server runs',
  '58': 'reading or writing its disk failed. Check the disk of the server',
};

/** Codes of a transaction that lost against another one: serialization, deadlock. */
const lost = new Set(['40001', '40P01']);

export const codeOf = (error: unknown): string | null => (error instanceof DatabaseError ? (error.code ?? null) : null);

/** Returns whether a transaction lost against another one, and is to be run again. */
export const isLost = (error: unknown): boolean => lost.has(codeOf(error) ?? '');

/** Returns whether a row of another transaction came first: run again, the body finds it. */
export const isTaken = (error: unknown): boolean => codeOf(error) === '23505';

/** Returns whether the connection ended, so that nobody knows whether a COMMIT on it took place. */
export function isBroken(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== null) return code.startsWith('08') || code.startsWith('57P');
  if (!(error instanceof Error)) return false;
  return 'syscall' in error || broken.test(error.message);
}

/** Beginnings of what the driver says of a connection that ended, that was not made, or that nobody answers on. */
const broken = /^(Connection terminated|Client (has encountered|was closed)|timeout exceeded|Query read timeout)/;

/**
 * Translates an error of PostgreSQL into a `Fault`: `storage_unavailable` (transient) or `storage_damaged` (permanent).
 * A failed constraint becomes an Error named `ConstraintFailed`. Returns any other error as is.
 * @param name the database, without its password
 */
export function asPostgresFault(error: unknown, name: string): unknown {
  if (error instanceof Fault) return error;
  const code = codeOf(error);
  if (code === null) return isBroken(error) ? unavailable(name, passing['08'] ?? '', error) : error;
  const why = passing[code] ?? passing[code.slice(0, 2)];
  if (why) return unavailable(name, why, error);
  if (code === 'XX001' || code === 'XX002') {
    const damage = 'it is damaged. Stop all processes and restore the newest backup';
    return permanent('storage_damaged', `The database ${name} cannot be used: ${damage}.`, error);
  }
  if (!code.startsWith('23')) return error;
  const failed = new Error(`the database refused what the program wrote: ${String(error)}`, { cause: error });
  failed.name = 'ConstraintFailed';
  return failed;
}

const unavailable = (name: string, why: string, cause: unknown): Fault =>
  transient('storage_unavailable', `The database ${name} cannot be used now: ${why}.`, cause);
