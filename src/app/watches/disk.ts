/**
 * Watches the room that the database has left: on the disk, and up to `limits.storage_bytes_max`.
 */
import { type Room, readRoom } from '../disk-room.ts';
import type { Watch } from './watchdog.ts';

/** The alarm ends when this much more than the bound is free. */
const ENOUGH_PERCENT = 110;
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
    async look(_nowMs, isOpen) {
      const { freeBytes, usedBytes } = await read(dataDir);
      const bound = isOpen('disk_filling', '') ? (bytesMin * ENOUGH_PERCENT) / 100 : bytesMin;
      // A small limit is no reason for an alarm while most of it is free.
      const limit = storageBytesMax === null ? null : { left: storageBytesMax - usedBytes, low: storageBytesMax / 10 };
      const mib = (bytes: number) => `${Math.max(0, Math.floor(bytes / MIB))} MiB`;
      const message =
        limit && limit.left < Math.min(bound, limit.low)
          ? `the database has ${mib(limit.left)} left up to limits.storage_bytes_max`
          : freeBytes < bound && `the disk of ${dataDir} has ${mib(freeBytes)} left, and ${mib(bytesMin)} should be`;
      return message ? [{ rule: 'disk_filling', subject: '', network: null, message }] : [];
    },
  };
}
