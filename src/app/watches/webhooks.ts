/**
 * Watches webhooks: endpoints that are disabled or accept nothing, deliveries that failed for good, and due deliveries
 * that nothing sends.
 */
import type { Deliveries } from '../../database/database.ts';
import { FAILED_COUNTED_MAX } from '../../database/events.ts';
import type { Finding, Watch } from './watchdog.ts';

/** Time for which an endpoint may accept nothing. A deployment takes minutes, and retries go on. */
const FAILING_MS = 3_600_000;
/** Longest wait of a due delivery for the sender. */
const DUE_MS = 300_000;
/** Time for which deliveries that failed for good are reported. */
const FAILED_MS = 86_400_000;

const since = (ms: number) => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');

export function watchWebhooks(deliveries: Deliveries): Watch {
  return {
    what: 'webhooks',
    rules: ['webhook_off', 'webhook_failing', 'webhooks_failed', 'webhooks_delayed'],
    async look(nowMs) {
      const trouble = await deliveries.trouble(nowMs, nowMs - FAILED_MS);
      const { failing, disabled, dueSinceMs, failed } = trouble;
      const findings: Finding[] = [];
      for (const { id, url, reason } of disabled) {
        const message = `the webhook endpoint ${id} (${url}) is disabled${reason ? `: ${reason}` : ''}`;
        findings.push({ rule: 'webhook_off', subject: id, message });
      }
      for (const { id, url, sinceMs } of failing) {
        if (nowMs - sinceMs < FAILING_MS) continue;
        const message = `the webhook endpoint ${id} (${url}) has accepted nothing since ${since(sinceMs)} UTC`;
        findings.push({ rule: 'webhook_failing', subject: id, message });
      }
      if (failed > 0) {
        const count = failed < FAILED_COUNTED_MAX ? `${failed}` : `${FAILED_COUNTED_MAX} or more`;
        const message = `Webhook deliveries of the last day failed for good (${count})`;
        findings.push({ rule: 'webhooks_failed', message });
      }
      if (dueSinceMs !== null && nowMs - dueSinceMs >= DUE_MS) {
        const message = `webhooks that are due since ${since(dueSinceMs)} UTC are not sent. Read the log of the process that sends them`;
        findings.push({ rule: 'webhooks_delayed', message });
      }
      return findings;
    },
  };
}
