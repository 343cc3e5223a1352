/**
 * Refunds and returns that were signed and that this database lost when it was restored from a backup. The signer's
 * journal gives back their payouts, which name the session that they count against.
 */
import { sql } from 'drizzle-orm';
import type { HeldKind } from '../../core/held-money.ts';
import { isPayback } from '../../core/intent.ts';
import { MINOR_DECIMALS, parseUnits } from '../../core/money.ts';
import type { EarlierRefund } from '../../core/refund.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse } from '../engine/prepared.ts';
import { payouts, refunds } from '../tables.ts';

/** `heldKind` of a return; `tx` once it is final. */
type LostRefund = EarlierRefund & Readonly<{ id: string; heldKind: HeldKind | null; tx: string | null }>;

/** Returns a function that lists a session's lost refunds, except one that is requested again. */
export function createLostRefunds(db: Db): (sessionId: string, exceptId: string) => LostRefund[] {
  // In step with the index `payouts_of_lost_refunds`.
  const lost = atFirstUse(
    db.orm
      .select({ network: payouts.network, intent: payouts.intent, tx: payouts.tx })
      .from(payouts)
      .where(
        sql`${payouts.kind} IN ('refund', 'return') AND ${payouts.sessionId} IS NULL AND ${payouts.state} NOT IN ('failed', 'canceled')
        AND ${payouts.intent} ->> '$.session.id' = ${sql.placeholder('sessionId')}
        AND ${payouts.id} <> ${sql.placeholder('exceptId')}
        AND NOT EXISTS (SELECT 1 FROM ${refunds} WHERE ${refunds.id} = ${payouts.id}
          AND ${refunds.status} NOT IN ('failed', 'canceled'))`,
      ),
  );
  return (sessionId, exceptId) =>
    lost.all({ sessionId, exceptId }).flatMap(({ network, intent, tx }) => {
      if (!isPayback(intent)) return [];
      const heldKind = intent.kind === 'return' ? intent.held : null;
      const amountMinor = parseUnits(intent.session.amount, MINOR_DECIMALS);
      if (amountMinor === null) return [];
      return [{ id: intent.id, network, currency: intent.currency, amountMinor, status: 'completed', heldKind, tx }];
    });
}
