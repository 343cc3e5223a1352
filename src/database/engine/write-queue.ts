/**
 * Runs the write transactions of one process one after the other, in the order of their calls.
 *
 * SQLite's own wait for another process's write blocks the thread. Here a write waits in a queue while the lock is
 * taken, and the thread goes on serving. Processes take turns; see "Turns among processes".
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import Sqlite from 'better-sqlite3';
import { invariant } from '../../core/fault.ts';
import { systemClock } from '../../lib/clock.ts';
import { asStorageFault, isBusy, lockWaitFault } from './connection.ts';

/**
 * Most rows that one transaction should change, some 30 ms of work. All other writers wait that long. More rows are
 * changed in slices.
 */
export const WRITE_ROWS_MAX = 2_000;
/** Writes that may wait at once. More are refused. */
const WAITING_MAX = 1_000;
/**
 * The pause between two tries, as a share of the time of this process's last write. A process with short writes thus
 * gets the lock more often than one with long writes.
 */
const PAUSE_SHARE = 1 / 4;
/** Shortest pause. */
const PAUSE_MS_MIN = 1;
/** Longest pause, and every pause once the lock has been taken for long. */
const PAUSE_MS_MAX = 20;
/** Wait from which on the lock counts as taken for long. */
const PAUSED_SHORT_MS_MAX = 1_000;
/**
 * Writes that waited together are committed together, as a group. It may take this share of the time that its first
 * write has waited. With a fixed time, a queue beside slow writers would never become shorter, because a process gets
 * the lock once for every write of each other process.
 */
const GROUP_WAIT_SHARE = 1 / 4;
/** Least time of a group. */
const GROUP_MS_MIN = 20;
/** Most time of a group. */
const GROUP_MS_MAX = 250;
/** Changed rows after which a group ends. */
const GROUP_ROWS_MAX = 1_000;
/** Most writes of a group. All their callers continue before the event loop turns again. */
const GROUP_WRITES_MAX = 100;
/** A process that keeps the turn for longer may be suspended, and is not waited for. */
const TURN_WAIT_MS_MAX = 250;

/**
 * The measure of one transaction, which may be a group: its longest wait, the time that it held the lock, and the rows
 * that it inserted or changed.
 */
export type WriteMeasure = Readonly<{ waitedMs: number; heldMs: number; rows: number }>;

export type WriteQueue = Readonly<{
  /**
   * Runs `work` in a BEGIN IMMEDIATE transaction, wholly or not at all. It runs at once if nothing waits and the lock
   * is free.
   * @param options `waitMs`: longest wait for others, after which the write is refused and never runs. `isGrouped`: the
   * write runs in the next turn of the event loop, in one transaction with all other writes of this turn
   * @throws Fault transient `storage_unavailable`
   */
  write<T>(work: () => T | Promise<T>, options?: Readonly<{ waitMs?: number; isGrouped?: boolean }>): Promise<T>;
  /** Refuses the writes that still wait, and all later ones. */
  close(): void;
}>;

type Job = Readonly<{
  work: () => unknown;
  askedAtMs: number;
  waitMs: number;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}>;

export type WriteHooks = Readonly<{
  /** Called before the commit of each write transaction. If it throws, the transaction is rolled back. */
  beforeCommit?: () => void;
  /** Called after each write transaction with its measure. */
  onWrite?: (measure: WriteMeasure) => void;
}>;

type WriteQueueOptions = WriteHooks &
  Readonly<{
    file: string;
    /** Longest wait of a write without `waitMs`, and SQLite's own timeout for everything else. */
    busyTimeoutMs: number;
  }>;

/** Returns a function that takes the write lock without waiting, or returns false if another process has it. */
function createBegin(client: Sqlite.Database, busyTimeoutMs: number): () => boolean {
  const begin = client.prepare('BEGIN IMMEDIATE');
  return () => {
    client.exec('PRAGMA busy_timeout = 0');
    try {
      begin.run();
      return true;
    } catch (error) {
      if (isBusy(error)) return false;
      throw error;
    } finally {
      client.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    }
  };
}

/** Returns a function that runs one write of a group, wholly or not at all. */
function createSavepoint(client: Sqlite.Database): (work: Job['work']) => Promise<unknown> {
  const save = client.prepare('SAVEPOINT job');
  const keep = client.prepare('RELEASE job');
  const undo = client.prepare('ROLLBACK TO job');
  return async (work) => {
    save.run();
    try {
      const result = await work();
      keep.run();
      return result;
    } catch (error) {
      if (client.inTransaction) {
        undo.run();
        keep.run();
      }
      throw error;
    }
  };
}

