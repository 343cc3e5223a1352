/**
 * What stores received, by quarter of an hour, since the days of all zones begin with one: running sums that are kept
 * in the transaction of the ledger's entries.
 * @module
 */
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';

export const QUARTER_MS = 900_000;

/** The entries of a quarter of an hour in one network and currency. Amounts are at par (18 decimals). */
export type CreditTotal = Readonly<{
  /** Quarters of an hour since 1970-01-01 UTC. */
  quarter: number;
  network: NetworkKey;
  currency: Currency;
  /** Transfers that were credited to sessions. */
  credits: number;
  creditedPar: bigint;
  /** Credits, of this quarter or an earlier one, that a reorg took back. */
  reversals: number;
  reversedPar: bigint;
}>;

type At = Readonly<{ storeId: string; mode: Mode }>;

export interface CreditTotalDatabase {
  /** Returns a store's totals from a time on, oldest first. */
  listCreditTotals(at: At, fromMs: number): Promise<readonly CreditTotal[]>;
  /** Returns whether any money was ever credited to the store's sessions of this mode. */
  hasCredits(at: At): Promise<boolean>;
}
