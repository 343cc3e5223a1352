/**
 * Opens the database for commands and queries.
 */
import type Sqlite from 'better-sqlite3';
import type { BaseSQLiteDatabase } from 'drizzle-orm/sqlite-core';
import { drizzle } from 'drizzle-orm/sqlite-proxy';
import type { AuditedChange } from '../column-values.ts';
import { connect } from './connection.ts';
import { asStorageFault, guarded } from './storage-fault.ts';
import { createTurns, type Turns } from './turns.ts';
import { createWriteQueue, type WriteMeasure, type WriteQueue } from './write-queue.ts';

/** The changes of one statement. */
export type Changes = Readonly<{ changes: number; lastInsertRowid: number | bigint }>;

/** A statement in SQL; it is compiled when it first runs. */
export type Statement = Readonly<{
  get(...values: readonly unknown[]): Promise<unknown>;
  all(...values: readonly unknown[]): Promise<unknown[]>;
  run(...values: readonly unknown[]): Promise<Changes>;
  /** Returns rows one by one; within a body only. */
  iterate(...values: readonly unknown[]): AsyncIterable<unknown>;
  /** Returns the same statement, whose rows are their first column. */
  pluck(): Statement;
}>;

/** Statements for the bodies of `read` and `write`. */
export type Client = Readonly<{ prepare(text: string): Statement }>;

export type Orm = BaseSQLiteDatabase<'async', Changes, Record<string, never>>;

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
    const changed = raw.prepare('SELECT total_changes()').pluck();
    return {
      file,
      raw,
      client: createClient(raw, turns),
      orm: createOrm(raw, turns),
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

let noted: Set<string> | null = null;

/** Remembers the text of a statement for `textsPrepared`. */
export const noteText = (textOf: () => string): void => void noted?.add(textOf());

/** Returns the texts of the statements that are prepared while `open` runs: for a look at every plan. */
export function textsPrepared(open: () => void): readonly string[] {
  const texts = new Set<string>();
  noted = texts;
  try {
    open();
  } finally {
    noted = null;
  }
  return [...texts];
}

function createClient(raw: Sqlite.Database, { statement: run }: Turns): Client {
  const statementOf = (text: string, isPlucked: boolean): Statement => {
    noteText(() => text);
    let prepared: Sqlite.Statement | undefined;
    const own = () => (prepared ??= isPlucked ? raw.prepare(text).pluck() : raw.prepare(text));
    return {
      get: (...values) => run(() => own().get(...values)),
      all: (...values) => run(() => own().all(...values)),
      run: (...values) => run(() => own().run(...values)),
      async *iterate(...values) {
        yield* await run(() => own().iterate(...values));
      },
      pluck: () => statementOf(text, true),
    };
  };
  return { prepare: (text) => statementOf(text, false) };
}

/** Statements that are kept compiled, of those that are built. */
const COMPILED_MAX = 500;

function createOrm(raw: Sqlite.Database, { statement: run }: Turns): Orm {
  const compiled = new Map<string, Sqlite.Statement>();
  const statementOf = (text: string): Sqlite.Statement => {
    const known = compiled.get(text);
    if (known) return known;
    const statement = raw.prepare(text);
    const [oldest] = compiled.keys();
    if (oldest !== undefined && compiled.size >= COMPILED_MAX) compiled.delete(oldest);
    compiled.set(text, statement);
    return statement;
  };
  const orm = drizzle(
    async (text, values, method) =>
      run(() => {
        const statement = statementOf(text);
        if (method === 'run') return statement.run(...values) as never;
        const rows = statement.reader ? statement.raw() : statement;
        return { rows: method === 'get' ? (rows.get(...values) as never) : rows.all(...values) };
      }),
    undefined,
    { casing: 'snake_case' },
  );
  return orm as unknown as Orm;
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
