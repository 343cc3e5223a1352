/**
 * Whether a network is being watched, by what its follower last reported.
 * @module
 */
import type { NetworkStatus } from './database.ts';

/** A follower reports every second; one that is silent for so long is dead or stuck, whatever its last report says. */
const REPORT_AGE_MS_MAX = 30_000;

/** True while a payment on the network would be seen soon after it is made. */
export const isFollowed = (
  { state, updatedAtMs }: Pick<NetworkStatus, 'state' | 'updatedAtMs'>,
  nowMs: number,
): boolean => state === 'following' && updatedAtMs >= nowMs - REPORT_AGE_MS_MAX;
