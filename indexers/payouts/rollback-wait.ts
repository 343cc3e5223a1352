/**
 * Keeps new attempts waiting where one that this database does not know may still take effect.
 *
 * Where transactions expire, an attempt that was sent and is in no block is known only to the database and the signer.
 * If both are put back to an earlier state, it can be included until it expires, and nothing on the chain tells about
 * it before. So unless the last run is proved to be the newest, everything that it can have signed must expire first,
 * and must have been read.
 *
 * The proof is a mark that the last run left in this very file system since the machine booted, at most two minutes
 * ago, and that knows no newer signature than the database. A shorter gap could only be a snapshot of the file system
 * that is put back within these minutes, under a running machine.
 * @module
 */
import type { Node } from '../../src/chains/chain.ts';
import { type Fault, transient } from '../../src/core/fault.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import type { RunMark, RunMarks } from './run-mark.ts';

/** How often a mark is left. */
export const BEAT_MS = 10_000;
/** A restart takes less. A longer gap may be anything: a stop, or a machine that was put back to a snapshot. */
const GAP_MS_MAX = 120_000;

export type RollbackWaitParts = Readonly<{
  network: NetworkKey;
  /** The longest time for which an attempt can be included, by the chain's time. */
  lifeMs: number;
  marks: RunMarks;
  chainNode: Pick<Node, 'head'>;
  /** Returns when the database was created: a new one has lost nothing. */
  createdAtMs(): Promise<number>;
  clock: Pick<Clock, 'nowMs'>;
  log: Pick<Log, 'warn'>;
}>;

export interface RollbackWait {
  /** Leaves a mark if it is time; to be called from the start on. @throws Fault of storage and database */
  beat(): Promise<void>;
  /** Notes how far the signer's journal is recorded, before its newest bytes are used. @throws Fault of storage */
  note(journalId: number): void;
  /**
   * Looks whether the wait is over.
   * @param floor the newest block that is final and read, and whose outgoing transfers have been judged
   * @returns why new attempts wait; null when they may be signed
   */
  renew(floor: number): Promise<Fault | null>;
  /** Returns the last answer of `renew`. */
  current(): Fault | null;
}

export function createRollbackWait(parts: RollbackWaitParts): RollbackWait {
  const { network, lifeMs, marks, chainNode, createdAtMs, clock, log } = parts;
  let mark: RunMark | null = null;
  let fault: Fault | null = null;
  /** The block with which everything has expired. */
  let lastNumber: number | null = null;

  function write(next: RunMark): void {
    mark = { ...next, atMs: clock.nowMs() };
    marks.write(mark);
  }

  const isRecent = (atMs: number): boolean => clock.nowMs() >= atMs && clock.nowMs() <= atMs + GAP_MS_MAX;

  function begin(journalId: number, why: string): RunMark {
    lastNumber = null;
    log.warn({ code: 'payouts_rollback_possible', reason: why }, 'new payouts wait until earlier ones have expired');
    return { atMs: clock.nowMs(), journalId, isClear: false, untilMs: null };
  }

  async function open(): Promise<RunMark> {
    const last = marks.read();
    if (last && last !== 'void' && isRecent(last.atMs)) return last;
    // A mark that was copied proves that something was put back, however new the database is.
    if (last === null && isRecent(await createdAtMs()))
      return { atMs: clock.nowMs(), journalId: 0, isClear: true, untilMs: null };
    return begin(0, 'no run has left its mark in the last two minutes');
  }

  function waiting(untilMs: number): Fault {
    return transient(
      'payouts_rollback_possible',
      `Nothing proves that database and signer are those of the last run on ${network}: they may have been put back to ` +
        'an earlier state, and payments that were signed since may be on their way. New payouts wait until all of them ' +
        `have expired and are read: until ${new Date(untilMs).toISOString()} by the chain's time, and some blocks more`,
    );
  }

  return {
    async beat() {
      mark ??= await open();
      // This process itself may have been stopped, and the machine put back, in between.
      if (!isRecent(mark.atMs) && clock.nowMs() > mark.atMs) mark = begin(mark.journalId, 'time has jumped ahead');
      else if (clock.nowMs() < mark.atMs + BEAT_MS && clock.nowMs() > mark.atMs) return;
      write(mark);
    },
    note(journalId) {
      if (!mark || journalId === mark.journalId) return;
      if (journalId < mark.journalId) mark = begin(journalId, `${mark.journalId - journalId} signatures are missing`);
      write({ ...mark, journalId });
    },
    async renew(floor) {
      if (!mark) return fault;
      if (mark.isClear) {
        fault = null;
        return null;
      }
      const head = await chainNode.head();
      const untilMs = mark.untilMs ?? Math.max(head.timeS * 1000, clock.nowMs()) + lifeMs;
      if (mark.untilMs === null) write({ ...mark, untilMs });
      fault = waiting(untilMs);
      if (head.timeS * 1000 >= untilMs) lastNumber ??= head.number;
      if (lastNumber === null || floor < lastNumber) return fault;
      write({ ...mark, isClear: true, untilMs: null });
      fault = null;
      return null;
    },
    current: () => fault,
  };
}
