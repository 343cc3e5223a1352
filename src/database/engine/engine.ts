/**
 * The engine of the installation's database: SQLite on a file, or PostgreSQL where a URL names it.
 */
import { refuseMoved } from './moved.ts';
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
