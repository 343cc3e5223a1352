/**
 * Simulations as tests, each from a seed.
 */
import { test } from 'uvu';
import { notableSeeds } from './seeds.ts';
import { simulate, type Tally } from './simulation.ts';

const STORY_LINES_MAX = 60;

/** Counts of what was simulated. The tally is complete once its tests have run. */
type Simulations = Readonly<{ seeds: readonly number[]; tally: Tally }>;

/** Registers a test for each notable seed and for `usual` others from 0, or only for that of the variable SEED. */
export function simulations(usual: number): Simulations {
  const seeds = chosenSeeds(usual);
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
  return { seeds, tally };
}

function chosenSeeds(usual: number): readonly number[] {
  const only = process.env.SEED;
  if (only !== undefined) return [Number(only)];
  const asked = process.argv.find((word) => word.startsWith('--seeds='))?.slice('--seeds='.length);
  const seeds = Array.from({ length: Number(asked ?? usual) }, (_, seed) => seed);
  return [...new Set([...notableSeeds.map(({ seed }) => seed), ...seeds])];
}
