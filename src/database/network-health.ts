/**
 * The health of networks by their followers' last reports: which are followed, and which new sessions offer.
 */
import type { NetworkKey } from '../core/transfer.ts';

/** A follower reports every second; one that is silent for this long is dead or stuck, whatever it reported last. */
const REPORT_AGE_MS_MAX = 30_000;

/** A network stays on offer for this long after it was last read to its head, so that a restart refuses nobody. */
const READ_AGE_S_MAX = 120;

/** Returns true while a payment on the network would be seen soon after it is made. */
export const isFollowed = (
  { state, updatedAtMs }: Pick<NetworkStatus, 'state' | 'updatedAtMs'>,
  nowMs: number,
): boolean => state === 'following' && !isSilent({ updatedAtMs }, nowMs);

/** Returns true if the network's indexer has stopped reporting. */
export const isSilent = ({ updatedAtMs }: Pick<NetworkStatus, 'updatedAtMs'>, nowMs: number): boolean =>
  updatedAtMs < nowMs - REPORT_AGE_MS_MAX;

/**
 * Returns when a network's node was last heard, where that is so long ago that its figures say nothing about now; null
 * while they do.
 */
export function staleSinceMs(
  { nodeHeardAtMs, updatedAtMs }: Pick<NetworkStatus, 'nodeHeardAtMs' | 'updatedAtMs'>,
  nowMs: number,
): number | null {
  const heardAtMs = Math.min(nodeHeardAtMs, updatedAtMs);
  return heardAtMs < nowMs - REPORT_AGE_MS_MAX ? heardAtMs : null;
}

/**
 * Returns until when payments on a network were seen, where it has not been read to its head for half a minute; null
 * while they are seen. A restart is shorter, and needs nobody.
 */
export function unseenSinceMs(
  status: Pick<NetworkStatus, 'state' | 'updatedAtMs' | 'readThroughS'>,
  nowMs: number,
): number | null {
  const readMs = status.readThroughS * 1000;
  if (isFollowed(status, nowMs)) return null;
  return status.state === 'halted' || readMs < nowMs - REPORT_AGE_MS_MAX ? readMs : null;
}

/**
 * Returns why a payment on the network would not be seen soon, as a code and a sentence; null while it would.
 * @param status null if its indexer has never reported
 */
export function whyUnfollowed(
  status: Pick<NetworkStatus, 'state' | 'reason' | 'updatedAtMs'> | null,
  nowMs: number,
): NonNullable<NetworkStatus['reason']> | null {
  if (!status) return { code: 'not_started', message: 'its indexer has never reported' };
  const { state, reason, updatedAtMs } = status;
  if (isFollowed(status, nowMs)) return null;
  if (state === 'halted' || !isSilent(status, nowMs)) return reason ?? { code: state, message: `it is ${state}` };
  const silentS = Math.floor((nowMs - updatedAtMs) / 1000);
  return { code: 'indexer_silent', message: `its indexer has reported nothing for ${silentS} s` };
}

/** Returns true while new sessions may offer the network: it is followed, or was read to its head just before. */
export const isOffered = (
  status: Pick<NetworkStatus, 'state' | 'updatedAtMs' | 'readThroughS'>,
  nowMs: number,
): boolean =>
  isFollowed(status, nowMs) ||
  (status.state !== 'halted' && status.readThroughS >= Math.floor(nowMs / 1000) - READ_AGE_S_MAX);

/** Returns the networks that new sessions may offer: those that are offered, and were read from some block on. */
export const offeredNetworks = (reports: readonly NetworkStatus[], nowMs: number): ReadonlySet<NetworkKey> =>
  new Set(reports.flatMap((report) => (report.cursor !== null && isOffered(report, nowMs) ? report.network : [])));

export type NetworkState = 'starting' | 'following' | 'behind' | 'fault' | 'halted';

/** A network as its follower last reported it. Numbers are heights; null before the first answer of a node. */
export type NetworkStatus = Readonly<{
  network: NetworkKey;
  state: NetworkState;
  /** A code and a sentence: why `state` is `behind`, `fault` or `halted`, or why a followed network credits nothing. */
  reason: Readonly<{ code: string; message: string }> | null;
  cursor: Readonly<{ hash: string; number: number; timeS: number }> | null;
  headNumber: number | null;
  nodeConnected: boolean;
  nodeHeardAtMs: number;
  floor: number;
  readThroughS: number;
  updatedAtMs: number;
  pid: number;
}>;

/** A follower's report between commits; the cursor is not part of it. */
export type NetworkReport = Pick<
  NetworkStatus,
  'network' | 'state' | 'reason' | 'headNumber' | 'nodeConnected' | 'nodeHeardAtMs' | 'readThroughS' | 'pid'
> &
  Readonly<{
    nowMs: number;
    /** The `recoveryCount` of the position that it is about: of an earlier one, neither state nor reason is saved. */
    recoveries?: number;
  }>;
