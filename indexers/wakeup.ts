/**
 * A wait that a ring cuts short. Rings carry nothing and many count as one; a ring during work ends the next wait at
 * once.
 *
 * @module
 */
import type { Clock } from '../src/lib/clock.ts';

export interface Wakeup {
  notify(): void;
  /** Waits until the wakeup rings, at most `ms`. */
  wait(ms: number): Promise<void>;
}

export function createWakeup(clock: Clock): Wakeup {
  let isRung = false;
  let wake = (): void => {};
  return {
    notify() {
      isRung = true;
      wake();
    },
    async wait(ms) {
      if (!isRung) {
        const rung = new AbortController();
        wake = () => rung.abort();
        await clock.sleep(ms, rung.signal);
      }
      isRung = false;
    },
  };
}
