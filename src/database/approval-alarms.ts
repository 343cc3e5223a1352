/**
 * Alarms about stores and refunds that wait for a decision, raised and ended in the transaction that changes them. Only
 * the oldest of one kind have an alarm, so that nobody can pile them up.
 */
import { and, count, gt, lt, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { type EndAlarm, isOpen, type NewAlarm, type RaiseAlarm } from './alarms.ts';
import type { Db } from './engine/open.ts';
import { alarms } from './tables.ts';

/** Open alarms of one kind at a time; the next is raised when one of them is decided about. */
export const APPROVAL_ALARMS_MAX = 20;

type Waiting = Readonly<{ id: string; about: Omit<NewAlarm, 'atMs'> }>;

/** An alarm's key is the prefix and the id of what waits. */
export function createApprovalAlarms({ orm }: Db, raiseAlarm: RaiseAlarm, endAlarm: EndAlarm) {
  /**
   * Raises the alarms of what waits longest and has none.
   * @param oldest returns these, oldest first; `isUntold` is the condition that an id has no open alarm
   */
  async function raiseNext(
    prefix: string,
    atMs: number,
    oldest: (isUntold: (id: SQLWrapper) => SQL, limit: number) => Promise<readonly Waiting[]>,
  ): Promise<void> {
    // A range of the index, to the character after the prefix's last one.
    const end = prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
    const isOfKind = and(isOpen, gt(alarms.key, prefix), lt(alarms.key, end));
    const open = (await orm.select({ of: count() }).from(alarms).where(isOfKind).get())?.of ?? 0;
    if (open >= APPROVAL_ALARMS_MAX) return;
    const isUntold = (id: SQLWrapper): SQL =>
      sql`NOT EXISTS (SELECT 1 FROM ${alarms} WHERE ${alarms.key} = ${prefix} || ${id} AND ${isOpen})`;
    for (const { id, about } of await oldest(isUntold, APPROVAL_ALARMS_MAX - open))
      await raiseAlarm({ key: prefix + id, atMs, ...about });
  }
  return {
    raiseNext,
    end: async (prefix: string, id: string, nowMs: number) => {
      await endAlarm(prefix + id, nowMs);
    },
  };
}

export type ApprovalAlarms = ReturnType<typeof createApprovalAlarms>;
