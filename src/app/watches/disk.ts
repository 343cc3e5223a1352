/** Watches the free space of the disk. */
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { transient } from '../../core/fault.ts';
import type { Watch } from './watchdog.ts';

const MIB = 1 << 20;
const mib = (bytes: number): string => `${Math.max(0, Math.floor(bytes / MIB))} MiB`;

/** @param bytesMin least free space */
export function watchDisk(dataDir: string, bytesMin: number, read: typeof readRoom = readRoom): Watch {
  return {
    what: 'the disk',
    rules: ['disk_filling'],
    async look() {
      const { freeBytes } = await read(dataDir);
      if (freeBytes >= bytesMin) return [];
      const message = `the disk of ${dataDir} has ${mib(freeBytes)} free, and needs at least ${mib(bytesMin)}`;
      return [{ rule: 'disk_filling', message }];
    },
  };
}

// ── The room ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** `freeBytes`: free space of the file system for this user. `usedBytes`: size of the database and its journal. */
type Room = Readonly<{ freeBytes: number; usedBytes: number }>;

/** Reads the free and used space of a data folder. @throws Fault transient `disk_unreadable` */
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
