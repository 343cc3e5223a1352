/**
 * Computes the fees that a transaction must offer per gas now. They exceed those of earlier transactions with the same
 * nonce. Pure; all in wei.
 *
 * Sources: EIP-1559; go-ethereum's transaction pool, which accepts a replacement if both fees are 10 % higher. One
 * eighth more also satisfies the pools of other clients.
 */
import { divideCeil } from '../../core/money.ts';
import type { Terms } from '../../core/spend.ts';

/** `baseFee` is burned and may rise by an eighth with each block. `tip` goes to the block's producer. */
export type GasPrice = Readonly<{ baseFee: bigint; tip: bigint }>;

/** A transaction need not wait until the base fee has doubled, which takes six full blocks. */
const BASE_FEE_HEADROOM = 2n;

export const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const outbidding = (fee: bigint): bigint => larger(divideCeil(fee * 9n, 8n), fee + 1n);

/**
 * Returns the tip that a node suggests, but no more than the median of `paid`. A node's suggestion follows those who
 * pay the most.
 * @param paid a low percentile of the tips in each of the newest blocks; 0 for an empty block
 */
export function goingTip(suggested: bigint, paid: readonly bigint[]): bigint {
  const tips = paid.filter((tip) => tip > 0n).sort((a, b) => (a < b ? -1 : Number(a > b)));
  const median = tips[Math.floor(tips.length / 2)];
  return median !== undefined && median < suggested ? median : suggested;
}

/**
 * Returns `max_fee_per_gas` and `max_priority_fee_per_gas`. If a higher base fee is all that keeps the earlier
 * transactions out of blocks, the tip rises only as far as pools require.
 * @param outbid terms of every earlier transaction with the same nonce
 */
export function feesToOffer(
  { baseFee, tip: now }: GasPrice,
  outbid: readonly Terms[],
): Readonly<{ maxFee: bigint; tip: bigint }> {
  const earlier = outbid.map((terms) => ({
    maxFee: BigInt(terms.max_fee_per_gas ?? 0),
    tip: BigInt(terms.max_priority_fee_per_gas ?? 0),
  }));
  const isPricedOut = earlier.length > 0 && earlier.every((offer) => offer.maxFee < baseFee + offer.tip);
  const tip = earlier.map((offer) => outbidding(offer.tip)).reduce(larger, isPricedOut ? 0n : now);
  const maxFee = earlier.map((offer) => outbidding(offer.maxFee)).reduce(larger, baseFee * BASE_FEE_HEADROOM + tip);
  return { maxFee, tip };
}
