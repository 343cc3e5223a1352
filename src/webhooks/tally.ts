/**
 * Counts what was sent, since the start of the process.
 */
import type { SenderReport, Spread } from '../database/sender-report.ts';

type Counted = Pick<SenderReport, 'attempts' | 'attemptMs' | 'firstAttemptMs'>;

type Tally = Readonly<{
  /** @param waitedMs from the event to this attempt; null unless it is the delivery's first */
  count(verdict: keyof Counted['attempts'], ms: number, waitedMs: number | null): void;
  read(): Counted;
}>;

const ATTEMPT_BOUNDS_MS = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000];
const WAIT_BOUNDS_MS = [10, 25, 50, 100, 250, 500, 1_000, 5_000, 30_000, 120_000, 600_000, 3_600_000];

export function createTally(): Tally {
  const attempts = { delivered: 0, retry: 0, failed: 0 };
  const attemptMs = createSpread(ATTEMPT_BOUNDS_MS);
  const firstAttemptMs = createSpread(WAIT_BOUNDS_MS);
  return {
    count(verdict, ms, waitedMs) {
      attempts[verdict]++;
      attemptMs.add(ms);
      if (waitedMs !== null) firstAttemptMs.add(waitedMs);
    },
    read: () => ({ attempts: { ...attempts }, attemptMs: attemptMs.read(), firstAttemptMs: firstAttemptMs.read() }),
  };
}

function createSpread(boundsMs: readonly number[]) {
  const counts = Array<number>(boundsMs.length + 1).fill(0);
  let sumMs = 0;
  return {
    add(ms: number) {
      const at = boundsMs.findIndex((bound) => ms <= bound);
      const index = at < 0 ? boundsMs.length : at;
      counts[index] = (counts[index] ?? 0) + 1;
      sumMs += ms;
    },
    read: (): Spread => ({ boundsMs, counts: [...counts], sumMs }),
  };
}
