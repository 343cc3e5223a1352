/**
 * One signer a folder: two would each see half of what the other signs. The lock is SQLite's own on a file of its own, so the system takes it
 * away with the process that held it, and the journal itself stays free for backups.
 * @module
 */
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { permanent } from '../core/fault.ts';

/** @returns releases it @throws Fault permanent `signer_running`, `signer_dir_unusable` */
export function takeSignerLock(dir: string): () => void {
  let lock: Sqlite.Database | null = null;
  try {
    lock = new Sqlite(join(dir, 'signer.lock'), { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    const isHeld = error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY');
    if (isHeld) throw permanent('signer_running', `a signer runs on ${dir} already; stop it first`);
    throw permanent(
      'signer_dir_unusable',
      `the signer's folder ${dir} cannot be written (${error instanceof Error ? error.message : error})`,
      error,
    );
  }
  const held = lock;
  return () => void held.close();
}
