/**
 * Holding refused requests for a moment before they are answered: a client that asks again as soon as it has its answer
 * then costs a request a second on each of its connections, instead of as many as the server can refuse.
 */
import type { ServerResponse } from 'node:http';
import type { Clock } from './clock.ts';

const HELD_MS = 1000;
/** A held request takes a connection and some kilobytes. */
const HELD_MAX = 1000;

/** @returns whether the client still waits for its answer */
export type Hold = (response: ServerResponse) => Promise<boolean>;

/** Creates a hold of a second. While `heldMax` requests are held, it closes the connections of others at once. */
export function createHold(clock: Pick<Clock, 'sleep'>, heldMax = HELD_MAX): Hold {
  let held = 0;
  return async (response) => {
    if (held >= heldMax) {
      response.destroy();
      return false;
    }
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    held++;
    try {
      await clock.sleep(HELD_MS, gone.signal);
    } finally {
      held--;
    }
    return !gone.signal.aborted;
  };
}
