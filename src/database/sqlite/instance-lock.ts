/**
 * One supervisor a data directory. The lock is SQLite's own lock on a file, so the system takes it away with the process that held it:
 * there is no stale lock to clear, and no other program that was given the old process id is taken for the holder.
 * @module
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { permanent } from '../../core/fault.ts';
import { isBusy } from './storage-fault.ts';

/**
 * Takes the lock for as long as this process lives, or until it is released. The directory is made when there is none.
 * @returns releases it
 * @throws Fault permanent `already_running` naming the process that holds it, `data_dir_unusable`
 */
export function takeInstanceLock(dataDir: string): () => void {
  const pidFile = join(dataDir, 'quayside.pid');
  let lock: Sqlite.Database | null = null;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    lock = new Sqlite(join(dataDir, 'quayside.lock'), { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
    writeFileSync(pidFile, String(process.pid), { mode: 0o600 });
  } catch (error) {
    lock?.close();
    throw isBusy(error) ? alreadyRunning(dataDir, readPid(pidFile)) : unusable(dataDir, error);
  }
  const held = lock;
  return () => {
    rmSync(pidFile, { force: true });
    held.close();
  };
}

const alreadyRunning = (dataDir: string, pid: string) =>
  permanent(
    'already_running',
    `Quayside already runs on ${dataDir}${pid && ` (process ${pid})`}; stop it first, or set QUAYSIDE_DATA_DIR to another folder`,
  );

const unusable = (dataDir: string, error: unknown) =>
  permanent(
    'data_dir_unusable',
    `the data folder ${dataDir} cannot be used (${error instanceof Error ? error.message : error}); check its path, its owner and its mode, or set QUAYSIDE_DATA_DIR to another folder`,
    error,
  );

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
