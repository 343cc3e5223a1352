/**
 * Turns at the one connection of a process: a transaction's body has it alone, from its begin to its end.
 *
 * Each statement belongs to a body. A body waits for nothing but its statements. SQLite answers each at once, so the
 * whole body runs in one turn of the event loop.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { invariant } from '../../core/fault.ts';

type Body = { isOpen: boolean };

export type Turns = Readonly<{
  /** Refuses a statement outside of a body. */
  checkInside(): void;
  /** Runs a body alone. It may wait for nothing but its own statements. */
  body<T>(run: () => Promise<T>): Promise<T>;
  /** Whether the caller is within a body. */
  isInside(): boolean;
}>;

export function createTurns(): Turns {
  const bodies = new AsyncLocalStorage<Body>();
  let last: Promise<unknown> = Promise.resolve();

  async function alone<T>(run: () => Promise<T>): Promise<T> {
    const body: Body = { isOpen: true };
    const late = setImmediate(() => {
      throw new Error('a body of a transaction waits for something else than its statements');
    });
    try {
      return await bodies.run(body, run);
    } finally {
      clearImmediate(late);
      body.isOpen = false;
    }
  }

  function isInside(): boolean {
    const body = bodies.getStore();
    return body?.isOpen === true;
  }

  return {
    checkInside: () => invariant(isInside(), 'a statement belongs to a body, which waits for it'),
    body(run) {
      const done = last.then(() => alone(run));
      last = done.catch(() => {});
      return done;
    },
    isInside,
  };
}
