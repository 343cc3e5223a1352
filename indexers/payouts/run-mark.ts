/**
 * What the last run of a network's payouts left in a file beside the database: when it last ran, and how far it knew
 * the signer's journal. If database and signer are put back to an earlier state, the mark tells, or is missing itself.
 *
 * A mark counts only if the file is the very one that a run wrote since the machine booted: the time of its last
 * change, which no copy keeps and no program can set, must be that of the mark.
 * @module
 */
import { closeSync, constants, existsSync, fsyncSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { transient } from '../../src/core/fault.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';

/** The time of a file's last change may differ from the process's clock by this much. */
const CHANGE_MS_MAX = 1_000;
const RECORD_BYTES = 512;
/** A random id of each boot. Other systems than Linux have none; there, a boot is noticed by the time it takes. */
const BOOT_ID = '/proc/sys/kernel/random/boot_id';

export type RunMark = Readonly<{
  atMs: number;
  /** The newest entry of the signer's journal that was recorded in the database. */
  journalId: number;
  /** Whether new attempts were signed, or had to wait. */
  isClear: boolean;
  /** Until when they had to wait, by the chain's time, if that was known. */
  untilMs: number | null;
}>;

export type RunMarks = Readonly<{
  /** Returns the newest mark; 'void' if it does not count, null if no run has left one. */
  read(): RunMark | 'void' | null;
  /**
   * Replaces the mark. Returns after it is on the disk.
   * @throws Fault transient `storage_unavailable`
   */
  write(mark: RunMark): void;
}>;

/** Returns the path of a network's mark. */
export const runMarkFile = (dataDir: string, network: NetworkKey): string =>
  join(dataDir, `payouts-${network.replace(':', '-')}.mark`);

function bootId(): string {
  try {
    return readFileSync(BOOT_ID, 'utf8').trim();
  } catch {
    return '';
  }
}

/** @param boot the id of this boot of the machine */
export function openRunMarks(file: string, boot: string = bootId()): RunMarks {
  return {
    read() {
      try {
        const { boot: of, ...mark } = JSON.parse(readFileSync(file, 'utf8')) as RunMark & { boot: string };
        const isComplete = Number.isSafeInteger(mark.atMs) && Number.isSafeInteger(mark.journalId);
        const changedMs = Math.abs(statSync(file).ctimeMs - mark.atMs);
        return isComplete && of === boot && changedMs <= CHANGE_MS_MAX ? mark : 'void';
      } catch {
        return existsSync(file) ? 'void' : null;
      }
    },
    write(mark) {
      try {
        const text = `${JSON.stringify({ ...mark, boot })}`.padEnd(RECORD_BYTES - 1);
        // In place, and flushed afterwards: a new file would be as old as the flush takes.
        const handle = openSync(file, constants.O_WRONLY | constants.O_CREAT, 0o600);
        try {
          writeSync(handle, `${text}\n`, 0);
          fsyncSync(handle);
        } finally {
          closeSync(handle);
        }
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw transient('storage_unavailable', `${file} cannot be written: ${why}. Nothing is paid out meanwhile`);
      }
    },
  };
}
