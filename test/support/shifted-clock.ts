/**
 * The system's clock with an offset that a test can increase: waiting takes its real time, and future times come closer
 * by a call.
 */
import { type Clock, systemClock } from '../../src/lib/clock.ts';

export type ShiftedClock = Clock & Readonly<{ skip(ms: number): void }>;

export function shiftedClock(): ShiftedClock {
  let shiftMs = 0;
  return {
    nowMs: () => systemClock.nowMs() + shiftMs,
    sleep: systemClock.sleep,
    skip(ms) {
      shiftMs += ms;
    },
  };
}
