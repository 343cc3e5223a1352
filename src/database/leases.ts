/**
 * Leases: jobs that one process does at a time, on any machine. A holder renews its lease. If it has not done so for
 * `LEASE_MS` by the database's clock, another process may take the lease with a higher fence. Each write of a holder
 * compares its fence in its own transaction, so those of the old holder are refused after any pause.
 */
import { Fault, transient } from '../core/fault.ts';
import type { Clock } from '../lib/clock.ts';
import { every } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';
import type { Db } from './engine/open.ts';
import { changeRows, findRow, findRows } from './engine/rows.ts';
import { leases } from './tables.ts';

/** Lifetime of a lease. A holder that was silent for longer is dead or paused. */
export const LEASE_MS = 10_000;

/** Returns the name of the job of following a network. */
export const indexerLease = (network: string): string => `indexer ${network}`;
/** The job of the work that one server does for the whole installation. */
export const CHORES = 'chores';
/** The job of the nightly comparison. */
export const COMPARISON = 'comparison';

/** A lease as its holder knows it. */
export type HeldLease = Readonly<{ name: string; fence: number }>;

/** A request for a lease. `isBack`: the holder may have been restarted, and takes a lease of its own name at once. */
export type LeaseWish = Readonly<{ name: string; holder: string; isBack: boolean }>;

export function leaseCommands(db: Db) {
  const { client } = db;
  const save = client.prepare(
    `INSERT INTO leases (name, holder, fence, since_ms, until_ms) VALUES (:name, :holder, :fence, :nowMs, :untilMs)
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, fence = excluded.fence, since_ms = excluded.since_ms,
       until_ms = excluded.until_ms`,
  );
  const all = 'ORDER BY name';

  /** Returns the fence of a free lease, or 0 if it was never taken; null if another process holds it. */
  async function freeFence({ name, holder, isBack }: LeaseWish): Promise<number | null> {
    const row = await findRow(db, leases, { name });
    if (!row) return 0;
    const isFree = row.untilMs <= (await db.nowMs()) || (isBack && row.holder === holder);
    return isFree ? row.fence : null;
  }

  return {
    /** Takes a lease if nobody else holds it. @returns its fence; null if another process does */
    async take(wish: LeaseWish): Promise<number | null> {
      // Standbys look often, and need no write for that.
      if ((await db.read(() => freeFence(wish))) === null) return null;
      return db.write(async () => {
        const last = await freeFence(wish);
        if (last === null) return null;
        const nowMs = await db.nowMs();
        const { name, holder } = wish;
        await save.run({ name, holder, fence: last + 1, nowMs, untilMs: nowMs + LEASE_MS });
        return last + 1;
      });
    },
    /** Renews a lease. @returns false if another process has taken it */
    async renew({ name, fence }: HeldLease): Promise<boolean> {
      return db.write(
        async () => (await changeRows(db, leases, { name, fence }, { untilMs: (await db.nowMs()) + LEASE_MS })) === 1,
      );
    },
    /** Lets others take a lease at once, if it is still held. */
    async letGo({ name, fence }: HeldLease): Promise<void> {
      await db.write(() => changeRows(db, leases, { name, fence }, { untilMs: 0 }));
    },
    /** Returns all leases, held or not, with the time since each was taken. */
    async list() {
      return db.read(async () => {
        const [rows, nowMs] = [await findRows(db, leases, all), await db.nowMs()];
        return rows.map(({ name, holder, fence, sinceMs, untilMs }) => ({
          name,
          holder,
          fence,
          isHeld: untilMs > nowMs,
          ageMs: Math.max(0, nowMs - sinceMs),
        }));
      });
    },
  };
}

// ── Writes of a holder ───────────────────────────────────────────────────────────────────────────────────────────────

/** The code of the refusal of a write, once another process has the lease. Nothing of the write was saved. */
const LEASE_LOST = 'lease_lost';

/**
 * Returns the same database, whose writes are refused once another process has taken the lease. Each write locks the
 * lease's row until its commit, so that the lease is not taken in between.
 * @param onLost called when a write was refused
 */
export function fenced<D extends Db>(db: D, { name, fence }: HeldLease, onLost: () => void): D {
  const current = db.client.values('SELECT fence FROM leases WHERE name = ? /* lock */');
  return {
    ...db,
    async write(work, options) {
      try {
        return await db.write(async () => {
          if ((await current.get(name)) !== fence) throw lost(name);
          return work();
        }, options);
      } catch (error) {
        if (isLeaseLost(error)) onLost();
        throw error;
      }
    },
  };
}

