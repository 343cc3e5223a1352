/**
 * Opens the database for commands and queries.
 * @module
 */
import type Sqlite from 'better-sqlite3';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';
import { connect } from './connection.ts';
import { guarded, isBusy } from './storage-fault.ts';

/**
 * After a failed wait for the write lock, later waits are this short until one succeeds. A wait blocks the thread, so a
 * series of long ones would keep it from answering requests and health checks.
 */
const BUSY_RETRY_MS = 50;

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
