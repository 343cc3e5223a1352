/**
 * The program that sends webhooks. The supervisor (`npm start`) runs one. It may end at any moment, because deliveries
 * wait in the database. The next run sends those again that were under way.
 */
import '../lib/runtime.ts';
import { databaseOptions } from '../app/database-options.ts';
import { type ProgramParts, runProgram } from '../app/program.ts';
import { type Database, openSqliteDatabase } from '../database/database.ts';
import { doorFormats } from '../doors/notices.ts';
import { aborted, systemClock } from '../lib/clock.ts';
import { holderOf } from '../lib/holder.ts';
import { startDispatcher } from './dispatcher.ts';
import { attemptLimits } from './format.ts';

const PER_ENDPOINT_MAX = 4;

const clock = systemClock;

/** Sends until the signal aborts. Deliveries under way then have a moment to end. */
async function send({ config, log, signal }: ProgramParts, database: Database): Promise<void> {
  const holder = holderOf(config.dataDir, 'webhooks');
  // The supervisor has seen the end of the previous sender on this machine, so its leases are void. Senders on other
  // machines go on.
  await database.deliveries.endLeases(holder);
  const dispatcher = startDispatcher({
    database,
    holder,
    config: { ...attemptLimits, perEndpointMax: PER_ENDPOINT_MAX, ...config.webhooks },
    doors: doorFormats,
    clock,
    log,
  });
  process.send?.({ ready: true });
  log.info('webhooks are being sent');
  await aborted(signal);
  await dispatcher.stop();
}

await runProgram('webhooks', async (parts) => {
  const { config } = parts;
  const database = openSqliteDatabase(databaseOptions(config, process.env));
  try {
    await send(parts, database);
  } finally {
    database.close();
  }
});
