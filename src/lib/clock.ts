/**
 * The only place that reads the system's clock or waits. Everything else takes a `Clock`.
 */
import { setTimeout as wait } from 'node:timers/promises';

export type Clock = Readonly<{
  /** Unix time in milliseconds. */
  nowMs(): number;
  /** Waits; returns early, without an error, when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}>;

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  async sleep(ms, signal) {
    try {
      await wait(ms, undefined, signal ? { signal } : {});
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  },
};

/**
 * Calls `act` after `ms`, unless the returned function is called before. It does not keep the process alive, and costs
 * a tenth of `AbortSignal.timeout`.
 */
export function after(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms).unref();
  return () => clearTimeout(timer);
}

/** Resolves when the signal aborts. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** Returns the UTC day of a time, in days since 1970-01-01. */
export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);

/** Converts milliseconds to whole Unix seconds, rounded down. */
export const toSeconds = (ms: number): number => Math.floor(ms / 1000);
