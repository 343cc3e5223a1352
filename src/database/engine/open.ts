/**
 * Opens the database for commands and queries.
 */
import type Sqlite from 'better-sqlite3';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';
import type { AuditedChange } from '../column-values.ts';
import { connect } from './connection.ts';
import { guarded } from './storage-fault.ts';
import { createWriteQueue, type WriteMeasure, type WriteQueue } from './write-queue.ts';

export type Db = Readonly<{
  file: string;
  client: Sqlite.Database;
  orm: BetterSQLite3Database;
  /**
   * Runs `work` in one BEGIN IMMEDIATE transaction: commits, or changes nothing. `work` is synchronous. While another
   * process writes, it waits in a queue and the thread goes on.
   * @throws Fault transient `storage_unavailable`
   */
  write: WriteQueue['write'];
  /** Returns how many rows this connection has changed. */
  changedRows(): number;
  /** Says what the current write changes, for the audit log, if this connection is for an operator's command. */
  describe(change: AuditedChange | 'recorded'): void;
  /** Runs `work` on one consistent snapshot of the file. */
  read<T>(work: () => T): T;
  /** Ends what still waits to be written, and closes the file. */
  close(): void;
}>;

export type OpenOptions = Readonly<{
  file: string;
  /** How long a write may wait for other processes' writes. */
  busyTimeoutMs: number;
  /** Largest size of the file; null for no limit. */
  bytesMax: number | null;
  /** Called before each write transaction is committed; if it throws, nothing of it is. */
  beforeCommit?: () => void;
  /** Called after each write transaction, with what it took. */
  onWrite?: (measure: WriteMeasure) => void;
}>;

/**
 * Opens an existing file.
 * @throws Fault `storage_unavailable`, `storage_damaged`, `sqlite_too_old`
 */
export function openDatabase({ file, busyTimeoutMs, bytesMax, ...hooks }: OpenOptions): Db {
  const client = guarded(file, () => connect(file, busyTimeoutMs, true));
  const inTransaction = client.transaction((work: () => unknown) => work());
  try {
    const queue = guarded(file, () => {
      if (bytesMax !== null) {
        const pageBytes = Number(client.pragma('page_size', { simple: true }));
        client.pragma(`max_page_count = ${Math.max(1, Math.floor(bytesMax / pageBytes))}`);
      }
      return createWriteQueue(client, { ...hooks, file, waitMs: busyTimeoutMs, busyTimeoutMs });
    });
    const changed = client.prepare('SELECT total_changes()').pluck();
    return {
      file,
      client,
      changedRows: () => Number(changed.get()),
      orm: drizzle(client, { casing: 'snake_case' }),
      write: (work, options) => queue.write(work, options),
      describe() {},
      read: <T>(work: () => T) => guarded(file, () => inTransaction.deferred(work) as T),
      close() {
        queue.close();
        client.close();
      },
    };
  } catch (error) {
    client.close();
    throw error;
  }
}

/** Returns a function whose result changes with every commit by any connection. */
export function changeCounter({ client, changedRows, file }: Db): () => number {
  // The first counts other connections' commits, the second this connection's changed rows; neither ever falls.
  const othersCommits = client.prepare('PRAGMA data_version').pluck();
  return () => guarded(file, () => Number(othersCommits.get()) + changedRows());
}
