/**
 * Opens the database for commands and queries.
 */
import type Sqlite from 'better-sqlite3';
import type { AuditedChange } from '../column-values.ts';
import type { Client } from './client.ts';
import { connect } from './connection.ts';
import { createSqliteClient } from './sqlite.ts';
import { createOrm, type Orm } from './statements.ts';
import { asStorageFault, guarded } from './storage-fault.ts';
import { createTurns, type Turns } from './turns.ts';
import { createWriteQueue, type WriteMeasure, type WriteQueue } from './write-queue.ts';

export type Db = Readonly<{
  file: string;
  /** The connection itself, for what no transaction is about. */
  raw: Sqlite.Database;
  client: Client;
  orm: Orm;
  /**
   * Runs `work` in one BEGIN IMMEDIATE transaction: commits, or changes nothing. `work` waits for nothing but its
   * statements. While another process writes, it waits in a queue and the thread goes on.
   * @throws Fault transient `storage_unavailable`
   */
  write: WriteQueue['write'];
  /** Returns how many rows this connection has changed. */
  changedRows(): number;
  /** Says what the current write changes, for the audit log, if this connection is for an operator's command. */
  describe(change: AuditedChange | 'recorded'): void;
  /** Runs `work` on one consistent snapshot of the file. */
  read<T>(work: () => T | Promise<T>): Promise<T>;
  /** Refuses what still waits to be written, and closes the file. */
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
  const raw = guarded(file, () => connect(file, busyTimeoutMs, true));
  try {
    const turns = createTurns();
    const queue = guarded(file, () => {
      if (bytesMax !== null) {
        const pageBytes = Number(raw.pragma('page_size', { simple: true }));
        raw.pragma(`max_page_count = ${Math.max(1, Math.floor(bytesMax / pageBytes))}`);
      }
      return createWriteQueue(raw, turns, { ...hooks, file, waitMs: busyTimeoutMs, busyTimeoutMs });
    });
    const client = createSqliteClient(raw, turns);
    const changed = raw.prepare('SELECT total_changes()').pluck();
    return {
      file,
      raw,
      client,
      orm: createOrm(client),
      changedRows: () => Number(changed.get()),
      write: (work, options) => queue.write(work, options),
      describe() {},
      read: createRead(raw, turns, file),
      close() {
        queue.close();
        raw.close();
      },
    };
  } catch (error) {
    raw.close();
    throw error;
  }
}

function createRead(raw: Sqlite.Database, turns: Turns, file: string): Db['read'] {
  const [begin, end] = [raw.prepare('BEGIN DEFERRED'), raw.prepare('COMMIT')];
  return async (work) => {
    if (turns.isInside()) return work();
    return turns.body(async () => {
      guarded(file, () => begin.run());
      try {
        return await work();
      } catch (error) {
        throw asStorageFault(error, file);
      } finally {
        if (raw.inTransaction) end.run();
      }
    });
  };
}

/** Returns a function whose result changes with every commit by any connection. */
export function changeCounter({ raw, changedRows, file }: Db): () => number {
  // The first counts other connections' commits, the second this connection's changed rows; neither ever falls.
  const othersCommits = raw.prepare('PRAGMA data_version').pluck();
  return () => guarded(file, () => Number(othersCommits.get()) + changedRows());
}
