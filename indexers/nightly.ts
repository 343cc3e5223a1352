/**
 * Compares the final blocks of all networks with the database, one network after the other, and ends. The supervisor
 * starts it every night, on one machine after the other. A stop ends it at once; the next run goes on where it came to.
 */
import '../src/lib/runtime.ts';
import { openDatabase } from '../src/app/open-database.ts';
import { IN_BACKGROUND, runProgram } from '../src/app/program.ts';
import { COMPARISON } from '../src/database/leases.ts';
import { underLease } from '../src/database/under-lease.ts';
import { systemClock } from '../src/lib/clock.ts';
import { holderOf } from '../src/lib/holder.ts';
import { compareNetwork } from './comparison/network.ts';
import { openComparison } from './comparison/open.ts';
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
          const open = await openComparison({ network, database: fencedDatabase, clock, log });
          // At a stop, requests in flight end at once, as a fault of the closed node.
          ending.addEventListener('abort', () => void open.close(), { once: true });
          await compareNetwork(open, ending).finally(open.close);
        }
      });
    } finally {
      database.close();
    }
  },
  IN_BACKGROUND,
);
