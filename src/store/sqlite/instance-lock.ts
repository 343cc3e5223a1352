/**
 * One supervisor a data directory. The lock is SQLite's own lock on a file, so the system takes it away with the process that held it:
 * there is no stale lock to clear, and no other program that was given the old process id is taken for the holder.
 * @module
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { permanent } from '../../core/fault.ts';
import { isBusy } from './storage-fault.ts';

/**
 * Takes the lock for as long as this process lives, or until it is released.
 * @returns releases it
 * @throws Fault permanent `already_running` naming the process that holds it
 */
export function takeInstanceLock(dataDir: string): () => void {
  const lockFile = join(dataDir, 'quayside.lock');
  const pidFile = join(dataDir, 'quayside.pid');
  const lock = new Database(lockFile, { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw error;
    const pid = readPid(pidFile);
    throw permanent(
      'already_running',
      `Quayside already runs on ${dataDir}${pid && ` (process ${pid})`}; stop it first, or set QUAYSIDE_DATA_DIR to another folder`,
    );
  }
  writeFileSync(pidFile, String(process.pid), { mode: 0o600 });
  return () => {
    rmSync(pidFile, { force: true });
    lock.close();
  };
}

/** Whether a supervisor most likely runs on the directory; only taking the lock tells for certain. */
export function isSupervised(dataDir: string): boolean {
  const pid = Number(readPid(join(dataDir, 'quayside.pid')));
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch {
    // It ended without taking its file away.
    return false;
  }
}

function readPid(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Nobody runs, or the holder of the lock is just about to write its id.
    return '';
  }
}
