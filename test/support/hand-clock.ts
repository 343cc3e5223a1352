/**
 * A clock that a test moves by hand.
 * @module
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
    sleep: () => Promise.reject(new Error('nothing that is tested with a hand clock may sleep')),
  };
}
