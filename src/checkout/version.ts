/**
 * A short hash that changes whenever the page of a session changes, whatever its language.
 */
import { createHash } from 'node:crypto';
import type { Lookup } from '../database/lookups.ts';
import { isFollowed, type NetworkStatus } from '../database/network-health.ts';
import type { Refund } from '../database/refunds/refund.ts';
import type { Session } from '../database/session.ts';
import { toSeconds } from '../lib/clock.ts';
import { isAwaited, isUnanswered } from './lookup.ts';
import { pageState } from './state.ts';

/** What the page of a session depends on besides the session. */
type Surroundings = Readonly<{
  reports: readonly NetworkStatus[];
  lookups: readonly Lookup[];
  refunds: readonly Refund[];
  isSuspended: boolean;
}>;

/** Returns the version. It is also the id of the page's events, which a reconnecting browser sends. */
export function pageVersion(
  session: Session,
  { reports, lookups, refunds, isSuspended }: Surroundings,
  nowMs: number,
): string {
  const { life, standing, payments, options } = session;
  const own = new Set(options.map(({ networkKey }) => networkKey));
  const up = reports.filter((report) => own.has(report.network) && isFollowed(report, nowMs));
  const { kind, deadlineS } = pageState(session, toSeconds(nowMs));
  const shown = [
    kind,
    isSuspended,
    deadlineS,
    life,
    standing,
    payments.map(({ tx, index, block, confirmations, state }) => [tx, index, block, confirmations, state]),
    up.map(({ network }) => network).sort(),
    lookups.map((one) => [one.network, one.tx, one.finding, isAwaited(one, nowMs), isUnanswered(one, nowMs)]),
    refunds.map(({ id, status, tx, destination }) => [id, status, tx, destination?.key]),
  ];
  const text = JSON.stringify(shown, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}
