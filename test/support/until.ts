/**
 * Waiting for a condition instead of for a time.
 */
import { setTimeout as wait } from 'node:timers/promises';

/** Generous: whole processes are started, perhaps on a busy machine. */
const LIMIT_MS = 300_000;
/** The pauses grow with the time already waited, and with what it takes to check: that slows what is waited for. */
const PAUSE_MS_MIN = 10;
const PAUSE_MS_MAX = 100;
const PAUSE_SHARE = 0.1;
const PAUSE_CHECKS = 9;
const PAUSE_MS_MAX_BY_CHECK = 1_000;

/**
 * Waits until `condition` holds. An error of the condition ends the wait at once, so that its own words are what the
 * test says; a condition that may fail in between, such as a request to a server that restarts, catches that itself.
 * @throws Error naming `what` after the limit, usually five minutes, which is never reached on a working machine
 */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  limitMs = LIMIT_MS,
): Promise<void> {
  const startMs = performance.now();
  for (;;) {
    const checkedAtMs = performance.now();
    if (await condition()) return;
    const nowMs = performance.now();
    const waitedMs = nowMs - startMs;
    if (waitedMs > limitMs) throw new Error(`timed out after ${limitMs / 1000} s waiting until ${what}`);
    const usualMs = Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS_MIN, waitedMs * PAUSE_SHARE));
    await wait(Math.max(usualMs, Math.min(PAUSE_MS_MAX_BY_CHECK, (nowMs - checkedAtMs) * PAUSE_CHECKS)));
  }
}
