/**
 * Thousands of short histories of payouts, each from a seed.
 *
 *   npm test -- sim/payouts                                  the usual ones
 *   PAYOUT_SEED=17 npm test -- sim/payouts                   one seed, to replay a failure
 *   npx tsx test/sim/payouts.test.ts --seeds=20000           many, without the test command's time limit
 * @module
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { handClock } from '../support/hand-clock.ts';
import { openBench } from './payout-bench.ts';
import { playHistory, type Tally } from './payout-history.ts';

const SEEDS = 1500;
const STORY_LINES_MAX = 80;

const only = process.env.PAYOUT_SEED;
const numberOf = (flag: string, fallback: number): number =>
  Number(process.argv.find((word) => word.startsWith(`--${flag}=`))?.slice(flag.length + 3) ?? fallback);
const from = only === undefined ? numberOf('from', 0) : Number(only);
const count = only === undefined ? numberOf('seeds', SEEDS) : 1;

const tally: Tally = new Map();

test(`${count} histories: nothing is paid twice, nothing is forgotten`, async () => {
  const clock = handClock();
  const bench = openBench(clock);
  try {
    for (let seed = from; seed < from + count; seed++) {
      const story: string[] = [];
      try {
        await playHistory(seed, bench, clock, story, tally);
      } catch (error) {
        const told = story.slice(-STORY_LINES_MAX).join('\n');
        const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
        throw new Error(`seed ${seed}: ${why}\n${told}\nreplay: PAYOUT_SEED=${seed} npm test -- sim/payouts`, {
          cause: error,
        });
      }
    }
  } finally {
    bench.close();
  }
});

test('the histories were not idle: everything that may become of a payout did', () => {
  const seen = [...tally].map(([name, times]) => `${name}: ${times}`).sort();
  if (process.env.SIM_TALLY) process.stderr.write(`${seen.join('\n')}\n`);
  if (count < SEEDS) return;
  for (const what of [
    'payout succeeded in generation 0',
    'payout succeeded in generation 1',
    'payout succeeded in generation 2',
    'payout stuck in generation 4',
    'payout canceled in generation 0',
    'fee raised',
    'killed',
    'backup put back',
    'second engine',
    'adopted',
    'payouts_not_adopted',
    'signer_refused_fence',
    'usurped',
    'resumed anew',
  ]) {
    assert.ok(tally.has(what), `never "${what}" in\n${seen.join('\n')}`);
  }
});

test.run();
