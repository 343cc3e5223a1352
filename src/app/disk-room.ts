/**
 * The room that the database has on its disk.
 */
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { transient } from '../core/fault.ts';

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
