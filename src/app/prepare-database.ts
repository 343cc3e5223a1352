/**
 * Creates or migrates the installation's database, before anything opens it.
 */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { hasLiveData, liveFault } from '../database/engine/inspection.ts';
import { migrate } from '../database/engine/migrate.ts';
import { preparePostgres } from '../database/engine/postgres-server.ts';
import type { Log } from '../lib/log.ts';
import { databaseFile, readSecretKey } from '../lib/secret-key.ts';
import { signerFiles } from '../signer/files.ts';

/**
 * Creates the data directory, the secret key and the database if missing, and migrates the database to the current
 * schema. The database is SQLite's file, or on the PostgreSQL server of the settings. Only a process that knows that no
 * older program uses the database may call this.
 * @throws Fault permanent `live_data_folder`; see `migrate`, `preparePostgres` and `readSecretKey`
 */
export async function prepareDatabase(config: Config, env: NodeJS.ProcessEnv, log?: Log): Promise<void> {
  const { databaseUrl, dataDir } = config;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = databaseFile(dataDir);
  if (
    databaseUrl === null &&
    config.sandbox &&
    (hasLiveData(file) || (config.signer && isLiveSigner(config.signer.dir)))
  )
    throw liveFault(dataDir, 'QUAYSIDE_DATA_DIR to another folder');
  // The key comes first, because a database without its key is refused.
  readSecretKey(dataDir, env);
  if (databaseUrl === null) {
    migrate({ file, backupDir: join(dataDir, 'backups'), ...(log && { log }) });
    return;
  }
  for (const migration of await preparePostgres(databaseUrl, config.sandbox)) {
    log?.info({ migration }, 'database migrated');
  }
}

/** Returns whether a signer has signed, or may sign, for live networks. */
function isLiveSigner(dir: string): boolean {
  const { journal, policy } = signerFiles(dir);
  return hasLiveData(journal) || (existsSync(policy) && readFileSync(policy, 'utf8').includes('"live:'));
}
