/**
 * Compares a database with the marks of what was given out, when the server starts; and retires what may have been
 * given out where the marks, too, may have been put back.
 */
import { chains } from '../chains/index.ts';
import type { Database } from '../database/database.ts';
import { GAP_MS_MIN, retireAfterGap } from '../database/gap-retirement.ts';
import type { Clock } from '../lib/clock.ts';
import { every } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';
import { databaseFile } from '../lib/secret-key.ts';
import { type AddressMarks, addressMarksFile, openAddressMarks } from './address-marks.ts';

/** A process that was killed between mark and commit leaves one address of each source behind. */
const RETIRED_BY_CRASH_MAX = 1;
/** How often the server looks whether time has jumped. */
const LOOK_MS = 1_000;

type Parts = Readonly<{
  database: Pick<Database, 'addresses' | 'alarms'>;
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
    const retired = await database.addresses.retire({ family, mode }, source, through);
    if (retired === 0) continue;
    log.warn({ family, mode, retired, through }, 'addresses that were given out before are retired');
    if (retired <= RETIRED_BY_CRASH_MAX) continue;
    await database.alarms.raise({
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
  const given = await database.addresses.given();
  marks.cover(given.flatMap(({ through, ...pool }) => (through === 0 ? [] : { ...pool, index: through - 1 })));
}

type GapParts = Readonly<{ dataDir: string; clock: Pick<Clock, 'nowMs'>; log?: Log | undefined }>;

/**
 * Retires the addresses that may have been given out since this installation last ran: the whole machine may have been
 * put back to a snapshot, the marks with it. To be called before the server and the followers run.
 * @param sinceMs when it last ran, if not the database tells
 * @throws Fault `address_marks_unreadable`, `storage_unavailable`, `storage_damaged`
 */
export function retireUnknownUse({ dataDir, clock, log }: GapParts, sinceMs?: number): void {
  const marks = openAddressMarks(addressMarksFile(dataDir));
  try {
    const isImported = ({ family }: { family: string }) =>
      !Object.entries(chains).some(([name, chain]) => name === family && chain.xpubKeys);
    const gap = { marks: marks.all(), isImported, nowMs: clock.nowMs(), ...(sinceMs !== undefined && { sinceMs }) };
    for (const { family, mode, source, retired } of retireAfterGap(databaseFile(dataDir), gap))
      log?.info({ family, mode, source, retired }, 'addresses that may have been given out in a gap are retired');
  } finally {
    marks.close();
  }
}

/** Looks for gaps while the server runs: a virtual machine may have been put back to a snapshot with its memory. */
export function watchForGaps(
  parts: GapParts & Readonly<{ clock: Clock; log: Log; signal: AbortSignal }>,
): Promise<void> {
  const { clock, log, signal } = parts;
  let lastMs = clock.nowMs();
  const look = async (): Promise<void> => {
    if (clock.nowMs() >= lastMs + GAP_MS_MIN) retireUnknownUse(parts, lastMs);
    lastMs = clock.nowMs();
  };
  return every(LOOK_MS, look, { clock, log, signal, what: 'looking for gaps' });
}
