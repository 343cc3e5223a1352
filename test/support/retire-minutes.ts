/** Addresses that are retired because of a gap. */
import { derivedFamilies } from '../../src/chains/index.ts';
import type { Database } from '../../src/database/database.ts';
import { MINUTE_MS } from '../../src/lib/clock.ts';

/** Retires ten addresses of each derived pool, and one for each minute. */
export const retireMinutes = ({ addresses }: Database, minutes: number) =>
  addresses.retireAfterGap({ nowMs: minutes * MINUTE_MS, sinceMs: 0, derivedFamilies });
