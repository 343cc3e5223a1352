/**
 * A clock that a test sets by hand.
 */
import type { Clock } from '../../src/lib/clock.ts';

export type HandClock = Pick<Clock, 'nowMs'> & Readonly<{ nowS(): number; advance(ms: number): void }> & Clock;

/** @param startMs Unix milliseconds; a round number makes failures readable */
export function handClock(startMs = 1_800_000_000_000): HandClock {
  let nowMs = startMs;
  return {
    nowMs: () => nowMs,
    nowS: () => Math.floor(nowMs / 1000),
    advance(ms) {
      nowMs += ms;
    },
    sleep: () => Promise.reject(new Error('code under test with a hand clock may not sleep')),
  };
}
