/**
 * Keeps new attempts waiting where one that this database does not know may still take effect.
 *
 * An attempt that was sent and is in no block is known only to the database and the signer. If both are put back to an
 * earlier state, it can still be included, and nothing on the chain tells about it before. So unless the last run is
 * proved to be the newest, everything that it can have signed must expire first, and must have been read.
 *
 * Where transactions have numbers, they do not expire. A number excludes another transaction, but not a second payment
 * of the same refund with another number. So the nodes must have had time to hear of what is on its way, and all that
 * they show must be final and read.
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

type RollbackWaitParts = Readonly<{
  network: NetworkKey;
  /** `SpendRules.rollbackWaitMs`. */
  lifeMs: number;
  marks: RunMarks;
  chainNode: Pick<Node, 'head' | 'finalized'>;
  /** Where transactions have numbers: says what is on its way and not known here; null if nothing is. */
  findUnknown: (() => Promise<string | null>) | null;
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
  /** Begins to wait, until `renew` finds that everything which is on its way is known here. */
  suspect(): void;
  /** Returns why new attempts wait, as far as it is known. */
  current(): Fault | null;
}

/** How often the nodes are asked what is on its way. */
const ASK_MS_MIN = 5_000;

export function createRollbackWait(parts: RollbackWaitParts): RollbackWait {
  const { network, lifeMs, marks, chainNode, findUnknown, createdAtMs, clock, log } = parts;
  let mark: RunMark | null = null;
  let fault: Fault | null = null;
  /** The block with which everything has expired or been shown. */
  let lastNumber: number | null = null;
  let isSuspicious = false;
  let askedAtMs = Number.NEGATIVE_INFINITY;

  function write(next: RunMark): void {
    mark = { ...next, atMs: clock.nowMs() };
    marks.write(mark);
  }

  const isRecent = (atMs: number): boolean => clock.nowMs() >= atMs && clock.nowMs() <= atMs + GAP_MS_MAX;

  function begin(journalId: number, why: string): RunMark {
    lastNumber = null;
    fault = unproved(network, `New payouts wait: ${why}`);
    log.warn({ code: 'payouts_rollback_possible', reason: why }, 'what may have been signed and lost is waited for');
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

  /** @returns whether the wait is over */
  async function isOver(now: RunMark, unknown: string | null, floor: number): Promise<boolean> {
    const head = await chainNode.head();
    const untilMs = now.untilMs ?? Math.max(head.timeS * 1000, clock.nowMs()) + lifeMs;
    if (now.untilMs === null) write({ ...now, untilMs });
    fault = unproved(network, findUnknown ? shownBy(untilMs) : expiredBy(untilMs));
    if (unknown !== null) {
      fault = onItsWay(network, unknown);
      lastNumber = null;
    } else if (head.timeS * 1000 >= untilMs) {
      // Where the nodes show nothing unknown above their final block, only that one must be read.
      const final = findUnknown && (await chainNode.finalized());
      lastNumber ??= final?.number ?? head.number;
    }
    return lastNumber !== null && floor >= lastNumber;
  }

  return {
    async beat() {
      mark ??= await open();
      // The run before may have ended while it waited.
      if (!mark.isClear) fault ??= unproved(network, 'New payouts wait until that is known');
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
      if (mark.isClear && !isSuspicious) {
        fault = null;
        return null;
      }
      if (findUnknown && clock.nowMs() < askedAtMs + ASK_MS_MIN) return fault;
      const unknown = (await findUnknown?.()) ?? null;
      askedAtMs = clock.nowMs();
      if (mark.isClear) {
        isSuspicious = unknown !== null;
        fault = unknown === null ? null : onItsWay(network, unknown);
        return fault;
      }
      if (!(await isOver(mark, unknown, floor))) return fault;
      write({ ...mark, isClear: true, untilMs: null });
      isSuspicious = false;
      fault = null;
      return null;
    },
    suspect() {
      isSuspicious = true;
      fault ??= onItsWay(network, 'a node has received more transactions of one of our wallets than are known here');
      askedAtMs = Number.NEGATIVE_INFINITY;
    },
    current: () => fault,
  };
}

const waiting = (message: string): Fault => transient('payouts_rollback_possible', message);

const unproved = (network: NetworkKey, rest: string): Fault =>
  waiting(
    `Nothing proves that database and signer are those of the last run on ${network}: they may have been put back to ` +
      `an earlier state, and payments that were signed since may be on their way. ${rest}`,
  );

const expiredBy = (untilMs: number): string =>
  `New payouts wait until all of them have expired and are read: until ${new Date(untilMs).toISOString()} by the ` +
  "chain's time, and some blocks more";

const shownBy = (untilMs: number): string =>
  `New payouts wait until the nodes have had time to hear of them: until ${new Date(untilMs).toISOString()} by the ` +
  "chain's time, and until all that they show is final and read";

const onItsWay = (network: NetworkKey, unknown: string): Fault =>
  waiting(
    `On ${network}, ${unknown}. Database and signer may have been put back to an earlier state. New payouts wait until ` +
      'that is final and read; what it pays is then settled by it. If it never gets into a block because its fee is too ' +
      'low, docs/money-out.md says what to do ("After a gap")',
  );
