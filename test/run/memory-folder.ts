/**
 * A folder for the temporary files of tests. Where the machine has room for it, it is in memory: every commit of a
 * test's database waits for the disk, which is a good part of the time that tests take. To SQLite they are files.
 */
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';

/** A file system in memory, on Linux. */
const MEMORY = '/dev/shm';
/** Far above what all tests that run at a time keep there. */
const FREE_BYTES_MIN = 4 * 1024 ** 3;

type MemoryFolder = Readonly<{ path: string; remove(): void }>;

/** Makes the folder; null where there is no such file system, too little room, or programs may not run from it. */
export function makeMemoryFolder(): MemoryFolder | null {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    const [, options = 'noexec'] =
      new RegExp(`^\\S+ ${MEMORY} \\S+ (\\S+)`, 'm').exec(readFileSync('/proc/mounts', 'utf8')) ?? [];
    if (bavail * bsize < FREE_BYTES_MIN || options.split(',').includes('noexec')) return null;
    // Paths of sockets are limited to 108 characters.
    const path = mkdtempSync(`${MEMORY}/q-`);
    return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
  } catch {
    return null;
  }
}
