/**
 * Alarms about refunds that wait for an approval, in the transaction in which one begins to wait, is decided about, or
 * ends.
 */
import { and, asc, count, eq, gt, isNotNull, isNull, lt, sql } from 'drizzle-orm';
import { alarmKey, type EndAlarm, isOpen, type RaiseAlarm } from '../alarms.ts';
import type { Db } from '../engine/open.ts';
import { alarms, refunds, stores } from '../tables.ts';
import { APPROVAL_ALARMS_MAX } from './refund.ts';

type RefundRow = typeof refunds.$inferSelect;

/** To be called within the transaction of each change of a refund. `before` is null for a new one. */
export type FollowApproval = (before: RefundRow | null, after: RefundRow, nowMs: number) => void;

/** Without a destination there is nothing to approve yet. */
const isWaiting = ({ status, destination, needsApproval, approvedAtMs }: RefundRow): boolean =>
  needsApproval && destination !== null && approvedAtMs === null && (status === 'pending' || status === 'processing');

/** As text, so that the partial index fits. */
const waits = and(
  sql`${refunds.needsApproval} = 1`,
  isNotNull(refunds.destination),
  isNull(refunds.approvedAtMs),
  sql`${refunds.status} IN ('pending', 'processing')`,
);

/** Amount and destination are not in it: whoever asks for a refund writes to the phones of those who decide. */
const messageOf = (id: string, store: string): string =>
  `A refund of ${store} (${id}) waits for an approval: look at it with \`quayside show ${id}\`, then ` +
  `\`quayside refund approve ${id}\`, or \`quayside refund reject ${id} --reason …\`. The page Refunds of the ` +
  'dashboard decides, too.';

/** Each store has alarms of its oldest refunds alone, so that one cannot pile them up. */
export function createApprovalAlarms(
  { orm }: Db,
  { raiseAlarm, endAlarm }: Readonly<{ raiseAlarm: RaiseAlarm; endAlarm: EndAlarm }>,
): FollowApproval {
  const keyOf = ({ storeId, id }: Pick<RefundRow, 'storeId' | 'id'>): string =>
    alarmKey('approval', `${storeId}/${id}`);

  function raiseNext(storeId: string, atMs: number): void {
    // A range of the index: `0` follows `/`.
    const [from, to] = [alarmKey('approval', `${storeId}/`), alarmKey('approval', `${storeId}0`)];
    const isOfStore = and(isOpen, gt(alarms.key, from), lt(alarms.key, to));
    const open = orm.select({ of: count() }).from(alarms).where(isOfStore).get()?.of ?? 0;
    if (open >= APPROVAL_ALARMS_MAX) return;
    const isUntold = sql`NOT EXISTS (SELECT 1 FROM ${alarms} WHERE ${alarms.key} = ${from} || ${refunds.id} AND ${isOpen})`;
    const untold = orm
      .select({ id: refunds.id, sessionId: refunds.sessionId, network: refunds.network, store: stores.name })
      .from(refunds)
      .innerJoin(stores, eq(stores.id, refunds.storeId))
      .where(and(eq(refunds.storeId, storeId), waits, isUntold))
      .orderBy(asc(refunds.createdAtMs))
      .limit(APPROVAL_ALARMS_MAX - open)
      .all();
    for (const { id, sessionId, network, store } of untold) {
      const about = { code: 'refund_unapproved', message: messageOf(id, store), network, sessionId };
      raiseAlarm({ key: keyOf({ storeId, id }), atMs, ...about });
    }
  }

  return (before, after, nowMs) => {
    const [waited, waitsNow] = [before !== null && isWaiting(before), isWaiting(after)];
    if (waited === waitsNow) return;
    if (waited) endAlarm(keyOf(after), nowMs);
    raiseNext(after.storeId, nowMs);
  };
}
