/**
 * What stores received, by quarter of an hour, since the days of all zones begin with one: running sums that are kept
 * in the transaction of the ledger's entries.
 * @module
 */
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';

export const QUARTER_MS = 900_000;

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

type At = Readonly<{ storeId: string; mode: Mode }>;

export interface CreditTotalDatabase {
  /**
   * Returns a store's totals of each period between one time and the next, by network and currency.
   * @param timesMs ascending beginnings of quarters of an hour; there is one period less
   */
  sumCredits(at: At, timesMs: readonly number[]): Promise<readonly (readonly CreditTotal[])[]>;
  /** Returns whether any money was ever credited to the store's sessions of this mode. */
  hasCredits(at: At): Promise<boolean>;
}
