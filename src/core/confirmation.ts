/**
 * When a payment's block is deep enough to be credited.
 * @module
 */

/**
 * `depth`: so many blocks, the block itself included. `finalized`: the node's own finality; `usual` is the depth to tell payers. Money of at
 * most `confirmedParMax` (at par) counts as soon as the network confirms its block; absent: all money waits until it is final.
 */
export type ConfirmationPolicy =
  | Readonly<{ kind: 'depth'; blocks: number }>
  | Readonly<{ kind: 'finalized'; usual: number; confirmedParMax?: bigint }>;

/** How many confirmations to tell people of, also where the node's finality decides. */
export const usualDepth = (policy: ConfirmationPolicy): number =>
  policy.kind === 'depth' ? policy.blocks : policy.usual;

/** The same for who pays so much at par. A small amount that need not be final counts with its own block. */
export function usualDepthFor(policy: ConfirmationPolicy, par: bigint): number {
  const max = smallParMax(policy);
  return max !== null && par <= max ? 1 : usualDepth(policy);
}

/** How much money at par need not be final; null where all of it must be, or where finality does not decide. */
export const smallParMax = (policy: ConfirmationPolicy): bigint | null =>
  policy.kind === 'finalized' ? (policy.confirmedParMax ?? null) : null;

/**
 * Whether transfers in block `number` are due to be confirmed, whatever their amounts.
 * @param tip the newest block we hold; it counts as the first confirmation of its own transfers
 * @param final the height that the node calls final, or null when it names none
 */
export function isDue(policy: ConfirmationPolicy, number: number, tip: number, final: number | null): boolean {
  if (policy.kind === 'depth') return tip - number + 1 >= policy.blocks;
  return final !== null && number <= final;
}

/** Money in a block that is not final. `address` names whom it pays. */
export type OpenTransfer = Readonly<{ block: string; address: number; par: bigint }>;

/**
 * The blocks that pay small amounts only. An amount is small when all that came to its address and is not final, together, is at most
 * `parMax`: who splits a large payment, over transfers or over blocks, waits as if it were one. A block is credited whole, so it waits when
 * one of those it pays does.
 * @param open every transfer that is not final, credited or not
 */
export function smallBlocks(open: readonly OpenTransfer[], parMax: bigint): ReadonlySet<string> {
  const sums = new Map<number, bigint>();
  for (const { address, par } of open) sums.set(address, (sums.get(address) ?? 0n) + par);
  const small = new Set(open.map(({ block }) => block));
  for (const { block, address } of open) if ((sums.get(address) ?? 0n) > parMax) small.delete(block);
  return small;
}
