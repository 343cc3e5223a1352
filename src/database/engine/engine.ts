/**
 * The engine of the installation's database: SQLite on a file, or PostgreSQL where a URL names it.
 */
import { type Fault, permanent } from '../../core/fault.ts';
import { type Db, openSqlite, type SqliteOptions } from './open.ts';
import { openPostgres } from './postgres.ts';
import { checkDatabase } from './postgres-server.ts';

export type OpenOptions = SqliteOptions &
  Readonly<{
    /** The address of a PostgreSQL database, which stands for the file; null or left out: none. */
    url?: string | null;
    /** Nobody else may use the database while this one writes. The lock on its folder is enough for a file. */
    isAlone?: boolean;
  }>;

/**
 * Opens a database of the current schema.
 * @param check is run before the first body, which fails as it does
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

/** Returns the same database; its bodies wait until the check has passed once. */
function checkedFirst(db: Db, check: () => Promise<void>): Db {
  let [passed, running]: [boolean, Promise<void> | null] = [false, null];
  // The obstacle to a check that failed may pass.
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
// It says where the rows of a database went, or where those come from that it does not have yet. A database with a mark
// is not opened.

/** The mark's name in `meta`. */
export const MOVE = 'move';

/** `to`: everything is at `place` now. `from`: what comes from `place` is not all here. `isServer`: of PostgreSQL. */
export type Mark = Readonly<{ kind: 'to' | 'from'; place: string; isServer: boolean; atMs: number }>;

/**
 * Reads the mark of a database.
 * @param all returns rows as lists
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

/** Returns the refusal of a database that has a mark: where the data is, and the way back. */
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
