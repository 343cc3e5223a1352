/**
 * Whether a network is being followed, by its follower's last report.
 * @module
 */
import type { NetworkStatus } from './database.ts';

/** A follower reports every second; one that is silent for this long is dead or stuck, whatever it reported last. */
const REPORT_AGE_MS_MAX = 30_000;

/** Returns true while a payment on the network would be seen soon after it is made. */
export const isFollowed = (
  { state, updatedAtMs }: Pick<NetworkStatus, 'state' | 'updatedAtMs'>,
  nowMs: number,
): boolean => state === 'following' && updatedAtMs >= nowMs - REPORT_AGE_MS_MAX;
