/**
 * Limits of refunds: what a session received, the store's policy, and how much of a day's limit is used.
 */

import { and, eq, gte, lt, sql } from 'drizzle-orm';
import { invariant } from '../../core/fault.ts';
import { confirmedParts } from '../../core/received.ts';
import { isHeld, type ReceivedPart, type RefundPolicy } from '../../core/refund.ts';
import type { Mode } from '../../core/transfer.ts';
import { DAY_MS, dayOf } from '../../lib/clock.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse } from '../engine/prepared.ts';
import type { SessionRow } from '../session.ts';
import { refunds, stores } from '../tables.ts';
import { isOperators } from './recent.ts';

/** To be called within a transaction. */
export type RefundLimits = Readonly<{
  received(session: SessionRow): ReceivedPart[];
  /** Returns the part of what was received that is final. */
  receivedFinally(session: SessionRow): ReceivedPart[];
  policyOf(storeId: string): RefundPolicy;
  setPolicy(storeId: string, changes: Partial<RefundPolicy>): RefundPolicy;
  /** Returns what the store has refunded on the UTC day of `nowMs`, in minor units. */
  todayMinor(storeId: string, mode: Mode, nowMs: number): bigint;
}>;

export function createRefundLimits(db: Db): RefundLimits {
  const { refundWindowS, refundDailyMinor, refundAutoMinor, refundCancelWindowS, refundClaimS } = stores;
  const { refundToSender, refundEarlyMaxMinor } = stores;
  const find = atFirstUse(
    db.orm
      .select({
        ...{ refundWindowS, refundDailyMinor, refundAutoMinor, refundCancelWindowS, refundClaimS },
        ...{ refundToSender, refundEarlyMaxMinor },
      })
      .from(stores)
      .where(eq(stores.id, sql.placeholder('storeId'))),
  );
  const madeIn = atFirstUse(
    db.orm
      .select({
        amountMinor: refunds.amountMinor,
        status: refunds.status,
        heldKind: refunds.heldKind,
        requestedBy: refunds.requestedBy,
      })
      .from(refunds)
      .where(
        and(
          eq(refunds.storeId, sql.placeholder('storeId')),
          eq(refunds.mode, sql.placeholder('mode')),
          gte(refunds.createdAtMs, sql.placeholder('fromMs')),
          lt(refunds.createdAtMs, sql.placeholder('toMs')),
        ),
      ),
  );

  function policyOf(storeId: string): RefundPolicy {
    const policy = find.get({ storeId });
    invariant(policy, `store ${storeId} exists`);
    return policy;
  }

  return {
    received: ({ sums }) => confirmedParts(sums),
    receivedFinally: ({ sums }) => confirmedParts(sums, true),
    policyOf,
    setPolicy(storeId, changes) {
      if (Object.keys(changes).length > 0) db.orm.update(stores).set(changes).where(eq(stores.id, storeId)).run();
      return policyOf(storeId);
    },
    todayMinor(storeId, mode, nowMs) {
      const fromMs = dayOf(nowMs) * DAY_MS;
      const ofDay = madeIn.all({ storeId, mode, fromMs, toMs: fromMs + DAY_MS });
      return ofDay.reduce((sum, row) => (isHeld(row) && !isOperators(row) ? sum + row.amountMinor : sum), 0n);
    },
  };
}

export const refundPolicyCommands = (db: Db, limits: RefundLimits) => ({
  /** @param storeId an existing store */
  async setRefundPolicy(storeId: string, changes: Partial<RefundPolicy>): Promise<RefundPolicy> {
    return db.write(() => limits.setPolicy(storeId, changes));
  },
  async refundPolicy(storeId: string): Promise<RefundPolicy> {
    return db.read(() => limits.policyOf(storeId));
  },
});
