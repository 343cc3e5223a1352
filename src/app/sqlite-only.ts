/**
 * Refuses work that only SQLite's file allows. A server has its own means for it.
 */
import type { Config } from '../config/config.ts';
import { permanent } from '../core/fault.ts';

/** @throws Fault permanent `sqlite_only` where the settings name a PostgreSQL database */
export function refuseOnServer({ databaseUrl }: Pick<Config, 'databaseUrl'>, what: string, instead: string): void {
  if (databaseUrl === null) return;
  throw permanent(
    'sqlite_only',
    `${what} only works with SQLite, but database_url names a PostgreSQL database. ${instead}`,
  );
}
