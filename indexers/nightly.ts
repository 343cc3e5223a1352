/**
 * Compares the final blocks of all networks with the database, one network after the other, and ends. The supervisor
 * starts it every night. A stop ends it at once; the next night goes on where it came to.
 */
import '../src/lib/runtime.ts';
import { runNightlyProgram } from '../src/app/nightly-program.ts';
import { openDatabase } from '../src/app/open-database.ts';
import { systemClock } from '../src/lib/clock.ts';
import { compareNetwork } from './comparison/network.ts';
import { openComparison } from './comparison/open.ts';
import { makeRoomForAnswers } from './v8-flags.ts';

makeRoomForAnswers();
await runNightlyProgram('comparison', async ({ config, log, signal }) => {
  const database = openDatabase(config, process.env);
  try {
    for (const network of config.networks) {
      if (signal.aborted) return;
      const open = await openComparison({ network, database, clock: systemClock, log });
      // At a stop, requests in flight end at once, as a fault of the closed node.
      signal.addEventListener('abort', () => void open.close(), { once: true });
      await compareNetwork(open, signal).finally(open.close);
    }
  } finally {
    database.close();
  }
});
