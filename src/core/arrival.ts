/**
 * Whether money came before or after a session was created.
 * @module
 */
import type { NetworkKey } from './transfer.ts';

/** When a session was created (Unix seconds), and which blocks there were. */
export type Beginning = Readonly<{
  createdAtS: number;
  /**
   * For each network that was followed then, the newest block that certainly came before. Empty for a session that an
   * older version created.
   */
  beforeNumbers: Readonly<Partial<Record<NetworkKey, number>>>;
}>;

/** Where a transfer came. `blockTimeS` is the block's own clock, which may be far off ours. */
export type Arrival = Readonly<{ network: NetworkKey; blockNumber: number; blockTimeS: number }>;

/** Largest clock skew tolerated between us and a chain if block numbers cannot be compared. */
const CLOCK_SKEW_S_MAX = 600;

/**
 * Returns true for money that came before the session was created. It pays another order: a database that was lost or
 * restored from a backup since then had given the address to somebody else. A chain's clock may be half an hour slow
 * for weeks, so block numbers decide; times do where the network was not followed then.
 */
export function isOlder(
  { beforeNumbers, createdAtS }: Beginning,
  { network, blockNumber, blockTimeS }: Arrival,
): boolean {
  const before = beforeNumbers[network];
  return before === undefined ? blockTimeS < createdAtS - CLOCK_SKEW_S_MAX : blockNumber <= before;
}

/** A head that is further above than a follower reads in one step says nothing: nobody compared its chain with ours. */
const BLOCKS_UNREAD_MAX = 1_024;

/**
 * Returns the newest block that certainly came before now, or null if that is unknown. It is as far below the node's
 * head as our final height is below our tip, because any block above may still be replaced by one with a later payment.
 */
export function certainlyBefore(tipNumber: number, headNumber: number | null, floor: number): number | null {
  const unread = Math.max(0, (headNumber ?? tipNumber) - tipNumber);
  return unread > BLOCKS_UNREAD_MAX ? null : floor + unread;
}
