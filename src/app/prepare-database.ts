/**
 * Creates or migrates the installation's database, before anything opens it.
 * @module
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { migrate } from '../database/sqlite/migrate.ts';
import type { Log } from '../lib/log.ts';
import { databaseFile, readSecretKey } from '../lib/secret-key.ts';

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
