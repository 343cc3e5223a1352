/** Decides whether money arrived before or after a session was created. */
import type { NetworkKey } from './transfer.ts';

/** The time when a session was created (Unix seconds), and the newest blocks of that time. */
export type Beginning = Readonly<{
  createdAtS: number;
  /** For each network followed at creation, the newest block that is certainly older than the session. */
  beforeNumbers: Readonly<Partial<Record<NetworkKey, number>>>;
}>;

/** The block in which a transfer arrived. `blockTimeS` is the block's own clock, which may be far off ours. */
export type Arrival = Readonly<{ network: NetworkKey; blockNumber: number; blockTimeS: number }>;

/** Largest clock skew tolerated between us and a chain if block numbers cannot be compared. */
const CLOCK_SKEW_S_MAX = 600;

/**
 * Returns true for money older than the session. It pays another order, to which the address belonged before the
 * database was lost or restored from a backup.
 * A chain's clock may be half an hour slow for weeks, so block numbers decide. Times decide only where the network was
 * not followed at creation.
 */
export function isOlder(
  { beforeNumbers, createdAtS }: Beginning,
  { network, blockNumber, blockTimeS }: Arrival,
): boolean {
  const before = beforeNumbers[network];
  return before === undefined ? blockTimeS < createdAtS - CLOCK_SKEW_S_MAX : blockNumber <= before;
}

/**
 * Most blocks of a head above our tip. A follower reads no more in one step, and a higher head was not compared with
 * our chain.
 */
const BLOCKS_UNREAD_MAX = 1_024;

/**
 * Returns the newest block that is certainly older than now, or null if that is unknown. Any block that is not final
 * may still be replaced by one with a later payment.
 * @param floor our final height, which may be close below our tip. The tip lags, and finality is judged from the node's
 * head
 * @param reorgDepthMax number of blocks below the head that may be replaced
 */
export function certainlyBefore(
  { tipNumber, headNumber, floor }: Readonly<{ tipNumber: number; headNumber: number | null; floor: number }>,
  reorgDepthMax: number,
): number | null {
  const head = headNumber ?? tipNumber;
  return head - tipNumber > BLOCKS_UNREAD_MAX ? null : Math.max(floor, head - reorgDepthMax);
}
