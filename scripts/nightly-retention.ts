/**
 * Removes old data once, and ends. The supervisor starts it every night. A stop ends it after the slice that is under
 * way; the rest is done the next night.
 */
import '../src/lib/runtime.ts';
import { databaseOptions } from '../src/app/database-options.ts';
import { IN_BACKGROUND, runProgram } from '../src/app/program.ts';
import { runRetention } from '../src/app/retention.ts';
import { openRetentionDatabase } from '../src/database/retention.ts';
import { systemClock } from '../src/lib/clock.ts';

await runProgram(
  'retention',
  async ({ config, log, signal }) => {
    const database = openRetentionDatabase(databaseOptions(config, process.env));
    try {
      const done = await runRetention({ config, database, clock: systemClock, signal });
      log.info({ ...done }, 'old data was removed');
    } finally {
      database.close();
    }
  },
  IN_BACKGROUND,
);
