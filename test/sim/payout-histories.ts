/**
 * Short histories of payouts, each from a seed, as tests.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { handClock } from '../support/hand-clock.ts';
import { openBench } from './payout-bench.ts';
import { playHistory, type Tally } from './payout-history.ts';

const STORY_LINES_MAX = 80;
/** Each history has a network of its own, and a database has this many at most. */
const NETWORKS_MAX = 900;
/** So many histories of any seeds have every result that is expected, unless something is wrong. */
const LONG = 5_000;

/** The number behind `--flag=`, where a file is run by itself. */
const numberOf = (flag: string, fallback: number): number =>
  Number(process.argv.find((word) => word.startsWith(`--${flag}=`))?.slice(flag.length + 3) ?? fallback);

/** Events that must occur in at least one history, or they prove little. */
const EXPECTED = [
  'payout succeeded in generation 0',
  'payout succeeded in generation 1',
  'payout succeeded in generation 2',
  'payout stuck in generation 5',
  'payout canceled in generation 0',
  'fee raised',
  'killed',
  'backup restored',
  'put back',
  'second engine',
  'adopted',
  'payouts_not_adopted',
  'signer_refused_fence',
  'usurped',
  'resumed to be signed again',
  'rejected',
  'ended as never paid',
  'ordered again',
  'blocks skipped',
  'blocks read again',
  'thawed over blocks',
  'reconciled by one who is true',
  'reconciled by one who is lazy',
  'reconciled by one who is wrong',
];

/** Events that occur in one of a thousand histories or fewer. */
const RARE = ['ended after its attempts failed'];

/** Histories that once went wrong, and what must be right in them. */
const KEPT: Readonly<Record<string, readonly number[]>> = {
  'a sweep that was adopted, and paid while payouts were frozen, is booked': [1_002_054, 2_002_249],
  'a refund that was on its way when the machine was restored is paid once': [30_000_215],
  'what another engine had signed is adopted, and not learned from the chain': [31_004_531],
  'a wallet’s first number is not taken from a block that a reorg removes': [10_027_656],
  'a refund that was paid in a block which is not read is not rejected': [40_000_194],
};

/**
 * Plays the histories of this many seeds from `first`, or that of the variable SEED alone.
 * @param first together, these seeds have every result that is expected
 */
export function payoutHistories(first: number, usual: number): void {
  const only = process.env.SEED;
  const from = only === undefined ? numberOf('from', first) : Number(only);
  const count = only === undefined ? numberOf('seeds', usual) : 1;
  const tally: Tally = new Map();

  test(`${count} histories: nothing is paid twice, nothing is forgotten`, async () => {
    const clock = handClock();
    let bench = openBench(clock);
    try {
      for (let seed = from; seed < from + count; seed++) {
        const story: string[] = [];
        if (seed > from && (seed - from) % NETWORKS_MAX === 0) {
          bench.close();
          bench = openBench(clock);
        }
        try {
          await playHistory(seed, bench, clock, story, tally);
        } catch (error) {
          const text = story.slice(-STORY_LINES_MAX).join('\n');
          const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
          const replay = `replay: SEED=${seed} npx tsx test/sim/payouts.test.ts`;
          throw new Error(`seed ${seed}: ${why}\n${text}\n${replay}`, { cause: error });
        }
      }
    } finally {
      bench.close();
    }
  });

  for (const [what, seeds] of Object.entries(KEPT)) {
    test(what, async () => {
      for (const seed of seeds) {
        const clock = handClock();
        const bench = openBench(clock);
        try {
          await playHistory(seed, bench, clock, [], new Map());
        } finally {
          bench.close();
        }
      }
    });
  }

  test('the histories were not idle: every possible result of a payout occurred', () => {
    const seen = [...tally].map(([name, times]) => `${name}: ${times}`).sort();
    if (process.env.TALLY) process.stderr.write(`${seen.join('\n')}\n`);
    const isUsual = from === first && count >= usual;
    if (!isUsual && count < LONG) return;
    const expected = count < LONG ? EXPECTED : [...EXPECTED, ...RARE];
    for (const what of expected) assert.ok(tally.has(what), `never "${what}" in\n${seen.join('\n')}`);
  });

  test.run();
}
