/**
 * Waiting for a condition instead of for a time.
 * @module
 */
import { setTimeout as wait } from 'node:timers/promises';

/** Generous: whole processes are started, perhaps on a busy machine. */
const LIMIT_MS = 180_000;
/** A condition may be costly to check, so the pauses grow with the time already waited. */
const PAUSE_MS_MIN = 10;
const PAUSE_MS_MAX = 100;
const PAUSE_SHARE = 0.1;

/**
 * Waits until `condition` holds.
 * @throws Error naming `what` after three minutes, which is never reached on a working machine
 */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const startMs = performance.now();
  while (!(await condition())) {
    const waitedMs = performance.now() - startMs;
    if (waitedMs > LIMIT_MS) throw new Error(`timed out after ${LIMIT_MS / 1000} s waiting until ${what}`);
    await wait(Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS_MIN, waitedMs * PAUSE_SHARE)));
  }
}
