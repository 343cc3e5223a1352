/**
 * Files with the current schema and no rows. Only the first one of a process is migrated: 30 migrations take a tenth of
 * a second, and a test file opens up to 200 databases.
 * @module
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../src/database/sqlite/migrate.ts';

let migrated: Buffer | null = null;

function migrateOne(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-migrated-'));
  const file = join(folder, 'quayside.db');
  try {
    migrate({ file, backupDir: folder });
    return readFileSync(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Creates the file as `migrate` does. */
export function createDatabaseFile(file: string): void {
  migrated ??= migrateOne();
  writeFileSync(file, migrated, { mode: 0o600, flag: 'wx' });
}
