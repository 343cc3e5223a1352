/**
 * Removes and archives old data, as the settings say: every night, or when an operator asks.
 * @module
 */
import type { Config } from '../config/config.ts';
import {
  type RetentionDatabase,
  type RetentionDone,
  type RetentionKind,
  type RetentionPlace,
  retentionKinds,
} from '../database/retention.ts';
import { openRetentionDatabase } from '../database/sqlite/retention/retention-database.ts';
import { type Clock, DAY_MS } from '../lib/clock.ts';
import { databaseOptions } from './database-options.ts';

/** After each slice; whoever else writes has the lock for at least as long as a slice had it. */
const PAUSE_MS_MIN = 2;

export type RetentionParts = Readonly<{
  config: Pick<Config, 'retention'>;
  database: RetentionDatabase;
  clock: Clock;
  isDryRun?: boolean;
  /** Ends it after the slice that is under way. */
  signal?: AbortSignal;
  /** Called after each slice, with how many of a kind are done. */
  onProgress?: (kind: RetentionKind, done: number) => void;
}>;

/** @throws Fault: see `openRetentionDatabase` */
export const openRetention = (config: Config, env: NodeJS.ProcessEnv): RetentionDatabase =>
  openRetentionDatabase(databaseOptions(config, env, {}));

/** Returns how many days each kind is kept; null: for ever. */
export const daysOf = ({ retention }: Pick<Config, 'retention'>): Readonly<Record<RetentionKind, number | null>> => ({
  anonymised: retention.anonymiseDays,
  anonymised_archived: retention.anonymiseDays,
  archived: retention.archiveDays,
  attempts: retention.attemptsDays,
  endpoints: retention.endpointsDays,
});

/**
 * Does what is due, slice by slice with pauses, and remembers that it did. What an interruption leaves is done the next
 * time. @returns how many rows of each kind were changed, or would be
 */
export async function runRetention(parts: RetentionParts): Promise<RetentionDone> {
  const { config, database, clock, isDryRun = false, signal, onProgress } = parts;
  const nowMs = clock.nowMs();
  const days = daysOf(config);
  const done: Record<RetentionKind, number> = {
    anonymised: 0,
    anonymised_archived: 0,
    archived: 0,
    attempts: 0,
    endpoints: 0,
  };
  for (const kind of retentionKinds) {
    const kept = days[kind];
    if (kept === null) continue;
    const walk = { kind, beforeMs: nowMs - kept * DAY_MS, nowMs, isDryRun };
    for (let place: RetentionPlace | null = null; signal?.aborted !== true; ) {
      const sinceMs = performance.now();
      const slice: Awaited<ReturnType<RetentionDatabase['retainSlice']>> = await database.retainSlice({
        ...walk,
        place,
      });
      done[kind] += slice.done;
      onProgress?.(kind, done[kind]);
      if (slice.next === null) break;
      place = slice.next;
      await clock.sleep(Math.max(PAUSE_MS_MIN, performance.now() - sinceMs), signal);
    }
  }
  if (!isDryRun) await database.rememberRun({ atMs: nowMs, done });
  return done;
}
