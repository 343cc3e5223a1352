/**
 * The process that sends webhooks: what it takes over at its start, and what it reports about itself, for `status` and
 * the metrics. Counts begin at its start.
 */

/** How many values were at most each bound, and above the last one. Values are milliseconds. */
export type Spread = Readonly<{
  /** Upper bounds, rising. */
  boundsMs: readonly number[];
  /** One more than there are bounds: each value counts once. */
  counts: readonly number[];
  sumMs: number;
}>;

export type SenderReport = Readonly<{
  pid: number;
  startedAtMs: number;
  atMs: number;
  underWay: number;
  /** Attempts by what followed from them. */
  attempts: Readonly<Record<'delivered' | 'retry' | 'failed', number>>;
  /** How long attempts took. */
  attemptMs: Spread;
  /** From an event to the start of its delivery's first attempt. */
  firstAttemptMs: Spread;
}>;

export interface SenderReportDatabase {
  /** Ends all leases: what a sender that has ended had under way is due again at once. */
  endLeases(): Promise<void>;
  reportSender(report: SenderReport): Promise<void>;
  /** Returns the newest report; null if nothing has ever been sent from here. */
  readSenderReport(): Promise<SenderReport | null>;
}

/** It reports every five seconds; one that is silent for this long is dead or stuck. */
const REPORT_AGE_MS_MAX = 30_000;

/** Returns true if nothing sends webhooks, as far as reports say. */
export const isSenderSilent = (report: Pick<SenderReport, 'atMs'> | null, nowMs: number): boolean =>
  report === null || report.atMs < nowMs - REPORT_AGE_MS_MAX;
