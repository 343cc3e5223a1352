/**
 * Metrics of sending webhooks, by the report of the process that does it.
 * @module
 */
import type { Gauge } from 'prom-client';
import type { Database } from '../database/database.ts';

type MakeGauge = <L extends string>(name: string, help: string, labelNames?: readonly L[]) => Gauge<L>;

/** @param gauge makes a gauge of this installation's registry */
export function createWebhookMetrics(gauge: MakeGauge) {
  const underWay = gauge('webhooks_under_way', 'Attempts of webhook deliveries that are under way.');
  const reportAge = gauge('webhooks_report_age_seconds', 'Time since the process that sends webhooks last reported.');
  const attempts = gauge('webhook_attempts', 'Attempts since that process started, by what followed.', ['verdict']);
  return {
    async read(database: Pick<Database, 'readSenderReport'>, nowMs: number): Promise<void> {
      const report = await database.readSenderReport();
      if (!report) return;
      underWay.set(report.underWay);
      reportAge.set((nowMs - report.atMs) / 1000);
      for (const [verdict, count] of Object.entries(report.attempts)) attempts.set({ verdict }, count);
    },
  };
}
