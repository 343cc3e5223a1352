/**
 * A real SQLite database in a folder of its own, removed at the end.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openSqliteDatabase } from '../../src/database/database.ts';
import { createDatabaseFile } from './database-file.ts';

export type TempDatabase = Readonly<{
  database: Database;
  file: string;
  /** Another connection to the same file, like another process's. The caller closes it. */
  connect(busyTimeoutMs?: number): Database;
  close(): void;
}>;

/** The key that encrypts the secrets in such a database. */
export const secretKey = new Uint8Array(32).fill(7);

/** Connects to such a database's file, for a separate program. */
export const connectTo = (file: string, busyTimeoutMs = 5000, outageWaitS = 600): Database =>
  openSqliteDatabase({ file, secretKey, busyTimeoutMs, bytesMax: null, outageWaitS });

export function openTempDatabase(outageWaitS = 600): TempDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-store-'));
  const file = join(folder, 'quayside.db');
  createDatabaseFile(file);
  const connect = (busyTimeoutMs?: number) => connectTo(file, busyTimeoutMs, outageWaitS);
  const database = connect();
  return {
    database,
    file,
    connect,
    close() {
      database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
