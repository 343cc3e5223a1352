/**
 * Refunds that were signed and that this database lost when it was restored from a backup. The signer's journal gives
 * back their payouts, which name the session that they count against.
 * @module
 */
import { sql } from 'drizzle-orm';
import { MINOR_DECIMALS, parseUnits } from '../../../core/money.ts';
import type { EarlierRefund } from '../../../core/refund.ts';
import type { Db } from '../open.ts';
import { payouts } from '../payouts/schema.ts';
import { refunds } from './schema.ts';

/** Returns a function that lists a session's lost refunds, except one that is requested again. */
export function createLostRefunds(db: Db): (sessionId: string, exceptId: string) => EarlierRefund[] {
  // In step with the index `payouts_of_lost_refunds`.
  const lost = db.orm
    .select({ network: payouts.network, intent: payouts.intent })
    .from(payouts)
    .where(
      sql`${payouts.kind} = 'refund' AND ${payouts.sessionId} IS NULL AND ${payouts.state} NOT IN ('failed', 'canceled')
        AND ${payouts.intent} ->> '$.session.id' = ${sql.placeholder('sessionId')}
        AND ${payouts.id} <> ${sql.placeholder('exceptId')}
        AND NOT EXISTS (SELECT 1 FROM ${refunds} WHERE ${refunds.id} = ${payouts.id}
          AND ${refunds.status} NOT IN ('failed', 'canceled'))`,
    )
    .prepare();
  return (sessionId, exceptId) =>
    lost.all({ sessionId, exceptId }).flatMap(({ network, intent }) => {
      if (intent.kind !== 'refund' || !intent.session) return [];
      const amountMinor = parseUnits(intent.session.amount, MINOR_DECIMALS);
      return amountMinor === null ? [] : [{ network, currency: intent.currency, amountMinor, status: 'completed' }];
    });
}
