/**
 * Computes what a transaction must offer for its gas now, and more than earlier ones with its number offered. Pure; all
 * in wei.
 *
 * Sources: EIP-1559; go-ethereum's transaction pool, which accepts a replacement that offers 10 % more of both fees.
 * One eighth more also satisfies the pools of other clients.
 *
 * @module
 */
import { divideCeil } from '../../core/money.ts';
import type { Terms } from '../spend.ts';

/** `baseFee` is burned and may rise by an eighth with each block; `tip` goes to the block's producer. */
export type GasPrice = Readonly<{ baseFee: bigint; tip: bigint }>;

/** Leaves room for the base fee to double, which takes six full blocks, before a transaction has to wait. */
const BASE_FEE_HEADROOM = 2n;

export const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const outbidding = (fee: bigint): bigint => larger(divideCeil(fee * 9n, 8n), fee + 1n);

/**
 * Returns `max_fee_per_gas` and `max_priority_fee_per_gas`.
 * @param outbid terms of every earlier transaction with the same number
 */
export function feesToOffer(price: GasPrice, outbid: readonly Terms[]): Readonly<{ maxFee: bigint; tip: bigint }> {
  const tip = outbid.map((terms) => outbidding(BigInt(terms.max_priority_fee_per_gas ?? 0))).reduce(larger, price.tip);
  const maxFee = outbid
    .map((terms) => outbidding(BigInt(terms.max_fee_per_gas ?? 0)))
    .reduce(larger, price.baseFee * BASE_FEE_HEADROOM + tip);
  return { maxFee, tip };
}
