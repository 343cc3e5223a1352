/**
 * Files with the current schema and no rows. Only the first one of a process is made of the schema: that takes longer
 * than a copy, and a test file opens up to 200 databases.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../src/database/engine/migrate.ts';

let made: Buffer | null = null;

function makeOne(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-made-'));
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
  made ??= makeOne();
  writeFileSync(file, made, { mode: 0o600, flag: 'wx' });
}
