/** Figures of a store over periods, added up from the ledger and the sessions themselves. */

import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';
import type { Booked, BookFilter } from './bookkeeping.ts';
import type { Stats } from './stats.ts';

/** The entries of a period in one network and currency. Amounts are at par (18 decimals). */
export type CreditTotal = Readonly<{
  network: NetworkKey;
  currency: Currency;
  /** Transfers that were credited to sessions. */
  credits: number;
  creditedPar: bigint;
  /** Credits, of this period or an earlier one, that a reorg took back. */
  reversals: number;
  reversedPar: bigint;
}>;

/** Sessions created in a period. `unpaid`: those that expired, failed or were canceled. What is left is pending. */
export type SessionTotal = Readonly<{ created: number; paid: number; unpaid: number }>;

type At = Readonly<{ storeId: string; mode: Mode }>;

export interface Reports {
  /**
   * Returns a store's totals of each period between one time and the next, by network and currency.
   * @param timesMs ascending; there is one period less
   */
  sumCredits(at: At, timesMs: readonly number[]): Promise<readonly (readonly CreditTotal[])[]>;
  /** Returns whether any money was ever credited to the store's sessions of this mode. */
  hasCredits(at: At): Promise<boolean>;
  /**
   * Returns how many sessions a store created between one time and the next, and how many of those are paid or ended
   * without a payment now.
   * @param timesMs ascending; there is one period less
   */
  countSessions(at: At, timesMs: readonly number[]): Promise<readonly SessionTotal[]>;
  stats(nowMs: number): Promise<Stats>;
  /** Returns how many sessions that were created since then are paid, counted up to `SESSIONS_COUNTED_MAX`. */
  countPaid(sinceMs: number): Promise<number>;
  /** Returns the id of the newest entry of the ledger; 0 when it is empty. */
  newestEntry(): Promise<number>;
  /** Returns what matches among the `BOOK_PAGE_ENTRIES` entries after `afterEntry`, by entry. */
  bookPage(filter: BookFilter, afterEntry: number): Promise<readonly Booked[]>;
}
