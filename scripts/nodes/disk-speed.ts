/**
 * How fast a disk answers random reads, past every cache of the operating system.
 * @module
 */
import { randomBytes, randomInt } from 'node:crypto';
import { closeSync, constants, fsyncSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const CHUNK_BYTES = 1 << 20;
const FILE_BYTES = 256 * CHUNK_BYTES;
const READ_BYTES = 4_096;
const READS = 2_000;
const MS_MAX = 10_000;
/** Memory that is handed out begins at a multiple of this. */
const STEP_BYTES = 16;

/** `p99Us`: 99 of 100 reads of 4 KiB take at most so many microseconds. */
export type DiskSpeed = Readonly<{ writeMibPerS: number; medianUs: number; p99Us: number }>;

/**
 * Writes a file of 256 MiB into the folder, reads it at random for 10 s at most, and removes it.
 * @param fileBytes smaller in tests
 * @returns null where reads past the cache are not possible, as in memory
 * @throws Error of the file system, such as ENOSPC
 */
export function measureDisk(folder: string, fileBytes = FILE_BYTES): DiskSpeed | null {
  const file = join(folder, `quayside-disk-test-${process.pid}`);
  try {
    const writeMibPerS = writeFile(file, fileBytes);
    const times = readAtRandom(file, fileBytes);
    if (times === null) return null;
    const at = (share: number): number => times[Math.floor((times.length - 1) * share)] ?? 0;
    return { writeMibPerS, medianUs: at(0.5), p99Us: at(0.99) };
  } finally {
    rmSync(file, { force: true });
  }
}

/** Random bytes, which no disk compresses. @returns MiB a second, until all is on the disk */
function writeFile(file: string, fileBytes: number): number {
  const chunk = randomBytes(CHUNK_BYTES);
  const handle = openSync(file, 'wx', 0o600);
  try {
    const fromMs = performance.now();
    for (let at = 0; at < fileBytes; at += CHUNK_BYTES) writeSync(handle, chunk);
    fsyncSync(handle);
    return fileBytes / CHUNK_BYTES / ((performance.now() - fromMs) / 1000);
  } finally {
    closeSync(handle);
  }
}

/** @returns microseconds, in ascending order; null if the file system reads through its cache only */
function readAtRandom(file: string, fileBytes: number): number[] | null {
  const handle = openDirect(file);
  if (handle === null) return null;
  try {
    const memory = alignedMemory(handle);
    if (memory === null) return null;
    const times: number[] = [];
    const endMs = performance.now() + MS_MAX;
    while (times.length < READS && performance.now() < endMs) {
      const position = randomInt(fileBytes / READ_BYTES) * READ_BYTES;
      const fromMs = performance.now();
      readSync(handle, memory, 0, READ_BYTES, position);
      times.push((performance.now() - fromMs) * 1000);
    }
    return times.sort((one, other) => one - other);
  } finally {
    closeSync(handle);
  }
}

const isUnsupported = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EINVAL';

function openDirect(file: string): number | null {
  try {
    return openSync(file, constants.O_RDONLY | constants.O_DIRECT);
  } catch (error) {
    if (isUnsupported(error)) return null;
    throw error;
  }
}

/** Such reads need memory that begins at a disk block's multiple: the first place that the kernel takes is one. */
function alignedMemory(handle: number): Buffer | null {
  const memory = Buffer.alloc(2 * READ_BYTES);
  for (let from = 0; from < READ_BYTES; from += STEP_BYTES) {
    const part = memory.subarray(from, from + READ_BYTES);
    try {
      readSync(handle, part, 0, READ_BYTES, 0);
      return part;
    } catch (error) {
      if (!isUnsupported(error)) throw error;
    }
  }
  return null;
}
