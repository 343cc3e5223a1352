/**
 * Memory that only the start of a process needed. Measured in docs/internals/performance.md.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from './clock.ts';

/** Long enough for modules, settings and the database to have been read, also on a slow machine. */
const STARTED_MS = 30_000;

/**
 * Collects garbage once, some time after the start: V8 would keep it until the heap has grown, which takes an idle
 * process hours.
 */
export async function collectStartGarbage(clock: Pick<Clock, 'sleep'>, signal: AbortSignal): Promise<void> {
  await clock.sleep(STARTED_MS, signal);
  if (signal.aborted) return;
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}
