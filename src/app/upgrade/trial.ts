/**
 * Tries the migrations of this program on a copy of the database, while the earlier one goes on.
 * @module
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { Database } from '../../database/database.ts';
import { ledgerProblems } from '../../database/money-out.ts';
import { checkIntegrity } from '../../database/sqlite/integrity.ts';
import { currentVersion, migrate } from '../../database/sqlite/migrate.ts';
import { copyDatabase, describeSnapshot } from '../../database/sqlite/snapshot.ts';
import { openSqliteDatabase } from '../../database/sqlite/sqlite-database.ts';
import { databaseFile } from '../../lib/secret-key.ts';
import { openScratch } from '../backup/scratch.ts';
import { databaseOptions } from '../database-options.ts';

export type Trial = Readonly<{
  /** The schema of the database, and of this program. */
  from: number;
  to: number;
  applied: readonly string[];
  /** What is wrong with the migrated copy; empty when it is sound and has all rows. */
  problems: readonly string[];
  /** How long the migrations took, and the size of the copy before and after. */
  ms: number;
  bytes: number;
  bytesAfter: number;
}>;

/** Tables that a migration has replaced by another one, which has their rows. */
const replaced: Readonly<Record<string, string>> = { day_totals: 'quarter_totals' };

/**
 * Migrates a copy in a scratch folder, checks it, gives it to `work`, and removes it.
 * @throws Fault permanent `database_newer`, `migration_failed`, `secret_key_wrong` and others: what would prevent a
 * start; transient `storage_unavailable`
 */
export async function tryMigrations(
  config: Config,
  env: NodeJS.ProcessEnv,
  nowMs: number,
  work: (database: Database) => Promise<void>,
): Promise<Trial> {
  const scratch = openScratch(config.dataDir, 'testing-upgrade');
  try {
    const file = join(scratch.folder, 'quayside.db');
    copyDatabase(databaseFile(config.dataDir), file);
    const before = describeSnapshot(file, nowMs);
    const bytes = statSync(file).size;
    const sinceMs = performance.now();
    const applied = migrate({ file, backupDir: null });
    const ms = performance.now() - sinceMs;
    const after = describeSnapshot(file, nowMs);
    const lost = Object.entries(before.counts).flatMap(([table, rows]) => {
      const now = after.counts[table] ?? after.counts[replaced[table] ?? ''] ?? 0;
      return now < rows ? [`${table} has ${now} rows, and had ${rows}`] : [];
    });
    const { pages, foreignKeys } = checkIntegrity(file, 0);
    const database = openSqliteDatabase({ ...databaseOptions(config, env, {}), file, outageWaitS: 0 });
    try {
      const ledger = ledgerProblems(await database.verifyLedger());
      await work(database);
      return {
        ...{ from: before.schemaVersion, to: currentVersion(), applied, ms, bytes, bytesAfter: statSync(file).size },
        problems: [...lost, ...pages, ...foreignKeys, ...ledger],
      };
    } finally {
      database.close();
    }
  } finally {
    scratch.remove();
  }
}
