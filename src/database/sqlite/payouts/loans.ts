/**
 * Loans of a stake whose lending was adopted from the signer's journal or learned from the chain, without the payout
 * that takes them back: that is planned beside the loan and signed minutes later, so a restored database may have lost
 * it before the signer or the chain knew.
 */
import { eq } from 'drizzle-orm';
import { invariant } from '../../../core/fault.ts';
import { gasIdOf } from '../../../core/sweep.ts';
import type { NetworkKey } from '../../../core/transfer.ts';
import type { Db } from '../open.ts';
import { payouts } from '../tables.ts';
import type { Payouts } from './payouts.ts';
import type { PayoutRow } from './rows.ts';

/** When such a loan is taken back. What it was made for has ended by then, or burns coins. */
const LENT_MS = 600_000;

/** Loans of one size to one wallet that were made more often than they were, or will be, taken back. */
const openQuery = `
  SELECT intent ->> '$.index' AS owner, intent ->> '$.refundIndex' AS refund, intent ->> '$.units' AS units,
    sum(CASE intent ->> '$.form' WHEN 'delegate' THEN 1 ELSE -1 END) AS loans
  FROM payouts
  WHERE network = :network AND kind = 'gas' AND intent ->> '$.form' <> 'transfer' AND state IN ('waiting', 'sent', 'stuck', 'succeeded')
  GROUP BY owner, refund, units HAVING loans > 0`;
const newestQuery = `
  SELECT id FROM payouts
  WHERE network = :network AND kind = 'gas' AND intent ->> '$.form' = 'delegate' AND state IN ('waiting', 'sent', 'stuck', 'succeeded')
    AND intent ->> '$.index' IS :owner AND intent ->> '$.refundIndex' IS :refund AND intent ->> '$.units' = :units
  ORDER BY created_at_ms DESC, id DESC LIMIT :loans`;

type OpenLoans = Readonly<{ owner: number | null; refund: number | null; units: string; loans: number }>;

/** Returns a function that plans to take back a loan, within the current transaction. */
export const createLoanReturn =
  ({ orm }: Db, { plan }: Pick<Payouts, 'plan'>) =>
  ({ id, intent }: Pick<PayoutRow, 'id' | 'intent'>, nowMs: number): void => {
    invariant(intent.kind === 'gas' && intent.form === 'delegate', `payout ${id} lends`);
    const back = { ...intent, id: gasIdOf(id, 'reclaim', 0), form: 'reclaim' } as const;
    plan({ intent: back, sessionId: null, servesId: null, notBeforeMs: nowMs + LENT_MS, nowMs });
    // It waits until the loan is in a block, or was proved never to be.
    orm.update(payouts).set({ servesId: back.id }).where(eq(payouts.id, id)).run();
  };

/** Returns a function that plans to take back what is lent, within the current transaction. */
export function createLoanReclaimer(db: Db, steps: Pick<Payouts, 'plan' | 'find'>) {
  const open = db.client.prepare(openQuery);
  const newest = db.client.prepare(newestQuery).pluck();
  const takeBack = createLoanReturn(db, steps);
  return (network: NetworkKey, nowMs: number): void => {
    for (const lent of open.all({ network }) as OpenLoans[]) {
      for (const id of newest.all({ network, ...lent }) as string[]) {
        const loan = steps.find(id);
        invariant(loan, `payout ${id} exists`);
        takeBack(loan, nowMs);
      }
    }
  };
}
