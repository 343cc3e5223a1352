/**
 * Who is informed about alarms, in one line of `quayside status`.
 * @module
 */
import type { NoticeTarget } from '../../src/database/notices.ts';

/** A dead-man URL informs nobody of an alarm. */
export const informed = (targets: readonly NoticeTarget[]): readonly NoticeTarget[] =>
  targets.filter(({ kind, provedAtMs }) => provedAtMs !== null && kind !== 'dead-man');

export function noticeStatus(targets: readonly NoticeTarget[]) {
  const proved = informed(targets);
  const failing = proved.filter(({ failingSinceMs }) => failingSinceMs !== null).length;
  const waiting = targets.reduce((sum, target) => sum + target.waiting, 0);
  const json = { targets: targets.length, proved: proved.length, failing, waiting };
  const fails = failing === 0 ? '' : `, ${failing} of them get nothing: \`quayside notify list\``;
  const line =
    proved.length === 0
      ? 'nobody is informed about alarms; `quayside notify add --help` says how'
      : `informed about alarms: ${proved.length} proved${fails}`;
  return { json, line };
}
