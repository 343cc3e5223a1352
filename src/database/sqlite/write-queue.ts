/**
 * The write transactions of one process: one after the other, in the order in which they were asked for.
 *
 * SQLite's own wait for another process's write blocks the thread. Here a write that finds the lock taken waits in a
 * queue, while the thread goes on serving; and it takes turns with other processes (`write-turn.ts`).
 * @module
 */
import type Sqlite from 'better-sqlite3';
import { invariant } from '../../core/fault.ts';
import { systemClock } from '../../lib/clock.ts';
import { guarded, isBusy, lockWaitFault } from './storage-fault.ts';
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
/** A process that keeps the turn for longer than this is no longer waited for: it may be suspended. */
const TURN_WAIT_MS_MAX = 250;
/** How long `close` may block the thread for writes that still wait. */
const CLOSE_WAIT_MS = 500;

/** What one transaction took: waiting for its turn and the lock, holding the lock, and rows inserted or changed. */
export type WriteMeasure = Readonly<{ waitedMs: number; heldMs: number; rows: number }>;

export type WriteQueue = Readonly<{
  /**
   * Runs `work` in one BEGIN IMMEDIATE transaction: at once if nothing waits and the lock is free.
   * @param waitMs how long it may wait; then it is never run
   * @throws Fault transient `storage_unavailable`
   */
  write<T>(work: () => T, waitMs?: number): Promise<T>;
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

export type WriteQueueOptions = Readonly<{
  file: string;
  /** How long a write waits, unless it says otherwise. */
  waitMs: number;
  /** SQLite's own timeout, for everything but the beginning of a write. */
  busyTimeoutMs: number;
  onWrite?: (measure: WriteMeasure) => void;
}>;

/** @throws SqliteError if the file of the turn cannot be opened */
export function createWriteQueue(client: Sqlite.Database, options: WriteQueueOptions): WriteQueue {
  const { file, busyTimeoutMs, onWrite } = options;
  const turn = openWriteTurn(file, busyTimeoutMs);
  const inTransaction = client.transaction((work: () => unknown) => work());
  const changedRows = client.prepare('SELECT total_changes()').pluck();
  /** In order; a Set, so that any of them can leave. */
  const waiting = new Set<Job>();
  const closing = new AbortController();
  let isPumping = false;
  let lastHeldMs = 0;
  /** When the first write in the queue was first tried. */
  let firstTriedAtMs = 0;
  /** Whether the last wait for the turn was in vain. */
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
    const held = { sinceMs: 0, rows: 0 };
    client.pragma(`busy_timeout = ${lockWaitMs}`);
    try {
      const result = inTransaction.immediate(() => {
        turn.release();
        held.sinceMs = performance.now();
        const before = Number(changedRows.get());
        const done = work();
        held.rows = Number(changedRows.get()) - before;
        return done;
      });
      return { result };
    } catch (error) {
      if (held.sinceMs === 0 && isBusy(error)) return null;
      turn.release();
      throw error;
    } finally {
      client.pragma(`busy_timeout = ${busyTimeoutMs}`);
      const { sinceMs, rows } = held;
      if (sinceMs > 0) {
        lastHeldMs = performance.now() - sinceMs;
        onWrite?.({ waitedMs: sinceMs - askedAtMs, heldMs: lastHeldMs, rows });
      }
    }
  }

  /** Tries a write that waits. @returns whether it is done, or failed for good */
  function run(job: Job, lockWaitMs = 0): boolean {
    try {
      const done = guarded(file, () => attempt(job.work, job.askedAtMs, lockWaitMs));
      if (!done) return false;
      waiting.delete(job);
      job.resolve(done.result);
    } catch (error) {
      waiting.delete(job);
      job.reject(error);
    }
    return true;
  }

  function refuseExpired(): void {
    const nowMs = performance.now();
    for (const job of waiting) {
      if (nowMs - job.askedAtMs < job.waitMs) continue;
      waiting.delete(job);
      job.reject(lockWaitFault(file));
    }
  }

  /** Runs what waits until nothing does, one write in each turn of the event loop. */
  async function pump(): Promise<void> {
    for (;;) {
      refuseExpired();
      const [first] = waiting;
      if (!first || closing.signal.aborted) break;
      if (run(first)) {
        firstTriedAtMs = performance.now();
        await new Promise<void>((resolve) => setImmediate(resolve));
      } else {
        const isShort = performance.now() - firstTriedAtMs < PAUSED_SHORT_MS_MAX;
        const pauseMs = isShort ? Math.max(PAUSE_MS_MIN, lastHeldMs / 4) : PAUSE_MS_MAX;
        await systemClock.sleep(Math.min(pauseMs, PAUSE_MS_MAX), closing.signal);
      }
    }
    isPumping = false;
    if (!closing.signal.aborted) turn.release();
  }

  return {
    async write<T>(work: () => T, waitMs = options.waitMs) {
      invariant(!client.inTransaction, 'a write is a transaction of its own');
      const askedAtMs = performance.now();
      if (waiting.size === 0) {
        const done = guarded(file, () => attempt(work, askedAtMs));
        if (done) return done.result as T;
        firstTriedAtMs = askedAtMs;
      }
      if (waiting.size >= WAITING_MAX) throw lockWaitFault(file);
      return new Promise<T>((resolve, reject) => {
        waiting.add({ work, askedAtMs, waitMs, resolve: resolve as (result: unknown) => void, reject });
        if (isPumping) return;
        isPumping = true;
        void pump();
      });
    },
    close() {
      closing.abort();
      refuseExpired();
      for (const job of waiting) if (!run(job, CLOSE_WAIT_MS)) break;
      for (const job of waiting) job.reject(lockWaitFault(file));
      waiting.clear();
      turn.close();
    },
  };
}
