/**
 * Says in one line of `quayside status` who is informed about alarms.
 */
import { isInformed, type NoticeTarget } from '../../src/database/notices.ts';

export function noticeStatus(targets: readonly NoticeTarget[]) {
  const proved = targets.filter(isInformed);
  const failing = proved.filter(({ failingSinceMs }) => failingSinceMs !== null).length;
  const json = { targets: targets.length, proved: proved.length, failing };
  const fails = failing === 0 ? '' : `, ${failing} of them get nothing: see Alarms in the dashboard`;
  const line =
    proved.length === 0
      ? 'nobody is informed about alarms; Alarms in the dashboard adds somebody'
      : `informed about alarms: ${proved.length} proved${fails}`;
  return { json, line };
}
