/**
 * Watches stores of merchants and refunds that wait for a decision. Each has an alarm. It contains no amount, address
 * or name, so that outsiders cannot put text on an operator's phone.
 */
import type { Database } from '../../database/database.ts';
import type { Refund } from '../../database/refunds/refund.ts';
import type { MerchantStore } from '../../database/stores.ts';
import type { Finding, Watch } from './watchdog.ts';

/** Most alarms of a kind at a time, for the oldest decisions, so that nobody can pile them up. */
export const DECISIONS_REPORTED_MAX = 20;

export const watchDecisions = ({ stores, refunds }: Database): Watch => ({
  what: 'stores and refunds that wait for a decision',
  rules: ['store_waiting', 'refund_unapproved'],
  async look() {
    const all = await stores.list();
    const waiting = all.filter(({ status }) => status === 'pending');
    const findings = waiting.slice(0, DECISIONS_REPORTED_MAX).map(storeFinding);
    if ((await refunds.list({ isUnapproved: true, limit: 1 })).length === 0) return findings;
    const beginning = { createdAtMs: 0, id: '' };
    for (const { id: storeId } of all) {
      const oldest = { storeId, isUnapproved: true, after: beginning, limit: DECISIONS_REPORTED_MAX };
      findings.push(...(await refunds.list(oldest)).map(refundFinding));
    }
    return findings;
  },
});

const storeFinding = ({ id }: MerchantStore): Finding => ({
  rule: 'store_waiting',
  subject: id,
  network: null,
  message:
    `Store ${id} waits for your decision: \`quayside store decide ${id} approve\`, or ` +
    `\`quayside store decide ${id} suspend --reason …\``,
});

const refundFinding = ({ id, storeId, network }: Refund): Finding => ({
  rule: 'refund_unapproved',
  subject: `${storeId}/${id}`,
  network,
  message:
    `A refund of store ${storeId} (${id}) waits for an approval: look at it with \`quayside show ${id}\`, then ` +
    `\`quayside refund approve ${id}\`, or \`quayside refund reject ${id} --reason …\``,
});
