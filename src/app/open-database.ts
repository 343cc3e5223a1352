/**
 * Opens the installation's database, in the same way in each of its processes.
 * @module
 */
import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import type { BeforeTake } from '../database/sqlite/sessions.ts';
import { openSqliteDatabase } from '../database/sqlite/sqlite-database.ts';
import { databaseFile, readSecretKey } from '../lib/secret-key.ts';

/** How long a write waits for other processes' writes, which take milliseconds except on slow disks. */
const BUSY_TIMEOUT_MS = 5000;

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