const isLeaseLost = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === LEASE_LOST;

const lost = (name: string) => transient(LEASE_LOST, `Another process does "${name}" now; this write was refused.`);

// ── Work of a holder ─────────────────────────────────────────────────────────────────────────────────────────────────
// A process waits as a standby until the lease is free, works, and waits again after a loss.

/** Interval of renewals. A lease survives two that fail. */
const RENEW_MS = LEASE_MS / 4;
/** Interval in which a standby tries to take the lease. */
const LOOK_MS = 1_000;

/** A database with leases, which can refuse the writes of a holder that lost one. */
type Leased<D> = Readonly<{
  leases: Pick<ReturnType<typeof leaseCommands>, 'take' | 'renew' | 'letGo'>;
  fenced(held: HeldLease, onLost: () => void): D;
}>;

type LeaseParts<D> = Readonly<{
  database: D;
  /** The job, such as `chores`. */
  name: string;
  /** See `lib/holder.ts`. */
  holder: string;
  clock: Clock;
  log: Log;
}>;

/**
 * The work of a holder. It ends soon after `signal` aborts, which it does with the caller's signal and when the lease
 * is lost.
 */
type LeasedWork<D, T> = (database: D, signal: AbortSignal) => Promise<T>;

/**
 * Does work whenever this process holds the lease, until the work ends by itself or the signal aborts. The database of
 * the work refuses every write once another process has taken the lease.
 * @returns the result of the work; null if the signal came while another process held the lease
 * @throws the errors of the work, except those that follow from the loss of the lease
 */
export async function underLease<D extends Leased<D>, T>(
  parts: LeaseParts<D>,
  signal: AbortSignal,
  work: LeasedWork<D, T>,
): Promise<T | null> {
  const { name, holder, clock, log } = parts;
  // A restarted process need not wait for its own lease. After a loss, another process has the same name.
  for (let isBack = true; ; isBack = false) {
    const fence = await takeWhenFree(parts, isBack, signal);
    if (fence === null) return null;
    log.info({ lease: name, holder, fence }, 'this process has the lease');
    const turn = await holdDuring(parts, fence, signal, work);
    if (!turn.isLost) return turn.result;
    log.warn({ lease: name, holder, fence, code: 'lease_lost' }, 'another process has taken the lease; this one waits');
    await clock.sleep(LOOK_MS, signal);
  }
}

/** @returns the fence; null if the signal came first */
async function takeWhenFree<D extends Leased<D>>(
  { database, name, holder, clock, log }: LeaseParts<D>,
  isBack: boolean,
  signal: AbortSignal,
): Promise<number | null> {
  let [fence, isWaiting]: [number | null, boolean] = [null, false];
  const look = async () => {
    fence = await database.leases.take({ name, holder, isBack });
    if (fence !== null) return 'done';
    if (!isWaiting) log.info({ lease: name, holder }, 'another process has the lease; this one is its standby');
    isWaiting = true;
    return undefined;
  };
  await every(LOOK_MS, look, { clock, log, signal, what: `taking the lease ${name}` });
  return fence;
}

type Turn<T> = Readonly<{ isLost: false; result: T } | { isLost: true }>;

/** Renews the lease while the work runs, and lets it go afterwards. */
async function holdDuring<D extends Leased<D>, T>(
  { database, name, clock, log }: LeaseParts<D>,
  fence: number,
  signal: AbortSignal,
  work: LeasedWork<D, T>,
): Promise<Turn<T>> {
  const [lost, released] = [new AbortController(), new AbortController()];
  const held = { name, fence };
  const lose = () => lost.abort();
  const renew = async () => {
    if (await database.leases.renew(held)) return undefined;
    lose();
    return 'done';
  };
  const renewing = every(RENEW_MS, renew, { clock, log, signal: released.signal, what: `renewing the lease ${name}` });
  try {
    const result = await work(database.fenced(held, lose), AbortSignal.any([signal, lost.signal]));
    return lost.signal.aborted ? { isLost: true } : { isLost: false, result };
  } catch (error) {
    if (lost.signal.aborted && isLeaseLost(error)) return { isLost: true };
    throw error;
  } finally {
    released.abort();
    await renewing;
    // Otherwise the lease runs out by itself.
    if (!lost.signal.aborted) await database.leases.letGo(held).catch(ignoreFault);
  }
}

function ignoreFault(error: unknown): void {
  if (!(error instanceof Fault)) throw error;
}
