/**
 * Metrics of sending webhooks, by the report of the process that does it.
 */
import type { Gauge } from 'prom-client';
import type { Database } from '../database/database.ts';
import type { Spread } from '../database/sender-report.ts';

type MakeGauge = <L extends string>(name: string, help: string, labelNames?: readonly L[]) => Gauge<L>;

/** @param gauge makes a gauge of this installation's registry */
export function createWebhookMetrics(gauge: MakeGauge) {
  const underWay = gauge('webhooks_under_way', 'Attempts of webhook deliveries that are under way.');
  const reportAge = gauge('webhooks_report_age_seconds', 'Time since the process that sends webhooks last reported.');
  const attempts = gauge('webhook_attempts', 'Attempts since that process started, by what followed.', ['verdict']);
  const attemptTimes = spreadGauges(gauge, 'webhook_attempt_seconds', 'How long attempts took');
  const waits = spreadGauges(gauge, 'webhook_first_attempt_seconds', 'From an event to its first attempt');
  return {
    async read(database: Pick<Database, 'readSenderReport'>, nowMs: number): Promise<void> {
      const report = await database.readSenderReport();
      if (!report) return;
      underWay.set(report.underWay);
      reportAge.set((nowMs - report.atMs) / 1000);
      for (const [verdict, count] of Object.entries(report.attempts)) attempts.set({ verdict }, count);
      attemptTimes(report.attemptMs);
      waits(report.firstAttemptMs);
    },
  };
}

/** Returns what shows a spread as Prometheus' histograms are written: `_bucket` with `le`, `_sum` and `_count`. */
function spreadGauges(gauge: MakeGauge, name: string, what: string): (spread: Spread) => void {
  const bucket = gauge(`${name}_bucket`, `${what}: those of at most \`le\` seconds, since its start.`, ['le']);
  const sum = gauge(`${name}_sum`, `${what}: all seconds together.`);
  const count = gauge(`${name}_count`, `${what}: how many there were.`);
  return ({ boundsMs, counts, sumMs }) => {
    let atMost = 0;
    for (const [at, more] of counts.entries()) {
      atMost += more;
      const bound = boundsMs[at];
      bucket.set({ le: bound === undefined ? '+Inf' : String(bound / 1000) }, atMost);
    }
    sum.set(sumMs / 1000);
    count.set(atMost);
  };
}
