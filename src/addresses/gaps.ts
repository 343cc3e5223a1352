/**
 * Retires addresses after a gap. If the database or the machine was restored, an earlier run may have given out
 * addresses in the gap that the database does not know.
 */
import { derivedFamilies } from '../chains/index.ts';
import { GAP_MS_MIN } from '../database/addresses.ts';
import type { Addresses } from '../database/database.ts';
import type { Clock } from '../lib/clock.ts';
import { every } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';

/** Interval in which the server looks for a jump of time. */
const LOOK_MS = 1_000;

type Parts = Readonly<{ addresses: Addresses; clock: Clock; log: Log }>;

/**
 * Retires addresses that may have been given out since `sinceMs`, or without it since a network was last followed.
 * @throws Fault transient `storage_unavailable`
 */
export async function retireAfterGap({ addresses, clock, log }: Parts, sinceMs: number | null = null): Promise<void> {
  const gap = { nowMs: clock.nowMs(), sinceMs, derivedFamilies };
  for (const { family, mode, retired } of await addresses.retireAfterGap(gap))
    log.info({ family, mode, retired }, 'addresses that may have been given out in a gap are retired');
}

/** Looks for gaps while the server runs, because a virtual machine may have been restored with its memory. */
export function watchForGaps(parts: Parts, signal: AbortSignal): Promise<void> {
  const { clock, log } = parts;
  let lastMs = clock.nowMs();
  const look = async (): Promise<void> => {
    if (clock.nowMs() >= lastMs + GAP_MS_MIN) await retireAfterGap(parts, lastMs);
    lastMs = clock.nowMs();
  };
  return every(LOOK_MS, look, { clock, log, signal, what: 'looking for gaps' });
}
