/** Limits on what leaves for refunds: what counts when, and when there is room again. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  judgeLimit,
  noLimit,
  type PayoutLimit,
  type SpentStep,
  STEP_MS,
  stepOf,
  sumSpent,
} from '../../src/core/payout-limit.ts';
import { createRandom } from '../../src/sandbox/random.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOON_MS = Date.UTC(2027, 0, 15, 12);
const at = (minutes: number, amountMinor: bigint, count = 1): SpentStep => ({
  atMs: stepOf(NOON_MS + minutes * 60_000),
  amountMinor,
  count,
});
const limit = (changes: Partial<PayoutLimit>): PayoutLimit => ({ ...noLimit, ...changes });

test('amounts and numbers of the last hour and of the UTC day are added up apart', () => {
  const steps = [at(-13 * 60, 1n), at(-12 * 60, 2n), at(-61, 4n), at(-59, 8n), at(0, 16n, 3)];
  assert.equal(sumSpent(steps, NOON_MS), { hourMinor: 24n, hourCount: 4, dayMinor: 30n, dayCount: 6 });
});

test('a step counts until an hour after its last moment, and a day until midnight', () => {
  const [step] = [at(0, 5n)];
  const most = limit({ hourMinor: 5n });
  const untilMs = step.atMs + STEP_MS + HOUR_MS;
  assert.equal(judgeLimit(most, [step], 1n, untilMs - 1), { period: 'hour', untilMs });
  assert.is(judgeLimit(most, [step], 1n, untilMs), null);
  const midnightMs = NOON_MS + 12 * HOUR_MS;
  const daily = limit({ dayCount: 1 });
  assert.equal(judgeLimit(daily, [step], 1n, midnightMs - 1), { period: 'day', untilMs: midnightMs });
  assert.is(judgeLimit(daily, [step], 1n, midnightMs), null);
});

test('what is exactly the limit is paid; more waits, for the day where both are full', () => {
  const steps = [at(-10, 60n)];
  const both = limit({ hourMinor: 100n, dayMinor: 100n });
  assert.is(judgeLimit(both, steps, 40n, NOON_MS), null);
  assert.is(judgeLimit(both, steps, 41n, NOON_MS)?.period, 'day');
  assert.is(judgeLimit(limit({ hourMinor: 100n }), steps, 41n, NOON_MS)?.period, 'hour');
  assert.is(judgeLimit(noLimit, steps, 10n ** 30n, NOON_MS), null);
});

test('what is more than the whole limit never passes by itself', () => {
  assert.equal(judgeLimit(limit({ hourMinor: 100n }), [], 101n, NOON_MS), { period: 'hour', untilMs: null });
  assert.equal(judgeLimit(limit({ dayCount: 0 }), [], 1n, NOON_MS), { period: 'day', untilMs: null });
});

test('what was paid before the clock was set back still counts', () => {
  const ahead = [at(3 * 24 * 60, 100n)];
  const hold = judgeLimit(limit({ hourMinor: 100n }), ahead, 1n, NOON_MS);
  assert.equal(hold, { period: 'hour', untilMs: NOON_MS + 3 * DAY_MS + STEP_MS + HOUR_MS });
  assert.is(sumSpent(ahead, NOON_MS).dayMinor, 100n);
});

test('there is room at the time that is promised, and not a step before', () => {
  const random = createRandom('payout limits', 1);
  for (let round = 0; round < 300; round++) {
    const steps = Array.from({ length: random.int(12) }, () =>
      at(-random.int(70), BigInt(1 + random.int(50)), 1 + random.int(3)),
    );
    const most = limit({ hourMinor: BigInt(random.int(120)), ...(random.chance(0.5) && { hourCount: random.int(8) }) });
    const amount = BigInt(1 + random.int(60));
    const hold = judgeLimit(most, steps, amount, NOON_MS);
    if (hold === null) {
      assert.ok(sumSpent(steps, NOON_MS).hourMinor + amount <= (most.hourMinor ?? 0n), `round ${round}`);
      continue;
    }
    if (hold.untilMs === null) {
      assert.ok(amount > (most.hourMinor ?? 0n) || most.hourCount === 0, `round ${round}`);
      continue;
    }
    assert.is(judgeLimit(most, steps, amount, hold.untilMs), null, `round ${round}`);
    assert.ok(judgeLimit(most, steps, amount, hold.untilMs - 1), `round ${round}`);
  }
});

test.run();
