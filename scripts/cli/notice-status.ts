/**
 * Who is informed about alarms, in one line of `quayside status`.
 * @module
 */
import { isInformed, type NoticeTarget } from '../../src/database/notices.ts';

/** Says how many are paused, and what ends that; empty where none is. */
export const pausedText = (targets: readonly NoticeTarget[]): string => {
  const paused = targets.filter(({ pausedAtMs }) => pausedAtMs !== null);
  return paused.length === 0 ? '' : `${paused.length} paused: \`quayside notify resume ${paused[0]?.id}\``;
};

export function noticeStatus(targets: readonly NoticeTarget[]) {
  const proved = targets.filter(isInformed);
  const paused = targets.filter(({ pausedAtMs }) => pausedAtMs !== null).length;
  const failing = proved.filter(({ failingSinceMs }) => failingSinceMs !== null).length;
  const waiting = targets.reduce((sum, target) => sum + target.waiting, 0);
  const json = { targets: targets.length, proved: proved.length, failing, paused, waiting };
  const fails = failing === 0 ? '' : `, ${failing} of them get nothing: \`quayside notify list\``;
  const isPaused = paused === 0 ? '' : `, ${pausedText(targets)}`;
  const line =
    proved.length === 0
      ? `nobody is informed about alarms${isPaused || '; `quayside notify add --help` says how'}`
      : `informed about alarms: ${proved.length} proved${fails}${isPaused}`;
  return { json, line };
}
