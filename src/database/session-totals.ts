/**
 * How many sessions stores created, by quarter of an hour as in `credit-totals.ts`, and what became of them: running
 * sums that are kept in the transaction that creates a session or changes its status.
 * @module
 */
import type { Mode } from '../core/transfer.ts';

/** Sessions created in a period. `unpaid`: those that expired, failed or were canceled. What is left is pending. */
export type SessionTotal = Readonly<{ created: number; paid: number; unpaid: number }>;

export interface SessionTotalDatabase {
  /**
   * Returns how many sessions a store created between one time and the next, and how many of those are paid or ended
   * without a payment now.
   * @param timesMs ascending beginnings of quarters of an hour; there is one period less
   */
  countSessions(
    at: Readonly<{ storeId: string; mode: Mode }>,
    timesMs: readonly number[],
  ): Promise<readonly SessionTotal[]>;
}
