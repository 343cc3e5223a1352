/**
 * Held money of a session that is being returned or was: refunds with a kind of held money, and payouts that only the
 * signer's journal knows.
 */
import { and, asc, isNotNull, sql } from 'drizzle-orm';
import type { HeldKind, Returned } from '../../core/held-money.ts';
import { isPayback } from '../../core/intent.ts';
import { MINOR_DECIMALS, parseUnits } from '../../core/money.ts';
import { type EarlierRefund, isHeld, type RefundStatus } from '../../core/refund.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse, given } from '../engine/prepared.ts';
import { payouts, refunds } from '../tables.ts';

/** One return of held money: `id` is also that of its refund and its payout. */
export type HeldReturn = Returned & Readonly<{ id: string; status: RefundStatus; tx: string | null }>;

/** `heldKind` of a return; `tx` once it is final. */
type LostRefund = EarlierRefund & Readonly<{ id: string; heldKind: HeldKind | null; tx: string | null }>;

/**
 * Returns a function that lists a session's refunds and returns that were signed and that this database lost when it
 * was restored from a backup, except one that is requested again.
 */
export function createLostRefunds(db: Db): (sessionId: string, exceptId: string) => Promise<LostRefund[]> {
  // In step with the index `payouts_of_lost_refunds`.
  const lost = atFirstUse(
    db.orm
      .select({ network: payouts.network, intent: payouts.intent, tx: payouts.tx })
      .from(payouts)
      .where(
        sql`${payouts.namedSession} = ${sql.placeholder('sessionId')} AND ${payouts.sessionId} IS NULL
        AND ${payouts.state} NOT IN ('failed', 'canceled')
        AND ${payouts.id} <> ${sql.placeholder('exceptId')}
        AND NOT EXISTS (SELECT 1 FROM ${refunds} WHERE ${refunds.id} = ${payouts.id}
          AND ${refunds.status} NOT IN ('failed', 'canceled'))`,
      ),
  );
  return async (sessionId, exceptId) =>
    (await lost.all({ sessionId, exceptId })).flatMap(({ network, intent, tx }) => {
      if (!isPayback(intent)) return [];
      const heldKind = intent.kind === 'return' ? intent.held : null;
      const amountMinor = parseUnits(intent.session.amount, MINOR_DECIMALS);
      if (amountMinor === null) return [];
      return [{ id: intent.id, network, currency: intent.currency, amountMinor, status: 'completed', heldKind, tx }];
    });
}

/** Returns functions that are called within a transaction. */
export function createReturned(db: Db) {
  const lostOf = createLostRefunds(db);
  const { id, status, network, currency, amountMinor, tx, heldKind, createdAtMs } = refunds;
  const ofSession = db.orm.select({ id, status, network, currency, amountMinor, tx, kind: heldKind }).from(refunds);
  const isReturn = and(given(refunds, 'sessionId'), isNotNull(heldKind));
  const returns = atFirstUse(ofSession.where(isReturn).orderBy(asc(createdAtMs), asc(id)));

  /** Returns every return of a session, also those that failed; first those that are known here, oldest first. */
  async function list(sessionId: string): Promise<HeldReturn[]> {
    const lost = (await lostOf(sessionId, '')).map(({ heldKind: kind, ...row }) => {
      return { ...row, kind, status: row.tx === null ? ('processing' as const) : row.status };
    });
    const all = [...(await returns.all({ sessionId })), ...lost];
    return all.flatMap(({ kind, ...row }) => (kind === null ? [] : [{ ...row, kind }]));
  }
  /** Returns the returns of a session whose money counts for nothing. */
  return { list, of: async (sessionId: string): Promise<HeldReturn[]> => (await list(sessionId)).filter(isHeld) };
}

export type ReturnedMoney = ReturnType<typeof createReturned>;
export type ReturnedOf = ReturnedMoney['of'];
