/**
 * The write transactions of one process: one after the other, in the order in which they were asked for.
 *
 * SQLite's own wait for another process's write blocks the thread. Here a write that finds the lock taken waits in a
 * queue, while the thread goes on serving; and it takes turns with other processes (`write-turn.ts`).
 */
import type Sqlite from 'better-sqlite3';
import { invariant } from '../../core/fault.ts';
import { systemClock } from '../../lib/clock.ts';
import { asStorageFault, guarded, isBusy, lockWaitFault } from './storage-fault.ts';
import { openWriteTurn } from './write-turn.ts';

/**
 * Rows that one transaction should change at most, some 30 ms of work: everybody else waits that long. What may concern
 * more rows is done in slices.
 */
export const WRITE_ROWS_MAX = 2_000;
/** Writes that may wait at once; more are refused. */
const WAITING_MAX = 1_000;
/**
 * The pause between two tries is a quarter of what this process's last write took, within these bounds: whoever writes
 * little gets in more often than whoever writes much. After a while another process holds the lock for long, and all
 * pause for longer.
 */
const PAUSE_MS_MIN = 1;
const PAUSE_MS_MAX = 20;
const PAUSED_SHORT_MS_MAX = 1_000;
/**
 * Writes that waited together are committed together, up to so many rows, and for as long as a share of what the first
 * of them has waited, within these bounds. A process gets in once for every write of each other process. With a fixed
 * length, a queue that grows beside slow writers would never become shorter.
 */
const GROUP_MS_MIN = 20;
const GROUP_MS_MAX = 250;
const GROUP_WAIT_SHARE = 1 / 4;
const GROUP_ROWS_MAX = 1_000;
/** Their callers go on before the event loop turns again. */
const GROUP_WRITES_MAX = 100;
/** A process that keeps the turn for longer than this is no longer waited for: it may be suspended. */
const TURN_WAIT_MS_MAX = 250;
/** How long `close` may block the thread for writes that still wait. */
const CLOSE_WAIT_MS = 500;

/**
 * The measure of one transaction, which may contain several writes that waited together: the longest wait for it, how
 * long it held the lock, and rows inserted or changed.
 */
export type WriteMeasure = Readonly<{ waitedMs: number; heldMs: number; rows: number }>;

export type WriteQueue = Readonly<{
  /**
   * Runs `work` in a BEGIN IMMEDIATE transaction, wholly or not at all: at once if nothing waits and the lock is free.
   * @param options `waitMs`: how long it may wait for others; then it is never run. `isGrouped`: runs it in the next
   * turn of the event loop, in one transaction with all that was asked for in this one
   * @throws Fault transient `storage_unavailable`
   */
  write<T>(work: () => T, options?: Readonly<{ waitMs?: number; isGrouped?: boolean }>): Promise<T>;
  /** Runs what still waits, if the lock is free soon, and refuses the rest. Nothing may be written afterwards. */
  close(): void;
}>;

type Job = Readonly<{
  work: () => unknown;
  askedAtMs: number;
  waitMs: number;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}>;

type WriteQueueOptions = Readonly<{
  file: string;
  /** How long a write waits, unless it says otherwise. */
  waitMs: number;
  /** SQLite's own timeout, for everything but the beginning of a write. */
  busyTimeoutMs: number;
  /** Called in each transaction, before it is committed. */
  beforeCommit?: () => void;
  onWrite?: (measure: WriteMeasure) => void;
}>;

