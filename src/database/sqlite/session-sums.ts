/**
 * The running sums of a session: kept in its row, and folded once from all its transfers for a session that an older
 * version created.
 * @module
 */
import { withoutReturned } from '../../core/held-money.ts';
import { phasesOf, type ReceiptSum, type Recount, recount, sumReceipts } from '../../core/session.ts';
import type { ReturnedOf } from './refunds/returned.ts';
import { type SessionRow, termsOf } from './session-row.ts';
import { countedAs, type Transfers, toReceipt } from './transfers.ts';

/** To be called within a transaction. */
export type SessionSums = Readonly<{
  /** Returns the sums as they are. */
  of(row: SessionRow): readonly ReceiptSum[];
  /** Returns the sums after changes; notes each transfer as counted if they were never folded. */
  after(row: SessionRow, changed: readonly Recount[]): readonly ReceiptSum[];
  /** Returns a session's sums without held money that is returned: what the session is judged by. */
  counting(row: SessionRow, sums: readonly ReceiptSum[]): readonly ReceiptSum[];
}>;

export function createSessionSums(transfers: Transfers, returnedOf: ReturnedOf): SessionSums {
  return {
    // Nothing can be returned where nothing came: most sessions are created and expire without a look.
    counting: (row, sums) => (sums.length === 0 ? sums : withoutReturned(sums, returnedOf(row.id))),
    of: (row) => row.sums ?? sumReceipts(termsOf(row), transfers.ofSession(row.id).map(toReceipt)),
    after(row, changed) {
      if (row.sums !== null) return changed.length === 0 ? row.sums : recount(row.sums, changed);
      const all = transfers.ofSession(row.id);
      const receipts = all.map(toReceipt);
      const phases = phasesOf(termsOf(row), receipts);
      for (const [at, transfer] of all.entries()) transfers.note(transfer.id, phases[at] ?? null, countedAs(transfer));
      return sumReceipts(termsOf(row), receipts);
    },
  };
}
