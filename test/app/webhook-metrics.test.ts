/** What the sending process reports, as Prometheus reads histograms: buckets that include those below them. */
import { Gauge, Registry } from 'prom-client';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createWebhookMetrics } from '../../src/app/webhook-metrics.ts';
import { createTally } from '../../src/webhooks/tally.ts';
import { openTempDatabase } from '../support/temp-database.ts';

test('attempt times and waits are histograms in seconds', async () => {
  const registry = new Registry();
  const { database, close } = openTempDatabase();
  try {
    const metrics = createWebhookMetrics(
      (name, help, labelNames = []) => new Gauge({ name: `quayside_${name}`, help, labelNames, registers: [registry] }),
    );
    await metrics.read(database, 9_000);
    assert.not.match(await registry.metrics(), /_bucket\{/, 'nothing before the first report');
    const tally = createTally();
    tally.count('delivered', 4, 20);
    tally.count('delivered', 40, 20);
    tally.count('retry', 40_000, null);
    await database.reportSender({ pid: 1, startedAtMs: 0, atMs: 5_000, underWay: 2, ...tally.read() });
    await metrics.read(database, 9_000);
    const lines = (await registry.metrics()).split('\n');
    for (const line of [
      'quayside_webhooks_under_way 2',
      'quayside_webhooks_report_age_seconds 4',
      'quayside_webhook_attempt_seconds_bucket{le="0.005"} 1',
      'quayside_webhook_attempt_seconds_bucket{le="0.05"} 2',
      'quayside_webhook_attempt_seconds_bucket{le="30"} 2',
      'quayside_webhook_attempt_seconds_bucket{le="+Inf"} 3',
      'quayside_webhook_attempt_seconds_sum 40.044',
      'quayside_webhook_attempt_seconds_count 3',
      'quayside_webhook_first_attempt_seconds_bucket{le="0.01"} 0',
      'quayside_webhook_first_attempt_seconds_bucket{le="+Inf"} 2',
      'quayside_webhook_first_attempt_seconds_count 2',
    ]) {
      assert.ok(lines.includes(line), line);
    }
  } finally {
    close();
  }
});

test.run();
