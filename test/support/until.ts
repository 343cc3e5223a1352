/**
 * Waiting for a condition instead of for a time.
 * @module
 */
import { setTimeout as wait } from 'node:timers/promises';

/** Returns when `condition` holds. @throws Error naming `what` after 20 s, which on a sound machine never pass */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited 20 s in vain until ${what}`);
    await wait(10);
  }
}
