/**
 * When a disk will be full, by how its free space fell while it was watched.
 */
import { statfs } from 'node:fs/promises';
import { transient } from '../../src/core/fault.ts';
import { DAY_MS } from '../../src/lib/clock.ts';

export type Room = Readonly<{ atMs: number; freeBytes: number; totalBytes: number }>;

/** Before this, a write more or less decides. */
const SPAN_MS_MIN = 60_000;
/** Nothing is said about times that are further away. */
const DAYS_MAX = 3_650;

/** Reads the room of a folder's file system, as this user has it. @throws Fault transient `disk_unreadable` */
export async function readRoom(folder: string, nowMs: number): Promise<Room> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return { atMs: nowMs, freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw transient('disk_unreadable', `the free space of ${folder} cannot be read: ${why}`, error);
  }
}

/** `fullAtMs`: null if the disk does not fill up within ten years; `bytesPerDay`: null until it is known. */
export type Forecast = Readonly<{ bytesPerDay: number | null; fullAtMs: number | null }>;

export function forecast(first: Room, last: Room): Forecast {
  const spanMs = last.atMs - first.atMs;
  if (spanMs < SPAN_MS_MIN) return { bytesPerDay: null, fullAtMs: null };
  const bytesPerDay = ((first.freeBytes - last.freeBytes) * DAY_MS) / spanMs;
  const days = last.freeBytes / bytesPerDay;
  const isFilling = bytesPerDay > 0 && days <= DAYS_MAX;
  return { bytesPerDay, fullAtMs: isFilling ? last.atMs + days * DAY_MS : null };
}