/** @throws SqliteError if the file of the turn cannot be opened */
export function createWriteQueue(client: Sqlite.Database, options: WriteQueueOptions): WriteQueue {
  const { file, busyTimeoutMs, beforeCommit, onWrite } = options;
  const turn = openWriteTurn(file, busyTimeoutMs);
  const inTransaction = client.transaction((work: () => unknown) => work());
  const changedRows = client.prepare('SELECT total_changes()').pluck();
  /** In order; a Set, so that any of them can leave. */
  const waiting = new Set<Job>();
  const closing = new AbortController();
  let isPumping = false;
  let lastHeldMs = 0;
  /** Rows that this connection had changed when its last transaction ended. */
  let changedBefore = Number(changedRows.get());
  /** When the first write in the queue was first tried. */
  let firstTriedAtMs = 0;
  /** True if the last wait for the turn was in vain. */
  let isTurnStuck = false;

  /**
   * Tries to run `work` now.
   * @param lockWaitMs how long it may block the thread for the lock; above 0, the turn is not asked for
   * @returns null if another process has the turn or the lock
   */
  function attempt(work: () => unknown, askedAtMs: number, lockWaitMs = 0): Readonly<{ result: unknown }> | null {
    const hasTurn = turn.take();
    const isOverdue = waiting.size > 0 && performance.now() - firstTriedAtMs > TURN_WAIT_MS_MAX;
    if (!hasTurn && !isOverdue && !isTurnStuck && lockWaitMs === 0) return null;
    isTurnStuck = !hasTurn;
    let sinceMs = 0;
    client.exec(`PRAGMA busy_timeout = ${lockWaitMs}`);
    try {
      const result = inTransaction.immediate(() => {
        turn.release();
        sinceMs = performance.now();
        const done = work();
        beforeCommit?.();
        return done;
      });
      return { result };
    } catch (error) {
      if (sinceMs === 0 && isBusy(error)) return null;
      turn.release();
      throw error;
    } finally {
      client.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
      if (sinceMs > 0) {
        lastHeldMs = performance.now() - sinceMs;
        const changed = Number(changedRows.get());
        onWrite?.({ waitedMs: sinceMs - askedAtMs, heldMs: lastHeldMs, rows: changed - changedBefore });
        changedBefore = changed;
      }
    }
  }

  /**
   * Tries to run what waits, in one transaction as far as it is short: each write is a savepoint of its own, and done
   * once all are committed. @returns whether something has left the queue
   */
  function runGroup(lockWaitMs = 0): boolean {
    const [first] = waiting;
    if (!first) return false;
    const ended: (() => void)[] = [];
    const tried: Job[] = [];
    const group = (): void => {
      const nowMs = performance.now();
      const shareMs = (nowMs - first.askedAtMs) * GROUP_WAIT_SHARE;
      const untilMs = nowMs + Math.min(GROUP_MS_MAX, Math.max(GROUP_MS_MIN, shareMs));
      const isAlone = waiting.size === 1;
      for (const job of waiting) {
        tried.push(job);
        try {
          // One write alone needs no savepoint, for which SQLite copies each page that changes.
          const result = isAlone ? job.work() : inTransaction(job.work);
          ended.push(() => job.resolve(result));
        } catch (error) {
          // Some errors (a full disk) end the whole transaction.
          if (isAlone || !client.inTransaction) throw error;
          ended.push(() => reject(job, error));
        }
        if (isAlone) return;
        const rows = Number(changedRows.get()) - changedBefore;
        if (tried.length >= GROUP_WRITES_MAX || rows >= GROUP_ROWS_MAX || performance.now() >= untilMs) return;
      }
    };
    try {
      if (!attempt(group, first.askedAtMs, lockWaitMs)) return false;
    } catch (error) {
      // Nothing of it was saved.
      for (const job of tried.length > 0 ? tried : [first]) reject(job, error);
      return true;
    }
    for (const job of tried) waiting.delete(job);
    for (const end of ended) end();
    return true;
  }

  function reject(job: Job, error: unknown): void {
    waiting.delete(job);
    job.reject(asStorageFault(error, file));
  }

  function refuseExpired(): void {
    const nowMs = performance.now();
    for (const job of waiting) {
      if (nowMs - job.askedAtMs < job.waitMs) continue;
      reject(job, lockWaitFault(file));
    }
  }

  /** Runs what waits until nothing does, one transaction in each turn of the event loop. */
  async function pump(): Promise<void> {
    for (;;) {
      if (waiting.size === 0 || closing.signal.aborted) break;
      if (runGroup()) {
        firstTriedAtMs = performance.now();
        await new Promise<void>((resolve) => setImmediate(resolve));
      } else {
        // Only after a try: the thread may have been held up for as long as a write may wait.
        refuseExpired();
        if (waiting.size === 0) break;
        const isShort = performance.now() - firstTriedAtMs < PAUSED_SHORT_MS_MAX;
        const pauseMs = isShort ? Math.max(PAUSE_MS_MIN, lastHeldMs / 4) : PAUSE_MS_MAX;
        await systemClock.sleep(Math.min(pauseMs, PAUSE_MS_MAX), closing.signal);
      }
    }
    isPumping = false;
    if (!closing.signal.aborted) turn.release();
  }

  return {
    async write<T>(work: () => T, { waitMs = options.waitMs, isGrouped = false } = {}) {
      invariant(!client.inTransaction, 'a write is a transaction of its own');
      const askedAtMs = performance.now();
      if (waiting.size === 0) {
        const done = isGrouped ? null : guarded(file, () => attempt(work, askedAtMs));
        if (done) return done.result as T;
        firstTriedAtMs = askedAtMs;
      }
      if (waiting.size >= WAITING_MAX) throw lockWaitFault(file);
      return new Promise<T>((resolve, reject) => {
        waiting.add({ work, askedAtMs, waitMs, resolve: resolve as (result: unknown) => void, reject });
        if (isPumping) return;
        isPumping = true;
        if (isGrouped) setImmediate(() => void pump());
        else void pump();
      });
    },
    close() {
      closing.abort();
      refuseExpired();
      while (runGroup(CLOSE_WAIT_MS));
      for (const job of waiting) reject(job, lockWaitFault(file));
      turn.close();
    },
  };
}
