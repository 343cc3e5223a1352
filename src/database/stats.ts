/**
 * The counts behind the metrics.
 * @module
 */
import type { DayTotalDatabase } from './day-totals.ts';

export type Stats = Readonly<{
  /** Sessions by status. */
  sessions: Readonly<Record<string, number>>;
  deliveriesWaiting: number;
  /** Age of the oldest waiting delivery. */
  oldestWaitingMs: number;
  /** Amounts of held money that wait for a decision. */
  heldOpen: number;
}>;

export interface StatsDatabase extends DayTotalDatabase {
  stats(nowMs: number): Promise<Stats>;
}
