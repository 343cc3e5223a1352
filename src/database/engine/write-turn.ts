/**
 * Whose turn it is to write next, among the processes that share one database file.
 *
 * SQLite has no queue: a process that writes back to back can keep the write lock from all others. So whoever wants to
 * write first takes the turn, keeps it while waiting for the write lock, and gives it back on getting the lock. While
 * one process waits with the turn, no other begins a second write before it. The turn is SQLite's lock on a small file
 * of its own, which the system releases when its holder dies.
 */
import Sqlite from 'better-sqlite3';
import { isBusy } from './storage-fault.ts';

type WriteTurn = Readonly<{
  /** Takes the turn without waiting. @returns whether it is now this process's, or cannot be told */
  take(): boolean;
  /** Gives the turn back, if it was taken. */
  release(): void;
  close(): void;
}>;

/**
 * Opens the file beside the database, and creates it if missing.
 * @param busyTimeoutMs how long the creation may wait for another process's
 * @throws SqliteError
 */
export function openWriteTurn(databaseFile: string, busyTimeoutMs: number): WriteTurn {
  const client = new Sqlite(`${databaseFile}-turn`, { timeout: busyTimeoutMs });
  let isHeld = false;
  try {
    // An empty file would be initialised by each BEGIN IMMEDIATE.
    if (client.pragma('user_version', { simple: true }) === 0) client.pragma('user_version = 1');
    client.pragma('busy_timeout = 0');
  } catch (error) {
    client.close();
    throw error;
  }
  const begin = client.prepare('BEGIN IMMEDIATE');
  const end = client.prepare('ROLLBACK');
  return {
    take() {
      if (isHeld) return true;
      try {
        begin.run();
        isHeld = true;
        return true;
      } catch (error) {
        // The turn only makes waiting fair. If its file cannot be used, the write lock alone decides.
        return !isBusy(error);
      }
    },
    release() {
      if (!isHeld) return;
      isHeld = false;
      end.run();
    },
    close: () => void client.close(),
  };
}
