/**
 * A wait that a notification ends early. Notifications carry no data, and several count as one; one that arrives during
 * work ends the next wait at once.
 */
import type { Clock } from '../src/lib/clock.ts';

export interface Wakeup {
  notify(): void;
  /** Waits until the next notification, at most `ms`. */
  wait(ms: number): Promise<void>;
}

export function createWakeup(clock: Clock): Wakeup {
  let isNotified = false;
  let wake = (): void => {};
  return {
    notify() {
      isNotified = true;
      wake();
    },
    async wait(ms) {
      if (!isNotified) {
        const early = new AbortController();
        wake = () => early.abort();
        await clock.sleep(ms, early.signal);
      }
      isNotified = false;
    },
  };
}
