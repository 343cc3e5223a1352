/**
 * The counts behind the metrics.
 */

/** A count of sessions costs the same however many there are. */
export const SESSIONS_COUNTED_MAX = 10_000;

export type Stats = Readonly<{
  /** Sessions by status, each counted up to `SESSIONS_COUNTED_MAX`. */
  sessions: Readonly<Record<string, number>>;
  /** When old data was last removed; null if that never was. */
  retentionAtMs: number | null;
  deliveriesWaiting: number;
  /** Age of the oldest waiting delivery. */
  oldestWaitingMs: number;
  /** Amounts of held money that wait for a decision. */
  heldOpen: number;
}>;
