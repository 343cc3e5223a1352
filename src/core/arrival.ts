/**
 * Whether money came before or after a session was created.
 * @module
 */
import type { NetworkKey } from './transfer.ts';

/** When a session was created (Unix seconds), and which blocks there were. */
export type Beginning = Readonly<{
  createdAtS: number;
  /** For each network that was followed then, the newest block that certainly came before. */
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
 * Returns the newest block that certainly came before now, or null if that is unknown. Any block that is not final may
 * still be replaced by one with a later payment.
 * @param floor our final height, which may be close below our tip: the tip may be behind, and finality be that of the
 * node's head
 * @param reorgDepthMax how many blocks below the head may be replaced
 */
export function certainlyBefore(
  { tipNumber, headNumber, floor }: Readonly<{ tipNumber: number; headNumber: number | null; floor: number }>,
  reorgDepthMax: number,
): number | null {
  const head = headNumber ?? tipNumber;
  return head - tipNumber > BLOCKS_UNREAD_MAX ? null : Math.max(floor, head - reorgDepthMax);
}
