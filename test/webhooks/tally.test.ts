import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createTally } from '../../src/webhooks/tally.ts';

test('each attempt counts once, in the first range that holds it; only first attempts count as waits', () => {
  const tally = createTally();
  tally.count('delivered', 5, 10);
  tally.count('retry', 6, null);
  tally.count('failed', 30_001, 3_600_001);
  const before = tally.read();
  tally.count('delivered', 1, 0);
  const { attempts, attemptMs, firstAttemptMs } = before;
  assert.equal(attempts, { delivered: 1, retry: 1, failed: 1 });
  const counted = (spread: typeof attemptMs) =>
    spread.counts.flatMap((count, at) => Array<number>(count).fill(spread.boundsMs[at] ?? Number.POSITIVE_INFINITY));
  assert.equal(counted(attemptMs), [5, 10, Number.POSITIVE_INFINITY]);
  assert.is(attemptMs.sumMs, 30_012);
  assert.equal(counted(firstAttemptMs), [10, Number.POSITIVE_INFINITY]);
  assert.is(tally.read().attempts.delivered, 2);
});

test.run();
