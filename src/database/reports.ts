/**
 * The part of the port for reports: what a store refunded in a period, and what payouts moved and cost. What a store
 * received is in `credit-totals.ts`.
 * @module
 */
import type { Intent } from '../core/intent.ts';
import type { Payout } from '../core/payout.ts';
import type { RefundStatus } from '../core/refund.ts';
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';
import type { Refund } from './refunds.ts';

type At = Readonly<{ storeId: string; mode: Mode }>;

/** From a time on and before another (Unix ms). */
export type Period = Readonly<{ fromMs: number; toMs: number }>;

/** Refunds and returns of held money on one network, in one coin, that are in one state now. */
export type RefundSum = Readonly<{
  network: NetworkKey;
  currency: Currency;
  status: RefundStatus;
  count: number;
  amountMinor: bigint;
}>;

/** What transactions cost in a network's own coin, in base units. */
export type FeeSum = Readonly<{ network: NetworkKey; count: number; units: bigint }>;

/** What one transaction cost. */
export type PaidFee = Readonly<{ tx: string | null; units: bigint }>;

/** A refund that was paid or has failed, with every transaction for it that cost a fee. */
export type EndedRefund = Readonly<{ refund: Refund; endedAtMs: number; fees: readonly PaidFee[] }>;

/** What succeeded sweeps of a coin brought to the treasury, in base units. */
export type SweepSum = Readonly<{ network: NetworkKey; currency: Currency; count: number; units: bigint }>;

/** What transactions for one kind of payout cost. */
export type PayoutFeeSum = FeeSum & Readonly<{ kind: Intent['kind'] }>;

/** A payout that ended, however it did, with every transaction for it that cost a fee. */
export type EndedPayout = Readonly<{ payout: Payout; endedAtMs: number; fees: readonly PaidFee[] }>;

export interface ReportDatabase {
  /** Sums the payouts of the installation that ended in a period; null if there are more than `payoutsMax`. */
  sumEndedPayouts(
    period: Period,
    payoutsMax: number,
  ): Promise<Readonly<{ sweeps: readonly SweepSum[]; fees: readonly PayoutFeeSum[] }> | null>;
  /** Returns the payouts of the installation that ended in a period, oldest first. */
  listEndedPayouts(
    period: Period,
    page: Readonly<{ after: EndedPayout | null; limit: number }>,
  ): Promise<readonly EndedPayout[]>;
  /** Sums the refunds that were made in a period; null if there are more than `refundsMax`. */
  sumRefunds(at: At, period: Period, refundsMax: number): Promise<readonly RefundSum[] | null>;
  /**
   * Sums the refunds that were paid or failed between each time and the next, and what all their transactions cost;
   * null if there are more than `refundsMax`.
   * @param timesMs ascending; there is one period less
   */
  sumEndedRefunds(
    at: At,
    timesMs: readonly number[],
    refundsMax: number,
  ): Promise<Readonly<{ periods: readonly (readonly RefundSum[])[]; fees: readonly FeeSum[] }> | null>;
  /** Returns the refunds that were paid or failed in a period, oldest first. @param after the last of those before */
  listEndedRefunds(
    at: At,
    period: Period,
    page: Readonly<{ after: EndedRefund | null; limit: number }>,
  ): Promise<readonly EndedRefund[]>;
}
