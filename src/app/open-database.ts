/**
 * Opens the installation's database, in the same way in each of its processes.
 * @module
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import { migrate } from '../database/sqlite/migrate.ts';
import type { BeforeTake } from '../database/sqlite/sessions.ts';
import { openSqliteDatabase } from '../database/sqlite/sqlite-database.ts';
import type { Log } from '../lib/log.ts';
import { databaseFile, readSecretKey } from '../lib/secret-key.ts';

/** How long a call waits for another process's write, which takes milliseconds except for checkpoints on slow disks. */
const BUSY_TIMEOUT_MS = 5000;

/**
 * Creates the data directory, the secret key and the database if missing, and brings the database to the current
 * schema. Only for a process that knows that no older program uses it.
 * @throws Fault permanent: see `migrate` and `readSecretKey`
 */
export function prepareDatabase(config: Config, env: NodeJS.ProcessEnv, log?: Log): void {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  // The key comes first: a database without its key is refused, and a missing database gets a new key.
  readSecretKey(config.dataDir, env);
  migrate({ file: databaseFile(config.dataDir), backupDir: join(config.dataDir, 'backups'), ...(log && { log }) });
}

/**
 * @param beforeTake called with the addresses that a new session takes, before they are offered
 * @throws Fault permanent `schema_not_current`, `secret_key_wrong` and others: see `openSqliteDatabase`
 */
export function openDatabase(config: Config, env: NodeJS.ProcessEnv, beforeTake?: BeforeTake): Database {
  return openSqliteDatabase({
    file: databaseFile(config.dataDir),
    secretKey: readSecretKey(config.dataDir, env),
    busyTimeoutMs: BUSY_TIMEOUT_MS,
    bytesMax: config.limits.storageBytesMax,
    outageWaitS: config.limits.outageWaitS,
    ...(beforeTake && { beforeTake }),
  });
}
