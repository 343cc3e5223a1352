/**
 * Allows one signer per folder: of two, neither would see all that is signed. The lock is SQLite's lock on a separate
 * file, so the system releases it with the process that held it, and the journal can still be backed up.
 * @module
 */
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { permanent } from '../core/fault.ts';

/**
 * Locks the folder.
 * @returns a function that unlocks it
 * @throws Fault permanent `signer_running`, `signer_dir_unusable`
 */
export function takeSignerLock(dir: string): () => void {
  let lock: Sqlite.Database | null = null;
  try {
    lock = new Sqlite(join(dir, 'signer.lock'), { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    const isHeld = error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY');
    if (isHeld) throw permanent('signer_running', `another signer is running in ${dir}; stop it first`);
    throw permanent(
      'signer_dir_unusable',
      `the signer's folder ${dir} is not writable (${error instanceof Error ? error.message : error}); check its owner`,
      error,
    );
  }
  const held = lock;
  return () => void held.close();
}
