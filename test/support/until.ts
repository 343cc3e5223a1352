/**
 * Waiting for a condition instead of for a time.
 * @module
 */
import { setTimeout as wait } from 'node:timers/promises';

/** Generous: whole processes are started, perhaps on a busy machine. */
const LIMIT_MS = 60_000;

/**
 * Waits until `condition` holds.
 * @throws Error naming `what` after a minute, which is never reached on a working machine
 */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`timed out after ${LIMIT_MS / 1000} s waiting until ${what}`);
    await wait(10);
  }
}
