/** Removes old data, as the settings say. */
import type { Config } from '../config/config.ts';
import { type RetentionDatabase, type RetentionKind, retentionKinds } from '../database/retention.ts';
import { type Clock, DAY_MS } from '../lib/clock.ts';

/** When the supervisor starts it, in UTC: no shop is at its busiest, and the nightly backup is made. */
export const RETENTION_TIME = '03:40';

/** Days for which answers of merchants' servers to webhooks are kept: a fault is looked at within weeks. */
const ATTEMPTS_DAYS = 30;

/** After each slice, others have the lock for at least as long as the slice had it. */
const PAUSE_MS_MIN = 2;

type RetentionParts = Readonly<{
  config: Pick<Config, 'retention'>;
  database: RetentionDatabase;
  clock: Clock;
  /** Ends it after the slice that is under way. */
  signal?: AbortSignal;
}>;

/**
 * Does what is due, slice by slice with pauses, and remembers that it did. Work that an interruption leaves is done the
 * next night. @returns how many rows of each kind were changed
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
