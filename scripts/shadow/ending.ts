/**
 * When a run ends, and why.
 * @module
 */
import type { Clock } from '../../src/lib/clock.ts';

/** The time was over, somebody stopped it, or the follower halted. */
export type Ended =
  | Readonly<{ kind: 'time' | 'stopped' }>
  | Readonly<{ kind: 'halted'; code: string; message: string }>;

export type Ending = Readonly<{
  /** Aborts at the end. */
  signal: AbortSignal;
  /** Ends the run now; the first reason counts. */
  end(why: Ended): void;
  why(): Ended;
}>;

/** Ends after `durationMs`, or as soon as `stop` aborts. */
export function createEnding(durationMs: number, stop: AbortSignal, clock: Clock): Ending {
  const ended = new AbortController();
  let reason: Ended = { kind: 'stopped' };
  const end = (why: Ended): void => {
    if (!ended.signal.aborted) reason = why;
    ended.abort();
  };
  const onStop = () => end({ kind: 'stopped' });
  stop.addEventListener('abort', onStop, { once: true });
  if (stop.aborted) onStop();
  void clock.sleep(durationMs, ended.signal).then(() => end({ kind: 'time' }));
  return { signal: ended.signal, end, why: () => reason };
}
