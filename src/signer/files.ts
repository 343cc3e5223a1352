/**
 * The folder of a signer: its files, the check of its access rights, and the lock that allows one signer per folder.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { permanent } from '../core/fault.ts';

export type SignerFiles = Readonly<ReturnType<typeof signerFiles>>;

/** Returns the paths of a signer's files. */
export const signerFiles = (dir: string) => ({
  dir,
  keystore: join(dir, 'keystore.json'),
  policy: join(dir, 'policy.json'),
  journal: join(dir, 'signer.db'),
  socket: join(dir, 'signer.sock'),
  lock: join(dir, 'signer.lock'),
});

/**
 * Checks the access rights of the folder. A group may open it, so that a payout engine of another user reaches the
 * socket. Only the owner may access the files in it.
 * @throws Fault permanent `signer_dir_missing`, `signer_dir_open`
 */
export function checkSignerDir(dir: string): void {
  const found = statSync(dir, { throwIfNoEntry: false });
  if (!found?.isDirectory())
    throw permanent('signer_dir_missing', `there is no signer in ${dir}; create one with \`quayside-signer init\``);
  if ((found.mode & 0o027) === 0) return;
  throw permanent('signer_dir_open', `other users of this machine can access ${dir}; run: chmod 700 ${dir}`);
}

/**
 * Locks the folder, because two signers would not see each other's signatures. It is a lock of SQLite, so that the
 * system releases it with the process. It is on a file of its own, so that the journal can still be backed up.
 * @returns a function that unlocks it
 * @throws Fault permanent `signer_running`, `signer_dir_unusable`
 */
export function takeSignerLock(dir: string): () => void {
  let lock: Sqlite.Database | null = null;
  try {
    lock = new Sqlite(signerFiles(dir).lock, { timeout: 0 });
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
