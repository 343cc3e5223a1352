/** Names of payouts in words, for alarms. */
import { eq, sql } from 'drizzle-orm';
import type { Db } from '../engine/open.ts';
import { atFirstUse } from '../engine/prepared.ts';
import { sessions, stores } from '../tables.ts';
import type { PayoutRow } from './rows.ts';

/** Returns a payout as people know it: "The refund of 4.50 USDT for order 17 of Corner shop (rf_…)". */
export type NamePayout = (row: Pick<PayoutRow, 'id' | 'intent'>) => string;

export function createPayoutNames(db: Db): NamePayout {
  const orderOf = atFirstUse(
    db.orm
      .select({ order: sessions.orderId, store: stores.name })
      .from(sessions)
      .innerJoin(stores, eq(stores.id, sessions.storeId))
      .where(eq(sessions.id, sql.placeholder('id'))),
  );
  return ({ id, intent }) => {
    if (intent.kind === 'sweep') return `The sweep of ${intent.currency} on ${intent.network} (${id})`;
    if (intent.kind === 'gas') return `The gas for a wallet on ${intent.network} (${id})`;
    const { kind, currency, session } = intent;
    const of = orderOf.get({ id: session.id });
    return `The ${kind} of ${session.amount} ${currency}${of ? ` for order ${of.order} of ${of.store}` : ''} (${id})`;
  };
}
