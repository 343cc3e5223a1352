/**
 * An open database of either engine, and how SQLite's is opened.
 */
import type Sqlite from 'better-sqlite3';
import { systemClock } from '../../lib/clock.ts';
import { type Client, createOrm, keepStatements, type Orm } from './client.ts';
import { asStorageFault, connect, guarded, lockWaitFault } from './connection.ts';
import { refuseOtherSchema } from './migrate.ts';
import { createTurns, createWriteQueue, type Turns, type WriteHooks, type WriteQueue } from './write-queue.ts';

export type Db = Readonly<{
  /** The file, or the database and its server, for messages. */
  name: string;
  client: Client;
  orm: Orm;
  /**
   * Runs `work` in one transaction, as if nobody else wrote, and commits or changes nothing. `work` waits for nothing
   * but its statements, and may run again. While another process writes, it waits in a queue without blocking the
   * thread.
   * @throws Fault transient `storage_unavailable`
   */
  write: WriteQueue['write'];
  /**
   * Returns a number that changes with each commit of any connection. It is cheap enough to poll ten times a second.
   */
  changeCount(): number;
  /** Returns the time by the database's clock, which processes of all machines share. Within a body only. */
  nowMs(): Promise<number>;
  /** Runs `work` on one consistent snapshot. */
  read<T>(work: () => T | Promise<T>): Promise<T>;
  /** Refuses writes that still wait, and closes the database. */
  close(): void;
}>;

/** Other processes' writes take milliseconds except on slow disks. */
const BUSY_TIMEOUT_MS = 5_000;

export type SqliteOptions = WriteHooks &
  Readonly<{
    file: string;
    /** How long a write may wait for other processes' writes. Default: `BUSY_TIMEOUT_MS`. */
    busyTimeoutMs?: number;
    /** Size at which the file is full, as on a full disk. Default: none. */
    bytesMax?: number;
    /** Overwrites deleted content with zeros. */
    overwritesDeleted?: boolean;
  }>;

/**
 * Opens a file that `migrate` has brought to the current schema.
 * @throws Fault `storage_unavailable`, `storage_damaged`, `sqlite_too_old`, `schema_not_current`
 */
export function openSqlite(options: SqliteOptions): Db {
  const { file, busyTimeoutMs = BUSY_TIMEOUT_MS, bytesMax, overwritesDeleted, ...hooks } = options;
  const raw = guarded(file, () => connect(file, busyTimeoutMs, true));
  try {
    refuseOtherSchema(raw, file);
    if (overwritesDeleted) raw.pragma('secure_delete = ON');
    const turns = createTurns();
    const queue = guarded(file, () => {
      if (bytesMax !== undefined) {
        const pageBytes = Number(raw.pragma('page_size', { simple: true }));
        raw.pragma(`max_page_count = ${Math.max(1, Math.floor(bytesMax / pageBytes))}`);
      }
      return createWriteQueue(raw, turns, { ...hooks, file, busyTimeoutMs });
    });
    const client = createSqliteClient(raw, turns);
    const changed = raw.prepare('SELECT total_changes()').pluck();
    // `data_version` counts other connections' commits. Neither it nor this connection's changed rows ever fall.
    const othersCommits = raw.prepare('PRAGMA data_version').pluck();
    return {
      name: file,
      client,
      orm: createOrm(client),
      changeCount: () => guarded(file, () => Number(othersCommits.get()) + Number(changed.get())),
      write: (work, options) => queue.write(work, options),
      // The file and all its processes are on this machine.
      nowMs: async () => systemClock.nowMs(),
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
      if (!raw.open) throw lockWaitFault(file);
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

/** Returns statements of a connection, each within the body of a transaction. SQLite answers each at once. */
function createSqliteClient(raw: Sqlite.Database, turns: Turns): Client {
  return keepStatements((text, rows) => {
    let prepared: Sqlite.Statement | undefined;
    const compile = (): Sqlite.Statement => {
      const statement = raw.prepare(text);
      if (rows === 'values') statement.pluck();
      else if (rows === 'lists' && statement.reader) statement.raw();
      return statement;
    };
    const own = (): Sqlite.Statement => {
      turns.checkInside();
      prepared ??= compile();
      return prepared;
    };
    return {
      get: async (...given) => own().get(...given),
      all: async (...given) => own().all(...given),
      run: async (...given) => own().run(...given),
      async *iterate(...given) {
        yield* own().iterate(...given);
      },
    };
  });
}
