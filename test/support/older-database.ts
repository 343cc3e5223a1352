/**
 * A database as an earlier version left it, brought to the current schema.
 *
 * @module
 */
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { Database } from '../../src/database/database.ts';
import { migrate } from '../../src/database/sqlite/migrate.ts';
import { createVault } from '../../src/database/sqlite/vault.ts';
import { installationFolder } from '../../src/lib/installation.ts';
import { dataKeysOf } from './secret-keys.ts';
import { connectTo, secretKey } from './temp-database.ts';

/** What versions before rows had MACs stored when they first opened a file. */
const PROBE = 'the secret key of this database';

const own = join(installationFolder, 'src/database/sqlite/migrations');

/**
 * Runs `work` on the migrated database, and removes it. `reopen` makes another connection to its file.
 * @param before the number of the first migration that the earlier version did not have, such as `0004`
 * @param rows SQL that fills the earlier version's tables
 * @param probe the text by which the earlier version noted which rows have MACs
 */
export async function withOlderDatabase(
  before: string,
  rows: string,
  work: (database: Database, reopen: () => Database, file: string) => Promise<void>,
  probe = PROBE,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-backfill-'));
  const at = (name: string) => join(folder, name);
  const [file, backupDir, directory] = [at('quayside.db'), at('backups'), at('old')];
  mkdirSync(directory);
  for (const name of readdirSync(own)) if (name < before) copyFileSync(join(own, name), join(directory, name));
  try {
    migrate({ file, backupDir, directory });
    const raw = new Sqlite(file);
    raw.exec(rows);
    raw
      .prepare(`INSERT INTO meta VALUES ('sealed_probe', ?)`)
      .run(createVault(dataKeysOf(secretKey)).seal(probe, PROBE));
    raw.close();
    migrate({ file, backupDir });
    const database = connectTo(file);
    try {
      await work(database, () => connectTo(file), file);
    } finally {
      database.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
