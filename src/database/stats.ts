/**
 * The counts behind the metrics.
 * @module
 */

export type Stats = Readonly<{
  /** Sessions by status. */
  sessions: Readonly<Record<string, number>>;
  /** When old data was last removed; null if that never was. */
  retentionAtMs: number | null;
  deliveriesWaiting: number;
  /** Age of the oldest waiting delivery. */
  oldestWaitingMs: number;
  /** Amounts of held money that wait for a decision. */
  heldOpen: number;
}>;

export interface StatsDatabase {
  stats(nowMs: number): Promise<Stats>;
}
