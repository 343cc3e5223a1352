/**
 * Turns of the event loop, one for each piece of work: pieces that come together are spread over as many turns, and
 * other work is done in between.
 */

/** Waits for a turn that nobody else has. */
type TakeTurn = () => Promise<void>;

export function createTurns(): TakeTurn {
  const waiting: (() => void)[] = [];
  function startNext(): void {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(startNext);
  }
  return () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(startNext);
    });
}
