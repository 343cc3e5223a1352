/**
 * Memory that only the start of a process needed. Measured in docs/internals/performance.md.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from './clock.ts';

/** V8 forgets the bytecode of functions that were called at the start alone after some six collections. */
const COLLECTIONS = 9;
const EVERY_MS = 4_000;

/**
 * Collects garbage some times after the start: V8 would keep it until the heap has grown, which takes an idle process
 * hours.
 */
export async function collectStartGarbage(clock: Pick<Clock, 'sleep'>, signal: AbortSignal): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  for (let done = 0; done < COLLECTIONS; done++) {
    await clock.sleep(EVERY_MS, signal);
    if (signal.aborted) return;
    collect();
  }
}
