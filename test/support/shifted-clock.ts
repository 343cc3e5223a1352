/**
 * The system's clock with hours that a test can skip: waiting takes its real time, and what lies ahead comes nearer by
 * a call.
 *
 * @module
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
