/**
 * What of a session's held money is being returned or was: refunds with a kind of held money, and those that only the
 * signer's journal knows.
 */
import { and, asc, eq, isNotNull, sql } from 'drizzle-orm';
import type { Returned } from '../../core/held-money.ts';
import type { RefundStatus } from '../../core/refund.ts';
import { isHeld } from '../../core/refund.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse } from '../engine/prepared.ts';
import { refunds } from '../tables.ts';
import { createLostRefunds } from './lost.ts';

export type ReturnedOf = (sessionId: string) => readonly Returned[];

/** To be called within a transaction. */
export type ReturnedMoney = Readonly<{
  /** Returns what counts for nothing. */
  of: ReturnedOf;
  /** Returns every return of a session, also those that failed; first those that are known here, oldest first. */
  list(sessionId: string): readonly HeldReturn[];
}>;

export function createReturned(db: Db): ReturnedMoney {
  const lostOf = createLostRefunds(db);
  const { id, status, network, currency, amountMinor, tx, heldKind, sessionId: of, createdAtMs } = refunds;
  const returns = atFirstUse(
    db.orm
      .select({ id, status, network, currency, amountMinor, tx, kind: heldKind })
      .from(refunds)
      .where(and(eq(of, sql.placeholder('sessionId')), isNotNull(heldKind)))
      .orderBy(asc(createdAtMs), asc(id)),
  );
  function list(sessionId: string): HeldReturn[] {
    const lost = lostOf(sessionId, '').map(({ heldKind: kind, ...row }) => {
      return { ...row, kind, status: row.tx === null ? ('processing' as const) : row.status };
    });
    const all = [...returns.all({ sessionId }), ...lost];
    return all.flatMap(({ kind, ...row }) => (kind === null ? [] : [{ ...row, kind }]));
  }

  return { list, of: (sessionId) => list(sessionId).filter(isHeld) };
}

/** One return of held money: `id` is also that of its refund and its payout. */
export type HeldReturn = Returned & Readonly<{ id: string; status: RefundStatus; tx: string | null }>;
