/**
 * Limits of refunds: what a session received, the store's policy, and how much of a day's limit is used.
 * @module
 */
import { and, eq } from 'drizzle-orm';
import { invariant } from '../../../core/fault.ts';
import { confirmedParts } from '../../../core/received.ts';
import { defaultRefundPolicy, type ReceivedPart, type RefundPolicy } from '../../../core/refund.ts';
import type { Mode } from '../../../core/transfer.ts';
import { dayOf } from '../../../lib/clock.ts';
import type { RefundDatabase } from '../../refunds.ts';
import type { Db } from '../open.ts';
import type { SessionRow } from '../session-row.ts';
import { refundDays, refundPolicies } from '../tables.ts';
import type { RefundRow } from './row.ts';

/** To be called within a transaction. */
export type RefundLimits = Readonly<{
  received(session: SessionRow): ReceivedPart[];
  /** Returns the part of what was received that is final. */
  receivedFinally(session: SessionRow): ReceivedPart[];
  policyOf(storeId: string): RefundPolicy;
  setPolicy(storeId: string, changes: Partial<RefundPolicy>): RefundPolicy;
  /** Returns what the store has refunded on the UTC day of `nowMs`, in minor units. */
  todayMinor(storeId: string, mode: Mode, nowMs: number): bigint;
  /** Adds a refund to the day on which it was made, or subtracts it. */
  countDay(refund: RefundRow, sign: 1n | -1n): void;
}>;

type RefundPolicyCommands = Pick<RefundDatabase, 'setRefundPolicy' | 'refundPolicy'>;

export function createRefundLimits(db: Db): RefundLimits {
  function policyOf(storeId: string): RefundPolicy {
    const row = db.orm.select().from(refundPolicies).where(eq(refundPolicies.storeId, storeId)).get();
    if (!row) return defaultRefundPolicy;
    const { storeId: _of, ...policy } = row;
    return policy;
  }

  function dayMinor(storeId: string, mode: Mode, day: number): bigint {
    const where = and(eq(refundDays.storeId, storeId), eq(refundDays.mode, mode), eq(refundDays.day, day));
    return db.orm.select().from(refundDays).where(where).get()?.amountMinor ?? 0n;
  }

  function countDay({ storeId, mode, createdAtMs, amountMinor }: RefundRow, sign: 1n | -1n): void {
    const day = dayOf(createdAtMs);
    const sum = dayMinor(storeId, mode, day) + sign * amountMinor;
    invariant(sum >= 0n, `the refunds of store ${storeId} on day ${day} add up`);
    const row = { storeId, mode, day, amountMinor: sum };
    db.orm
      .insert(refundDays)
      .values(row)
      .onConflictDoUpdate({
        target: [refundDays.storeId, refundDays.mode, refundDays.day],
        set: { amountMinor: sum },
      })
      .run();
  }

  return {
    received: ({ sums }) => confirmedParts(sums),
    receivedFinally: ({ sums }) => confirmedParts(sums, true),
    policyOf,
    setPolicy(storeId, changes) {
      const policy = { ...policyOf(storeId), ...changes };
      db.orm
        .insert(refundPolicies)
        .values({ storeId, ...policy })
        .onConflictDoUpdate({ target: refundPolicies.storeId, set: policy })
        .run();
      return policy;
    },
    todayMinor: (storeId, mode, nowMs) => dayMinor(storeId, mode, dayOf(nowMs)),
    countDay,
  };
}

export const refundPolicyCommands = (db: Db, limits: RefundLimits): RefundPolicyCommands => ({
  async setRefundPolicy(storeId, changes) {
    return db.write(() => limits.setPolicy(storeId, changes));
  },
  async refundPolicy(storeId) {
    return db.read(() => limits.policyOf(storeId));
  },
});
