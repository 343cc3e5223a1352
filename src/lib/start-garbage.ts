/**
 * Memory that only the start of a process needed. Measured in docs/internals/performance.md.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from './clock.ts';

/** Modules, settings and the database have been read by the first of these times, on a slow machine by the second. */
const STARTED_MS = [8_000, 30_000] as const;

/**
 * Collects garbage twice, some time after the start: V8 would keep it until the heap has grown, which takes an idle
 * process hours.
 */
export async function collectStartGarbage(clock: Pick<Clock, 'sleep'>, signal: AbortSignal): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  let passedMs = 0;
  for (const ms of STARTED_MS) {
    await clock.sleep(ms - passedMs, signal);
    if (signal.aborted) return;
    collect();
    passedMs = ms;
  }
}
