/**
 * How far the addresses of each pool were given out, in a file beside the database. If the database is put back from a
 * backup, the marks still know which addresses were given out since, and nobody gets another payer's address.
 *
 * A record of 512 bytes per pool: the number of addresses in 12 digits, then family, mode and source. A number is
 * overwritten in place, within one sector, and flushed to the disk before an address is shown: once for all sessions
 * that were committed together.
 */
import { closeSync, fdatasyncSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { chains } from '../chains/index.ts';
import { Fault, invariant, permanent, transient } from '../core/fault.ts';
import type { Mode } from '../core/transfer.ts';
import type { Taken } from '../database/addresses.ts';
import type { Database } from '../database/database.ts';
import { GAP_MS_MIN, retireAfterGap } from '../database/gap-retirement.ts';
import type { Clock } from '../lib/clock.ts';
import { every } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';
import { databaseFile } from '../lib/secret-key.ts';

const RECORD_BYTES = 512;
const DIGITS = 12;
const RECORD = /^(\d{12}) (\["[^\n]*"\]) *$/;

/** Addresses of a source with an index below `through` may have been given out. */
type AddressMark = Readonly<{ family: string; mode: Mode; source: string; through: number }>;

export type AddressMarks = Readonly<{
  file: string;
  all(): AddressMark[];
  /** Marks addresses as given out, on the disk. @throws Fault transient `storage_unavailable` */
  cover(taken: readonly Taken[]): Promise<void>;
  close(): void;
}>;

/** Returns the path of an installation's marks. */
export const addressMarksFile = (dataDir: string): string => join(dataDir, 'address-marks');

/**
 * Opens the file, and creates it if missing.
 * @throws Fault permanent `address_marks_unreadable`
 */
export function openAddressMarks(file: string): AddressMarks {
  const marks = new Map<string, { at: number; through: number }>();
  const nameOf = ({ family, mode, source }: Omit<AddressMark, 'through'>) => JSON.stringify([family, mode, source]);
  for (const [at, { name, through }] of readMarks(file).entries()) marks.set(name, { at, through });
  const handle = openSync(file, 'r+');
  let isDirty = false;
  /** One flush for everything that is noted in the same turn of the event loop. */
  let flushing: Promise<void> | null = null;

  function write(name: string, at: number, through: number, isNew: boolean): void {
    const number = String(through).padStart(DIGITS, '0');
    const bytes = Buffer.from(isNew ? `${number} ${name}` : number);
    invariant(bytes.length < RECORD_BYTES, `the record of ${name} fits into ${RECORD_BYTES} bytes`);
    const record = Buffer.alloc(RECORD_BYTES, ' ');
    record.write('\n', RECORD_BYTES - 1);
    bytes.copy(record);
    writeSync(handle, isNew ? record : bytes, 0, isNew ? RECORD_BYTES : bytes.length, at * RECORD_BYTES);
  }

  function guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (error instanceof Fault) throw error;
      const why = error instanceof Error ? error.message : String(error);
      throw transient('storage_unavailable', `${file} cannot be written: ${why}. No address is given out meanwhile`);
    }
  }

  function noteOne({ index, ...pool }: Taken): void {
    const name = nameOf(pool);
    const known = marks.get(name);
    if (known && known.through > index) return;
    const at = known?.at ?? marks.size;
    write(name, at, index + 1, known === undefined);
    marks.set(name, { at, through: index + 1 });
    isDirty = true;
  }

  function flush(): void {
    flushing = null;
    guarded(() => fdatasyncSync(handle));
    isDirty = false;
  }

  return {
    file,
    all: () =>
      [...marks].map(([name, { through }]) => {
        const [family, mode, source] = JSON.parse(name) as [string, Mode, string];
        return { family, mode, source, through };
      }),
    async cover(taken) {
      guarded(() => taken.forEach(noteOne));
      if (!isDirty) return;
      flushing ??= Promise.resolve().then(flush);
      await flushing;
    },
    close: () => closeSync(handle),
  };
}

function readMarks(file: string): { name: string; through: number }[] {
  try {
    // Creates the file; its folder is flushed too, or a crash could lose the new name.
    closeSync(openSync(file, 'a', 0o600));
    const folder = openSync(dirname(file), 'r');
    fsyncSync(folder);
    closeSync(folder);
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [, number, name] = RECORD.exec(line) ?? [];
        if (Buffer.byteLength(line) !== RECORD_BYTES - 1 || name === undefined) throw new Error('a record is damaged');
        return { name, through: Number(number) };
      });
  } catch (error) {
    if (error instanceof Fault) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw permanent(
      'address_marks_unreadable',
      `${file} cannot be read: ${why}. It keeps a restored database from giving out an address twice. If the database ` +
        'was not restored from a backup since the last start, delete the file; it is made again',
    );
  }
}

// ── Comparing with the database ─────────────────────────────────────────────────────────────────────────────────────

/** How often the server looks whether time has jumped. */
const LOOK_MS = 1_000;

type Parts = Readonly<{
  database: Database;
  marks: AddressMarks;
  clock: Pick<Clock, 'nowMs'>;
  log: Log;
}>;

/**
 * Retires every address that was given out and that the database does not know as given: it was put back from a backup
 * since. Raises an alarm if there are such. Marks what the database gave out and a crash left unmarked.
 */
export async function retireGivenAddresses({ database, marks, clock, log }: Parts): Promise<void> {
  for (const { family, mode, source, through } of marks.all()) {
    const retired = await database.addresses.retire({ family, mode }, source, through);
    if (retired === 0) continue;
    log.warn({ family, mode, retired, through }, 'addresses that were given out before are retired');
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
  await marks.cover(given.flatMap(({ through, ...pool }) => (through === 0 ? [] : { ...pool, index: through - 1 })));
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
