/** Removes old data by the settings. */
import type { Config } from '../config/config.ts';
import { type RetentionDatabase, type RetentionKind, retentionKinds } from '../database/retention.ts';
import { type Clock, DAY_MS } from '../lib/clock.ts';

/** The time of the run, in UTC. It comes after the nightly backup, and at a quiet hour. */
export const RETENTION_TIME = '03:40';

/** Days for which answers of merchants' servers to webhooks are kept. Faults are investigated within weeks. */
const ATTEMPTS_DAYS = 30;

/** Shortest pause after a slice. A pause is at least as long as its slice, so that other writers get the lock. */
const PAUSE_MS_MIN = 2;

type RetentionParts = Readonly<{
  config: Pick<Config, 'retention'>;
  database: RetentionDatabase;
  clock: Clock;
  /** Ends the run after the current slice. */
  signal?: AbortSignal;
}>;

/**
 * Removes the data that is due, slice by slice with pauses, and saves the time of the run. After an interruption the
 * next night does the rest. @returns the number of changed rows of each kind
 */
export async function runRetention({
  config,
  database,
  clock,
  signal,
}: RetentionParts): Promise<Readonly<Record<RetentionKind, number>>> {
  const nowMs = clock.nowMs();
  const days = { anonymised: config.retention.anonymiseDays, attempts: ATTEMPTS_DAYS };
  const done: Record<RetentionKind, number> = { anonymised: 0, attempts: 0 };
  for (const kind of retentionKinds) {
    const kept = days[kind];
    if (kept === null || signal?.aborted) continue;
    let sinceMs = performance.now();
    for await (const changed of database.retain(kind, { beforeMs: nowMs - kept * DAY_MS, nowMs })) {
      done[kind] += changed;
      if (signal?.aborted) break;
      await clock.sleep(Math.max(PAUSE_MS_MIN, performance.now() - sinceMs), signal);
      sinceMs = performance.now();
    }
  }
  await database.rememberRun(nowMs);
  return done;
}
