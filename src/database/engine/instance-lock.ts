/**
 * Allows one supervisor per data directory. The lock is SQLite's lock on a file, which the system releases when the
 * process ends. It is never stale, and does not depend on process ids, which the system gives out again.
 */

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { permanent } from '../../core/fault.ts';
import { isBusy } from './connection.ts';

/**
 * Takes the lock until it is released or this process ends. Creates the directory if needed.
 * @returns a function that releases it
 * @throws Fault permanent `already_running` with the id of the process that holds it, `data_dir_unusable`
 */
export function takeInstanceLock(dataDir: string): () => void {
  const pidFile = join(dataDir, 'quayside.pid');
  let release: (() => void) | null = null;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    release = lockFile(join(dataDir, 'quayside.lock'));
    if (release) writeFileSync(pidFile, String(process.pid), { mode: 0o600 });
  } catch (error) {
    release?.();
    throw unusable(dataDir, error);
  }
  if (!release) throw alreadyRunning(dataDir, readPid(pidFile));
  const held = release;
  return () => {
    rmSync(pidFile, { force: true });
    held();
  };
}

/**
 * Locks a file until it is released or this process ends; creates it if needed.
 * @returns a function that releases it; null if another process has the lock
 * @throws SqliteError if the file cannot be used
 */
export function lockFile(file: string): (() => void) | null {
  // SQLite would make the file readable for everybody. Any user could then lock it and keep this program from starting.
  if (!existsSync(file)) writeFileSync(file, '', { mode: 0o600, flag: 'a' });
  const lock = new Sqlite(file, { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (isBusy(error)) return null;
    throw error;
  }
  return () => void lock.close();
}

const alreadyRunning = (dataDir: string, pid: string) =>
  permanent(
    'already_running',
    `Quayside is already running on ${dataDir}${pid && ` (process ${pid})`}; stop it, or set QUAYSIDE_DATA_DIR to ` +
      'another folder',
  );

const unusable = (dataDir: string, error: unknown) =>
  permanent(
    'data_dir_unusable',
    `the data folder ${dataDir} cannot be used (${error instanceof Error ? error.message : error}); ` +
      'check its path, owner and mode, or set QUAYSIDE_DATA_DIR to another folder',
    error,
  );

/** Returns whether a supervisor probably runs on the directory; only taking the lock is certain. */
export function isSupervised(dataDir: string): boolean {
  const pid = Number(readPid(join(dataDir, 'quayside.pid')));
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch {
    // The supervisor ended without removing its file.
    return false;
  }
}

function readPid(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Nothing runs, or the holder of the lock is about to write its id.
    return '';
  }
}
