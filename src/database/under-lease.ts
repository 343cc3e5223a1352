/**
 * Work that one process does at a time: it waits as a standby until the lease is free, works, and waits again when it
 * was lost.
 */
import { Fault } from '../core/fault.ts';
import type { Clock } from '../lib/clock.ts';
import { every } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';
import type { Database } from './database.ts';
import { isLeaseLost, LEASE_MS } from './leases.ts';

/** A lease outlives two renewals that fail. */
const RENEW_MS = LEASE_MS / 4;
const LOOK_MS = 1_000;

export type LeaseParts = Readonly<{
  database: Database;
  /** The job, such as `chores`. */
  name: string;
  /** See `lib/holder.ts`. */
  holder: string;
  clock: Clock;
  log: Log;
}>;

/** `signal` aborts with the signal that was given, and when the lease is lost: then the work ends soon. */
export type LeasedWork<T> = (database: Database, signal: AbortSignal) => Promise<T>;

/**
 * Does work whenever this process holds the lease, until the work ends by itself or the signal aborts. The database
 * that it gets refuses every write once another process has taken the lease.
 * @returns what the work returned; null if the signal came while another process held the lease
 * @throws whatever the work throws, but for what follows from the loss of the lease
 */
export async function underLease<T>(parts: LeaseParts, signal: AbortSignal, work: LeasedWork<T>): Promise<T | null> {
  const { name, holder, clock, log } = parts;
  // It may have been started again, and then need not wait for itself. After a loss, another process has this name.
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
async function takeWhenFree(
  { database, name, holder, clock, log }: LeaseParts,
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
async function holdDuring<T>(
  { database, name, clock, log }: LeaseParts,
  fence: number,
  signal: AbortSignal,
  work: LeasedWork<T>,
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
    // Without this, it ends by itself.
    if (!lost.signal.aborted) await database.leases.letGo(held).catch(ignoreFault);
  }
}

function ignoreFault(error: unknown): void {
  if (!(error instanceof Fault)) throw error;
}
