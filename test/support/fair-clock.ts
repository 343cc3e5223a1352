/**
 * The system's clock for tests in which both sides of a connection are in one process: a sleeper goes on only once all
 * that has arrived was handled. A machine that stalls is then no silence of the other side.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { type Clock, systemClock } from '../../src/lib/clock.ts';

/** An answer takes a few turns of the event loop: to the other side, and back. */
const TURNS = 20;

export const fairClock: Clock = {
  nowMs: systemClock.nowMs,
  async sleep(ms, signal) {
    await systemClock.sleep(ms, signal);
    for (let left = TURNS; left > 0 && !signal?.aborted; left--) await turn();
  },
};
