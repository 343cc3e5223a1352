/** The options with which each process of an installation opens its database. */
import type { Config } from '../config/config.ts';
import type { SqliteDatabaseOptions } from '../database/database.ts';
import { databaseFile, readSecretKey } from '../lib/secret-key.ts';

/** Longest time for which a session stays open after its deadline because a network could not be read. */
const OUTAGE_WAIT_S = 3600;

/** @throws Fault: see `readSecretKey` */
export const databaseOptions = (
  { dataDir, databaseUrl }: Pick<Config, 'dataDir' | 'databaseUrl'>,
  env: NodeJS.ProcessEnv,
): SqliteDatabaseOptions => ({
  file: databaseFile(dataDir),
  url: databaseUrl,
  secretKey: readSecretKey(dataDir, env),
  outageWaitS: OUTAGE_WAIT_S,
});
