/**
 * Compares a database with the marks of what was given out, when the server starts.
 * @module
 */
import type { Database } from '../database/database.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { AddressMarks } from './address-marks.ts';

/** A process that was killed between mark and commit leaves one address of each source behind. */
const RETIRED_BY_CRASH_MAX = 1;

type Parts = Readonly<{
  database: Pick<Database, 'retireAddresses' | 'givenAddresses' | 'raiseAlarm'>;
  marks: AddressMarks;
  clock: Pick<Clock, 'nowMs'>;
  log: Log;
}>;

/**
 * Retires every address that was given out and that the database does not know as given: it was put back from a backup
 * since. Raises an alarm if there are such. Marks what the database gave out before there were marks.
 */
export async function retireGivenAddresses({ database, marks, clock, log }: Parts): Promise<void> {
  for (const { family, mode, source, through } of marks.all()) {
    const retired = await database.retireAddresses({ family, mode }, source, through);
    if (retired === 0) continue;
    log.warn({ family, mode, retired, through }, 'addresses that were given out before are retired');
    if (retired <= RETIRED_BY_CRASH_MAX) continue;
    await database.raiseAlarm({
      atMs: clock.nowMs(),
      code: 'addresses_retired',
      message:
        `The database does not know ${retired} deposit addresses (${family}, ${mode}, up to number ${through - 1}) that ` +
        `were given to customers according to ${marks.file}: it was restored from a backup. ` +
        'They stay watched and are not given out again; a payment to one of them raises the alarm ' +
        '`payment_without_session`. Look for the orders of that time in your shop',
      network: null,
      sessionId: null,
    });
  }
  const given = await database.givenAddresses();
  marks.cover(given.flatMap(({ through, ...pool }) => (through === 0 ? [] : { ...pool, index: through - 1 })));
}
