/** The report of the process that sends webhooks: one value. */
import type { Db } from './engine/open.ts';
import { createMeta } from './meta.ts';

export type SenderReport = Readonly<{
  pid: number;
  startedAtMs: number;
  atMs: number;
  underWay: number;
  /** Attempts since its start, by what followed from them. */
  attempts: Readonly<Record<'delivered' | 'retry' | 'failed', number>>;
}>;

/** It reports every five seconds; one that is silent for this long is dead or stuck. */
const REPORT_AGE_MS_MAX = 30_000;

/** Returns true if nothing sends webhooks, as far as reports say. */
export const isSenderSilent = (report: Pick<SenderReport, 'atMs'> | null, nowMs: number): boolean =>
  report === null || report.atMs < nowMs - REPORT_AGE_MS_MAX;

const NAME = 'webhook_sender';

export function senderReportCommands(db: Db) {
  const meta = createMeta(db);
  return {
    async report(report: SenderReport): Promise<void> {
      await db.write(() => meta.writeData(NAME, report));
    },
    /** Returns the newest report; null if nothing has ever been sent from here. */
    async lastReport(): Promise<SenderReport | null> {
      return db.read(() => meta.readData<SenderReport>(NAME));
    },
  };
}
