/** The running sums of a session, which are kept in its row. */
import { withoutReturned } from '../core/held-money.ts';
import { type ReceiptSum, type Recount, recount } from '../core/session.ts';
import type { ReturnedOf } from './refunds/returned.ts';
import type { SessionRow } from './session.ts';

/** Returns a session's sums without held money that is returned, by which it is judged; within a transaction. */
export type CountingSums = (row: Pick<SessionRow, 'id'>, sums: readonly ReceiptSum[]) => Promise<readonly ReceiptSum[]>;

export const createCountingSums =
  (returnedOf: ReturnedOf): CountingSums =>
  async (row, sums) =>
    // Nothing can be returned where nothing came: most sessions are created and expire without a look.
    sums.length === 0 ? sums : withoutReturned(sums, await returnedOf(row.id));

/** Returns a session's sums after changes. */
export const sumsAfter = ({ sums }: Pick<SessionRow, 'sums'>, changed: readonly Recount[]): readonly ReceiptSum[] =>
  changed.length === 0 ? sums : recount(sums, changed);
