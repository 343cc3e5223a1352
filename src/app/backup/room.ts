/**
 * Whether the disks have room for the next scheduled backup.
 */
import { statSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Config, ScheduledBackup } from '../../config/config.ts';
import { readRoom } from '../disk-room.ts';
import { readBackupReport } from './report.ts';

/** The next backup may be so many times the newest one. */
const GROWTH_MAX = 2;
const MIB = 2 ** 20;

/**
 * Returns what lacks room for the next backup, in words; null if nothing does. The plain copy of the database, and then
 * what it is restored to, are in the data folder; the backup itself is in its own.
 * @throws Fault transient `disk_unreadable`
 */
export async function lackOfRoom(
  { dataDir, alarms }: Pick<Config, 'dataDir' | 'alarms'>,
  { folder }: Pick<ScheduledBackup, 'folder'>,
): Promise<string | null> {
  const { freeBytes, usedBytes } = await readRoom(dataDir);
  const target = await nearestFolder(folder);
  const { bavail, bsize } = await statfs(target);
  const isShared = (await stat(target)).dev === (await stat(dataDir)).dev;
  const backupBytes = expectedBytes(dataDir, usedBytes);
  const places = [
    { at: dataDir, free: freeBytes, needed: usedBytes + (isShared ? backupBytes : 0) + alarms.diskFreeBytesMin },
    { at: folder, free: bavail * bsize, needed: backupBytes },
  ];
  const short = places.find(({ free, needed }) => free < needed);
  return short
    ? `${short.at} has ${mebibytes(short.free)} free, and a backup needs ${mebibytes(short.needed)} there`
    : null;
}

/** Twice the newest backup, or as much as the database where none is known. */
function expectedBytes(dataDir: string, databaseBytes: number): number {
  const { newest } = readBackupReport(dataDir);
  const made = newest && statSync(newest.file, { throwIfNoEntry: false });
  return made ? GROWTH_MAX * made.size : databaseBytes;
}

/** The folder is made with the first backup. */
const nearestFolder = (folder: string): Promise<string> =>
  stat(folder).then(
    () => folder,
    (error: unknown) => {
      if (dirname(folder) === folder) throw error;
      return nearestFolder(dirname(folder));
    },
  );

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / MIB)} MiB`;
