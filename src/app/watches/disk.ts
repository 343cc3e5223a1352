/**
 * Watches the room that the database has left: on the disk, and up to `limits.storage_bytes_max`.
 */
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { transient } from '../../core/fault.ts';
import type { Watch } from './watchdog.ts';

const MIB = 1 << 20;

/** @param bytesMin how much must be free */
export function watchDisk(
  dataDir: string,
  { bytesMin, storageBytesMax }: Readonly<{ bytesMin: number; storageBytesMax: number | null }>,
  read: (dataDir: string) => Promise<Room> = readRoom,
): Watch {
  return {
    what: 'the disk',
    scopes: ['disk'],
    async look() {
      const { freeBytes, usedBytes } = await read(dataDir);
      // A small limit is no reason for an alarm while most of it is free.
      const limit = storageBytesMax === null ? null : { left: storageBytesMax - usedBytes, low: storageBytesMax / 10 };
      const mib = (bytes: number) => `${Math.max(0, Math.floor(bytes / MIB))} MiB`;
      const message =
        limit && limit.left < Math.min(bytesMin, limit.low)
          ? `the database has ${mib(limit.left)} left up to limits.storage_bytes_max`
          : freeBytes < bytesMin && `the disk of ${dataDir} has ${mib(freeBytes)} left, and ${mib(bytesMin)} should be`;
      return message ? [{ rule: 'disk_filling', message }] : [];
    },
  };
}

// ── The room ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** `freeBytes`: for this user, of the file system; `usedBytes`: of the database and its journal. */
export type Room = Readonly<{ freeBytes: number; usedBytes: number }>;

/** Reads the room of a data folder. @throws Fault transient `disk_unreadable` */
export async function readRoom(dataDir: string): Promise<Room> {
  try {
    const { bavail, bsize } = await statfs(dataDir);
    const sizes = ['quayside.db', 'quayside.db-wal'].map((name) =>
      stat(join(dataDir, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
    const usedBytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    return { freeBytes: bavail * bsize, usedBytes };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw transient('disk_unreadable', `the free space of ${dataDir} cannot be read: ${why}`, error);
  }
}
