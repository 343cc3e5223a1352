/**
 * The counts behind the metrics.
 * @module
 */

export type Stats = Readonly<{
  /** Sessions by status. */
  sessions: Readonly<Record<string, number>>;
  /** Sessions that were never paid and are archived; they are in no status. */
  archivedSessions: number;
  /** When old data was last archived and removed; null if that never was. */
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
