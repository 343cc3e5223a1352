/**
 * The process that sends webhooks: what it takes over at its start, and what it reports about itself, for `status` and
 * the metrics.
 */

export type SenderReport = Readonly<{
  pid: number;
  startedAtMs: number;
  atMs: number;
  underWay: number;
  /** Attempts since its start, by what followed from them. */
  attempts: Readonly<Record<'delivered' | 'retry' | 'failed', number>>;
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
