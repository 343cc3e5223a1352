/**
 * The engine of the installation's database: SQLite on a file, or PostgreSQL where a URL names it.
 */
import { type Fault, permanent } from '../../core/fault.ts';
import { type Db, openSqlite, type SqliteOptions } from './open.ts';
import { openPostgres } from './postgres.ts';
import { checkDatabase } from './postgres-server.ts';

export type OpenOptions = SqliteOptions &
  Readonly<{
    /** The address of a PostgreSQL database, used in place of the file; null or absent for SQLite. */
    url?: string | null;
    /** Whether other processes are kept out while this one writes. For a file, the lock on its folder does that. */
    isAlone?: boolean;
  }>;

/**
 * Opens a database of the current schema.
 * @param check runs before the first body; if it fails, the body fails with the same error
 * @throws Fault `storage_unavailable`, `storage_damaged`, `sqlite_too_old`, `schema_not_current`, `database_url_wrong`,
 * `database_moved`, `move_unfinished`
 */
export function openEngine({ url, isAlone, ...options }: OpenOptions, check: (db: Db) => Promise<void>): Db {
  const db = url ? openPostgres(url, options, isAlone) : openSqlite(options);
  return checkedFirst(db, async () => {
    if (url) await db.read(() => checkDatabase((text) => db.client.prepare(text).all(), db.name));
    await refuseMoved(db);
    await check(db);
  });
}

/** Returns the same database. Its bodies wait until the check has passed once. */
function checkedFirst(db: Db, check: () => Promise<void>): Db {
  let [passed, running]: [boolean, Promise<void> | null] = [false, null];
  // A failed check is repeated, because its cause may pass.
  function pass(): Promise<void> {
    running ??= check()
      .then(() => {
        passed = true;
      })
      .finally(() => {
        running = null;
      });
    return running;
  }
  return {
    ...db,
    async read(work) {
      if (!passed) await pass();
      return db.read(work);
    },
    async write(work, options) {
      if (!passed) await pass();
      return db.write(work, options);
    },
  };
}

// ── The mark of a move ───────────────────────────────────────────────────────────────────────────────────────────────
// A database whose rows were moved away, or have not all arrived, has a mark in `meta` and is not opened.

/** The mark's name in `meta`. */
export const MOVE = 'move';

/**
 * `to`: all rows are at `place` now. `from`: not all rows of `place` are here yet. `isServer`: `place` is PostgreSQL.
 */
export type Mark = Readonly<{ kind: 'to' | 'from'; place: string; isServer: boolean; atMs: number }>;

/**
 * Reads the mark of a database.
 * @param all runs a query, and returns rows as lists
 */
export async function readMark(all: (text: string) => Promise<readonly (readonly unknown[])[]>): Promise<Mark | null> {
  const [row] = await all(`SELECT value FROM meta WHERE name = '${MOVE}'`);
  return row ? (JSON.parse(String(row[0])) as Mark) : null;
}

/** @throws Fault permanent `database_moved`, `move_unfinished` */
async function refuseMoved(db: Db): Promise<void> {
  const mark = await db.read(() => readMark((text) => db.client.lists(text).all()));
  if (mark) throw movedFault(db.name, mark);
}

/** Returns the refusal of a database that has a mark. It names the place of the data, and the way back. */
export function movedFault(name: string, { kind, place, isServer, atMs }: Mark): Fault {
  if (kind === 'from') {
    return permanent(
      'move_unfinished',
      `The move from ${place} to ${name} has not ended: run the same \`quayside database move\` again, or go on with ` +
        `${place}, which has everything.`,
    );
  }
  const [where, back] = isServer
    ? ['set QUAYSIDE_DATABASE_URL to it', 'sqlite` brings everything back']
    : ['unset QUAYSIDE_DATABASE_URL', 'URL` moves it to an empty database again'];
  return permanent(
    'database_moved',
    `${name} was moved to ${place} on ${new Date(atMs).toISOString().slice(0, 10)}: ${where}, or change your mind: ` +
      `\`quayside database move --to ${back}.`,
  );
}
