/**
 * Runs simulations: the notable seeds, and some others.
 *
 *   npx tsx test/sim/sim.test.ts                  the usual few
 *   npx tsx test/sim/sim.test.ts --seeds=200      200 seeds from 0
 *   SEED=17 npx tsx test/sim/sim.test.ts          one seed, to replay a failure
 * @module
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { notableSeeds } from './seeds.ts';
import { simulate, type Tally } from './simulation.ts';

const SEEDS = 10;
const STORY_LINES_MAX = 60;

function chosenSeeds(): number[] {
  const only = process.env.SEED;
  if (only !== undefined) return [Number(only)];
  const asked = process.argv.find((word) => word.startsWith('--seeds='))?.slice('--seeds='.length);
  const count = Number(asked ?? SEEDS);
  const seeds = Array.from({ length: count }, (_, seed) => seed);
  return [...new Set([...notableSeeds.map(({ seed }) => seed), ...seeds])];
}

const seeds = chosenSeeds();
const tally: Tally = new Map();

for (const seed of seeds) {
  test(`seed ${seed}`, async () => {
    const story: string[] = [];
    try {
      await simulate(seed, story, tally);
    } catch (error) {
      const text = story.slice(-STORY_LINES_MAX).join('\n');
      const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
      throw new Error(`seed ${seed}: ${why}\n${text}\nreplay: SEED=${seed} npx tsx test/sim/sim.test.ts`, {
        cause: error,
      });
    }
  });
}

test('the simulations were not idle: every possible result of a session and of a payment occurred', () => {
  if (seeds.length < SEEDS) return;
  const seen = [...tally].map(([name, times]) => `${name}: ${times}`).sort();
  for (const status of ['paid', 'paid late', 'failed', 'expired', 'canceled']) {
    assert.ok(tally.has(`session ${status}`), `no session ${status} in\n${seen.join('\n')}`);
  }
  for (const network of ['ethereum', 'bsc', 'tron', 'solana']) {
    for (const state of ['final', 'orphaned']) {
      assert.ok(tally.has(`payment ${state} on test:${network}`), `no payment ${state} on ${network}`);
    }
  }
  for (const event of [
    'completed',
    'failed',
    'expired',
    'cancelled',
    'detected',
    'partially_paid',
    'late',
    'reversed',
  ]) {
    assert.ok(tally.has(`payment.${event}`), `no event payment.${event} in\n${seen.join('\n')}`);
  }
  for (const fault of ['drop', 'lag', 'empty_content', 'sibling_content', 'unlinked', 'hang']) {
    assert.ok(tally.has(`fault ${fault}`), `no fault ${fault} in\n${seen.join('\n')}`);
  }
  if (process.env.TALLY) process.stderr.write(`${seen.join('\n')}\n`);
});

test.run();