/** @throws SqliteError if the file of the turn cannot be opened */
export function createWriteQueue(client: Sqlite.Database, turns: Turns, options: WriteQueueOptions): WriteQueue {
  const { file, busyTimeoutMs, beforeCommit, onWrite } = options;
  const turn = openWriteTurn(file, busyTimeoutMs);
  const beginNow = createBegin(client, busyTimeoutMs);
  const commit = client.prepare('COMMIT');
  const rollback = client.prepare('ROLLBACK');
  const runSaved = createSavepoint(client);
  const changedRows = client.prepare('SELECT total_changes()').pluck();
  /** In order of the calls. In a Set any of them can leave at once. */
  const waiting = new Set<Job>();
  const closing = new AbortController();
  let isPumping = false;
  let lastHeldMs = 0;
  /** The number of rows that this connection had changed at the end of its last transaction. */
  let changedBefore = Number(changedRows.get());
  /** Time of the first try of the first write in the queue. */
  let firstTriedAtMs = 0;
  /** Whether the last wait for the turn was in vain. */
  let isTurnStuck = false;

  /** Runs `work` in a transaction of its own. @returns null if another process has the turn or the lock */
  const attempt = (work: () => unknown, askedAtMs: number): Promise<Readonly<{ result: unknown }> | null> =>
    turns.body(async () => {
      const hasTurn = turn.take();
      const isOverdue = waiting.size > 0 && performance.now() - firstTriedAtMs > TURN_WAIT_MS_MAX;
      if (!hasTurn && !isOverdue && !isTurnStuck) return null;
      isTurnStuck = !hasTurn;
      try {
        if (!beginNow()) return null;
      } catch (error) {
        turn.release();
        throw error;
      }
      turn.release();
      const sinceMs = performance.now();
      try {
        const result = await work();
        beforeCommit?.();
        commit.run();
        return { result };
      } catch (error) {
        // Some errors, such as a full disk, end the transaction by themselves.
        if (client.inTransaction) rollback.run();
        throw error;
      } finally {
        lastHeldMs = performance.now() - sinceMs;
        const changed = Number(changedRows.get());
        onWrite?.({ waitedMs: sinceMs - askedAtMs, heldMs: lastHeldMs, rows: changed - changedBefore });
        changedBefore = changed;
      }
    });

  /**
   * Tries to run the next group in one transaction. Each write has a savepoint of its own, and its caller continues
   * after the commit.
   * @returns whether something has left the queue
   */
  async function runGroup(): Promise<boolean> {
    const [first] = waiting;
    if (!first) return false;
    const ended: (() => void)[] = [];
    const tried: Job[] = [];
    const group = async (): Promise<void> => {
      const nowMs = performance.now();
      const shareMs = (nowMs - first.askedAtMs) * GROUP_WAIT_SHARE;
      const untilMs = nowMs + Math.min(GROUP_MS_MAX, Math.max(GROUP_MS_MIN, shareMs));
      const isAlone = waiting.size === 1;
      for (const job of waiting) {
        tried.push(job);
        try {
          // A write that is alone needs no savepoint, for which SQLite would copy each changed page.
          const result = isAlone ? await job.work() : await runSaved(job.work);
          ended.push(() => job.resolve(result));
        } catch (error) {
          if (isAlone || !client.inTransaction) throw error;
          ended.push(() => reject(job, error));
        }
        if (isAlone) return;
        const rows = Number(changedRows.get()) - changedBefore;
        if (tried.length >= GROUP_WRITES_MAX || rows >= GROUP_ROWS_MAX || performance.now() >= untilMs) return;
      }
    };
    try {
      if (!(await attempt(group, first.askedAtMs))) return false;
    } catch (error) {
      // The whole group was rolled back.
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

  /** Runs groups until nothing waits, one in each turn of the event loop. */
  async function pump(): Promise<void> {
    for (;;) {
      if (waiting.size === 0 || closing.signal.aborted) break;
      if (await runGroup()) {
        firstTriedAtMs = performance.now();
        if (waiting.size > 0) await new Promise<void>((resolve) => setImmediate(resolve));
      } else {
        // Writes expire only after a try, because the thread may have been held up for the whole of their wait.
        refuseExpired();
        if (waiting.size === 0) break;
        const isShort = performance.now() - firstTriedAtMs < PAUSED_SHORT_MS_MAX;
        const pauseMs = isShort ? Math.max(PAUSE_MS_MIN, lastHeldMs * PAUSE_SHARE) : PAUSE_MS_MAX;
        await systemClock.sleep(Math.min(pauseMs, PAUSE_MS_MAX), closing.signal);
      }
    }
    isPumping = false;
    if (!closing.signal.aborted) turn.release();
  }

  return {
    async write<T>(work: () => T | Promise<T>, { waitMs = busyTimeoutMs, isGrouped = false } = {}) {
      invariant(!turns.isInside(), 'a write is a transaction of its own');
      const askedAtMs = performance.now();
      if (waiting.size >= WAITING_MAX || closing.signal.aborted) throw lockWaitFault(file);
      return new Promise<T>((resolve, reject) => {
        waiting.add({ work, askedAtMs, waitMs, resolve: resolve as (result: unknown) => void, reject });
        if (isPumping) return;
        isPumping = true;
        firstTriedAtMs = askedAtMs;
        if (isGrouped) setImmediate(() => void pump());
        else void pump();
      });
    },
    close() {
      closing.abort();
      for (const job of waiting) reject(job, lockWaitFault(file));
      turn.close();
    },
  };
}

// ── Turns among processes ────────────────────────────────────────────────────────────────────────────────────────────
// SQLite has no queue, so a process that writes back to back can keep the write lock from all others. Therefore each
// process takes the turn before it writes, keeps it while it waits for the write lock, and releases it once it has the
// lock. While a process waits with the turn, no other one begins a second write. The turn is SQLite's lock on a small
// file of its own, which the system releases when the process dies.

/**
 * Opens the file beside the database, and creates it if missing.
 * @param busyTimeoutMs longest wait for another process that creates it
 * @throws SqliteError
 */
export function openWriteTurn(databaseFile: string, busyTimeoutMs: number) {
  const client = new Sqlite(`${databaseFile}-turn`, { timeout: busyTimeoutMs });
  let isHeld = false;
  try {
    // An empty file would be initialised by each BEGIN IMMEDIATE.
    if (client.pragma('user_version', { simple: true }) === 0) client.pragma('user_version = 1');
    client.pragma('busy_timeout = 0');
  } catch (error) {
    client.close();
    throw error;
  }
  const begin = client.prepare('BEGIN IMMEDIATE');
  const end = client.prepare('ROLLBACK');
  return {
    /** Takes the turn without waiting. @returns false if another process has it */
    take(): boolean {
      if (isHeld) return true;
      try {
        begin.run();
        isHeld = true;
        return true;
      } catch (error) {
        // The turn only makes waiting fair. If its file cannot be used, the write lock alone decides.
        return !isBusy(error);
      }
    },
    /** Releases the turn, if it was taken. */
    release(): void {
      if (!isHeld) return;
      isHeld = false;
      end.run();
    },
    close: () => void client.close(),
  };
}

// ── Turns of bodies ──────────────────────────────────────────────────────────────────────────────────────────────────
// A process has one connection, and a transaction's body has it alone from begin to end. Each statement belongs to a
// body, which waits for nothing but its statements. SQLite answers each at once, so the whole body runs in one turn of
// the event loop.

type Body = { isOpen: boolean };

export type Turns = ReturnType<typeof createTurns>;

export function createTurns() {
  const bodies = new AsyncLocalStorage<Body>();
  let last: Promise<unknown> = Promise.resolve();

  async function alone<T>(run: () => Promise<T>): Promise<T> {
    const body: Body = { isOpen: true };
    const late = setImmediate(() => {
      throw new Error('a body of a transaction waits for something else than its statements');
    });
    try {
      return await bodies.run(body, run);
    } finally {
      clearImmediate(late);
      body.isOpen = false;
    }
  }

  /** Whether the caller is within a body. */
  const isInside = (): boolean => bodies.getStore()?.isOpen === true;

  return {
    /** Refuses a statement outside of a body. */
    checkInside: () => invariant(isInside(), 'a statement belongs to a body, which waits for it'),
    /** Runs a body alone. It may wait for its own statements only. */
    body<T>(run: () => Promise<T>): Promise<T> {
      const done = last.then(() => alone(run));
      last = done.catch(() => {});
      return done;
    },
    isInside,
  };
}
