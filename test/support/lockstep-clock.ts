/**
 * A clock that stands still until it is advanced. A sleeper wakes when the clock passes its time; each view counts its
 * sleepers, so that a simulation can wait until all work is done.
 */
import type { Clock } from '../../src/lib/clock.ts';

export type ClockView = Clock & Readonly<{ asleep(): number }>;

export interface LockstepClock {
  nowMs(): number;
  view(): ClockView;
  /** Advances the clock, and wakes all whose time has come. */
  advance(ms: number): void;
}

type Sleeper = Readonly<{ untilMs: number; wake(): void }>;

export function lockstepClock(startMs = 1_800_000_000_000): LockstepClock {
  let nowMs = startMs;
  const views: Set<Sleeper>[] = [];
  return {
    nowMs: () => nowMs,
    view() {
      const sleepers = new Set<Sleeper>();
      views.push(sleepers);
      return {
        nowMs: () => nowMs,
        asleep: () => sleepers.size,
        sleep(ms, signal) {
          if (signal?.aborted) return Promise.resolve();
          return new Promise((resolve) => {
            const wake = (): void => {
              sleepers.delete(sleeper);
              signal?.removeEventListener('abort', wake);
              resolve();
            };
            const sleeper = { untilMs: nowMs + ms, wake };
            sleepers.add(sleeper);
            signal?.addEventListener('abort', wake, { once: true });
          });
        },
      };
    },
    advance(ms) {
      nowMs += ms;
      for (const sleepers of views) for (const sleeper of [...sleepers]) if (sleeper.untilMs <= nowMs) sleeper.wake();
    },
  };
}
