/**
 * Alarms for stores that wait for the operator's approval, in the transaction in which one begins to wait or is decided
 * about.
 */
import { and, asc, count, eq, gt, isNull, lt, sql } from 'drizzle-orm';
import { alarmKey, type EndAlarm, isOpen, type RaiseAlarm } from './alarms.ts';
import type { Db } from './engine/open.ts';
import { alarms, memberships, stores } from './tables.ts';

/** As text, so that the partial index fits. */
export const isWaiting = and(sql`${stores.status} = 'pending'`, isNull(stores.refusedAtMs));

/** To be called within transactions. */
export type StoreApproval = Readonly<{
  /** Raises the alarm of each store that waits and has none, oldest first, while not too many are open. */
  wait(nowMs: number): void;
  /** Ends the alarm of a store that was decided about, which may make room for that of another. */
  end(storeId: string, nowMs: number): void;
  /** How many stores wait that somebody is a member of. */
  countWaiting(personId: string): number;
}>;

/** The store's name is not in it: whoever asks for a store must not write to the operator's phone. */
const messageOf = (id: string): string =>
  `Store ${id} waits for your decision: \`quayside store set ${id} --decide approve\`, or \`quayside store set ${id} --decide refuse --reason …\`. ` +
  'The page Stores of the dashboard shows its name and owner, and every other store that waits.';

export function createStoreApproval(
  { orm }: Db,
  { raiseAlarm, endAlarm }: Readonly<{ raiseAlarm: RaiseAlarm; endAlarm: EndAlarm }>,
): StoreApproval {
  // A range of the index: `;` follows `:`.
  const isOfStores = and(gt(alarms.key, 'store:'), lt(alarms.key, 'store;'));

  const wait: StoreApproval['wait'] = (atMs) => {
    const open = orm.select({ of: count() }).from(alarms).where(and(isOpen, isOfStores)).get()?.of ?? 0;
    const isUntold = sql`NOT EXISTS (SELECT 1 FROM ${alarms} WHERE ${alarms.key} = 'store:' || ${stores.id} AND ${isOpen})`;
    const untold = orm
      .select({ id: stores.id })
      .from(stores)
      .where(and(isWaiting, isUntold))
      .orderBy(asc(stores.createdAtMs), asc(stores.id))
      .limit(Math.max(0, WAITING_ALARMS_MAX - open))
      .all();
    for (const { id } of untold) {
      const about = { code: 'store_waiting', message: messageOf(id), network: null, sessionId: null };
      raiseAlarm({ key: alarmKey('store', id), atMs, ...about });
    }
  };

  return {
    wait,
    end(storeId, nowMs) {
      endAlarm(alarmKey('store', storeId), nowMs);
      wait(nowMs);
    },
    countWaiting(personId) {
      const own = orm.select({ of: count() }).from(memberships).innerJoin(stores, eq(stores.id, memberships.storeId));
      return own.where(and(eq(memberships.personId, personId), isWaiting)).get()?.of ?? 0;
    },
  };
}

/** Alarms about stores that wait, at a time; the next is raised when one of them is decided about. */
export const WAITING_ALARMS_MAX = 20;
