/**
 * A real database with the tables and no rows, removed at the end: SQLite's, in a folder of its own; or PostgreSQL's,
 * where `TEST_POSTGRES` names the folder of a server's socket (`npm test -- --postgres`).
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openSqliteDatabase } from '../../src/database/database.ts';
import type { WriteHooks } from '../../src/database/engine/write-queue.ts';
import { databaseFile, readSecretKey } from '../../src/lib/secret-key.ts';
import { createDatabaseFile } from './database-file.ts';
import { copyRows, lendDatabase } from './postgres.ts';

export type TempDatabase = ReturnType<typeof openTempDatabase>;

/** The key that encrypts the secrets in such a database. */
export const secretKey = new Uint8Array(32).fill(7);

/** Connects to such a database's file, for a separate program. */
export const connectTo = (
  file: string,
  busyTimeoutMs = 5000,
  outageWaitS = 600,
  key: Uint8Array = secretKey,
): Database => openSqliteDatabase({ file, secretKey: key, busyTimeoutMs, outageWaitS });

/** Connects to the database of an installation, which another process may have made. */
export const connectIn = (dataDir: string): Database =>
  connectTo(databaseFile(dataDir), 10_000, 600, readSecretKey(dataDir, {}));

/** @param server the folder of a server's socket; null for SQLite */
export function openTempDatabase(outageWaitS = 600, server = process.env.TEST_POSTGRES ?? null) {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-store-'));
  const file = join(folder, 'quayside.db');
  const lent = server === null ? null : lendDatabase(server);
  createDatabaseFile(file);
  const common = { file, url: lent?.url ?? null, secretKey, outageWaitS };
  /** Opens another connection to the same database, like another process's. The caller closes it. */
  const connect = (busyTimeoutMs = 5000, more: WriteHooks & Readonly<{ bytesMax?: number }> = {}) =>
    openSqliteDatabase({ ...common, busyTimeoutMs, ...more });
  const database = connect();
  return {
    database,
    isServer: lent !== null,
    /** The address of PostgreSQL's; null for SQLite. */
    url: common.url,
    /** The file of SQLite. */
    file,
    connect,
    /** Returns a file of SQLite with all rows as they are now: the file itself, or a copy. */
    async rows() {
      if (lent) await copyRows(lent.pool, file);
      return file;
    },
    close() {
      database.close();
      lent?.giveBack();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
