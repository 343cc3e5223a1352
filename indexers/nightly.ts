/**
 * Compares the final blocks of all networks with the database, one network after the other, and ends. The supervisor
 * starts it every night, on one machine after the other. A stop ends it at once, and the next run continues from there.
 */
import '../src/lib/runtime.ts';
import { openDatabase } from '../src/app/open-database.ts';
import { IN_BACKGROUND, runProgram } from '../src/app/program.ts';
import { chains } from '../src/chains/index.ts';
import { COMPARISON, underLease } from '../src/database/leases.ts';
import { systemClock } from '../src/lib/clock.ts';
import { holderOf } from '../src/lib/holder.ts';
import { compareNetwork } from './comparison.ts';
import { makeRoomForAnswers } from './v8-flags.ts';

makeRoomForAnswers();
await runProgram(
  'comparison',
  async ({ config, log, signal }) => {
    const database = openDatabase(config, process.env);
    const clock = systemClock;
    const lease = { name: COMPARISON, holder: holderOf(config.dataDir, 'comparison') };
    try {
      await underLease({ ...lease, database, clock, log }, signal, async (fencedDatabase, ending) => {
        for (const network of config.networks) {
          if (ending.aborted) return;
          const chain = chains[network.family];
          await compareNetwork({ network, chain, database: fencedDatabase, clock, log }, ending);
        }
      });
    } finally {
      database.close();
    }
  },
  IN_BACKGROUND,
);
