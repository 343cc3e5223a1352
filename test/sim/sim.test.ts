/**
 * The notable seeds and a few others; `sim.slow.test.ts` plays more.
 *
 *   SEED=17 npx tsx test/sim/sim.test.ts     one seed, to replay a failure
 */
import { test } from 'uvu';
import { simulations } from './simulations.ts';

simulations(3);
test.run();
