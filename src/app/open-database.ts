/** Opens the installation's database for a process that needs all repositories. */
import { coinText } from '../chains/coin-text.ts';
import type { Config } from '../config/config.ts';
import { type Database, openSqliteDatabase } from '../database/database.ts';
import type { WriteHooks } from '../database/engine/write-queue.ts';
import { createAddressFormat } from '../payments/destination.ts';
import { databaseOptions } from './database-options.ts';

/** @throws Fault permanent `schema_not_current`, `secret_key_wrong` and others: see `openSqliteDatabase` */
export function openDatabase(config: Config, env: NodeJS.ProcessEnv, hooks: WriteHooks = {}): Database {
  return openSqliteDatabase({
    ...databaseOptions(config, env),
    ...hooks,
    formatAddress: createAddressFormat(config),
    formatAmount: (...amount) => coinText(config.networks, ...amount),
  });
}
