/**
 * A wait that a notification ends early. Notifications carry no data, and several count as one. A notification that
 * arrives during work ends the next wait at once.
 */
import type { Clock } from '../src/lib/clock.ts';

export type Wakeup = ReturnType<typeof createWakeup>;

export function createWakeup(clock: Clock) {
  let isNotified = false;
  let wake = (): void => {};
  return {
    notify(): void {
      isNotified = true;
      wake();
    },
    /** Waits until the next notification, at most `ms`. */
    async wait(ms: number): Promise<void> {
      if (!isNotified) {
        const early = new AbortController();
        wake = () => early.abort();
        await clock.sleep(ms, early.signal);
      }
      isNotified = false;
    },
  };
}
