/**
 * Addresses after a gap, in which another run of this installation may have given some out that its database does not
 * know: it was restored, or the whole machine was.
 */
import { derivedFamilies } from '../chains/index.ts';
import { GAP_MS_MIN } from '../database/addresses.ts';
import type { Addresses } from '../database/database.ts';
import type { Clock } from '../lib/clock.ts';
import { every } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';

/** How often the server looks whether time has jumped. */
const LOOK_MS = 1_000;

type Parts = Readonly<{ addresses: Addresses; clock: Clock; log: Log }>;

/**
 * Retires what may have been given out since a network was last followed, or since `sinceMs`.
 * @throws Fault transient `storage_unavailable`
 */
export async function retireAfterGap({ addresses, clock, log }: Parts, sinceMs: number | null = null): Promise<void> {
  const gap = { nowMs: clock.nowMs(), sinceMs, derivedFamilies };
  for (const { family, mode, retired } of await addresses.retireAfterGap(gap))
    log.info({ family, mode, retired }, 'addresses that may have been given out in a gap are retired');
}

/** Looks for gaps while the server runs: a virtual machine may have been restored with its memory. */
export function watchForGaps(parts: Parts, signal: AbortSignal): Promise<void> {
  const { clock, log } = parts;
  let lastMs = clock.nowMs();
  const look = async (): Promise<void> => {
    if (clock.nowMs() >= lastMs + GAP_MS_MIN) await retireAfterGap(parts, lastMs);
    lastMs = clock.nowMs();
  };
  return every(LOOK_MS, look, { clock, log, signal, what: 'looking for gaps' });
}
