/**
 * What stores received, by UTC day: running sums that are kept in the transaction of the ledger's entries.
 * @module
 */
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';

/** One day's entries in one network and currency. Amounts are at par (18 decimals). */
export type DayTotal = Readonly<{
  /** Days since 1970-01-01 UTC. */
  day: number;
  network: NetworkKey;
  currency: Currency;
  /** Transfers that were credited to sessions. */
  credits: number;
  creditedPar: bigint;
  /** Credits, of this day or an earlier one, that a reorg took back. */
  reversals: number;
  reversedPar: bigint;
}>;

type At = Readonly<{ storeId: string; mode: Mode }>;

export interface DayTotalDatabase {
  /** Returns a store's totals from a day on, oldest first. */
  listDayTotals(at: At, fromDay: number): Promise<readonly DayTotal[]>;
  /** Returns whether any money was ever credited to the store's sessions of this mode. */
  hasCredits(at: At): Promise<boolean>;
}
