/**
 * Which scheduled backups are kept: the newest of each of the last days, weeks and months that have one.
 */
import { DAY_MS } from '../../lib/clock.ts';

export type Keep = Readonly<{ daily: number; weekly: number; monthly: number }>;

/** Returns when the backup of this name was made, or null for another file. */
export function madeAtMs(name: string): number | null {
  const found = /^quayside-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z\.tar\.gz\.age$/.exec(name);
  if (!found) return null;
  const [year = 0, month = 0, ...rest] = found.slice(1).map(Number);
  return Date.UTC(year, month - 1, ...rest);
}

/**
 * Returns the names that are kept, newest first; the newest is always one. Days and months are those of UTC, weeks
 * begin on Monday.
 */
export function keptNames(names: readonly string[], { daily, weekly, monthly }: Keep): string[] {
  const dated = names
    .flatMap((name) => {
      const atMs = madeAtMs(name);
      return atMs === null ? [] : [{ name, atMs }];
    })
    .sort((a, b) => b.atMs - a.atMs);
  const periods: readonly (readonly [number, (atMs: number) => string | number])[] = [
    [Math.max(1, daily), (atMs) => Math.floor(atMs / DAY_MS)],
    // 1970-01-01 was a Thursday.
    [weekly, (atMs) => Math.floor((atMs / DAY_MS + 3) / 7)],
    [monthly, (atMs) => new Date(atMs).toISOString().slice(0, 7)],
  ];
  const kept = new Set<string>();
  for (const [count, periodOf] of periods) {
    const newest = new Map<string | number, string>();
    for (const { name, atMs } of dated) if (!newest.has(periodOf(atMs))) newest.set(periodOf(atMs), name);
    for (const name of [...newest.values()].slice(0, count)) kept.add(name);
  }
  return dated.map(({ name }) => name).filter((name) => kept.has(name));
}
