/**
 * When a payment's block is deep enough to be credited.
 * @module
 */

/**
 * What must hold for a payment to be credited; all that is named.
 * - `blocks`: its block is this deep, itself included.
 * - `finality`: the node calls its block final. `usual` is the depth that payers are shown then, unless `blocks` is.
 *   Amounts of at most `confirmedParMax` (at par) count as soon as the network confirms their block.
 */
export type ConfirmationPolicy =
  | Readonly<{ blocks: number; finality?: boolean }>
  | Readonly<{ finality: true; usual: number; confirmedParMax?: bigint; blocks?: never }>;

/** Returns the number of confirmations to show to people, also where the node's finality decides. */
export const usualDepth = (policy: ConfirmationPolicy): number => policy.blocks ?? policy.usual;

/** Returns the same for a payment of `par`. A small amount that need not be final counts with its own block. */
export function usualDepthFor(policy: ConfirmationPolicy, par: bigint): number {
  const max = smallParMax(policy);
  return max !== null && par <= max ? 1 : usualDepth(policy);
}

/** Returns the largest amount at par that need not be final; null if all must be, or if depth decides. */
export const smallParMax = (policy: ConfirmationPolicy): bigint | null =>
  policy.blocks === undefined ? (policy.confirmedParMax ?? null) : null;

/**
 * Returns whether transfers in block `number` are due to be confirmed, whatever their amounts.
 * @param tip the newest block that we hold; it counts as the first confirmation of its own transfers
 * @param final the height that the node calls final, or null when it reports none
 */
export function isDue(policy: ConfirmationPolicy, number: number, tip: number, final: number | null): boolean {
  const { blocks = 0, finality = false } = policy;
  return tip - number + 1 >= blocks && (!finality || (final !== null && number <= final));
}

/** Finality that lags by more than this many times its usual depth, and by more than this long, has stalled. */
const FINALITY_LAG_FACTOR = 2;
const FINALITY_LAG_MS_MIN = 300_000;

/** Returns how many blocks a head may be above the final block; null if no payment waits for finality. */
export const finalityLagMax = (policy: ConfirmationPolicy, blockTimeMs: number): number | null =>
  policy.finality
    ? Math.max(FINALITY_LAG_FACTOR * usualDepth(policy), Math.ceil(FINALITY_LAG_MS_MIN / blockTimeMs))
    : null;

/** A transfer in a block that is not final. `address` identifies its recipient. */
export type OpenTransfer = Readonly<{ block: string; address: number; par: bigint }>;

/**
 * Returns the blocks that pay only small amounts. An amount is small when everything that its address received and that
 * is not final adds up to at most `parMax`: a large payment split over transfers or blocks waits as if it were one. A
 * block is credited whole, so it waits if one of its recipients does.
 * @param open every transfer that is not final, credited or not
 */
export function smallBlocks(open: readonly OpenTransfer[], parMax: bigint): ReadonlySet<string> {
  const sums = new Map<number, bigint>();
  for (const { address, par } of open) sums.set(address, (sums.get(address) ?? 0n) + par);
  const small = new Set(open.map(({ block }) => block));
  for (const { block, address } of open) if ((sums.get(address) ?? 0n) > parMax) small.delete(block);
  return small;
}
