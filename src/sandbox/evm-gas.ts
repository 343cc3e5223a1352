/**
 * What gas costs on a simulated EVM chain: a constant price, in wei, and a constant amount for each transfer of a
 * transaction.
 *
 * @module
 */
import { type RawTransaction, readRaw } from './evm-raw.ts';
import type { WorldTransaction } from './transaction.ts';

export const GAS_LIMIT = 45_000_000;
export const BASE_FEE_WEI = 1_000_000_000n;
export const TIP_WEI = 1_000_000n;
export const GAS_BASE = 21_000;
const GAS_PER_ENTRY = 30_000;

/** Returns the gas that the transaction needs. */
export const gasOf = ({ entries }: Pick<WorldTransaction, 'entries'>): number =>
  GAS_BASE + GAS_PER_ENTRY * entries.length;

/** Returns the price that a signed transaction pays for a unit of gas. */
export const priceOf = ({ maxFee, tip }: Pick<RawTransaction, 'maxFee' | 'tip'>): bigint => {
  const offered = BASE_FEE_WEI + tip;
  return offered < maxFee ? offered : maxFee;
};

/** Returns the used gas and the price. A transaction with too low a gas limit uses all of it. */
export function gasBill(transaction: WorldTransaction): Readonly<{ gasUsed: number; price: bigint }> {
  const needed = gasOf(transaction);
  if (!transaction.signed) return { gasUsed: needed, price: BASE_FEE_WEI + TIP_WEI };
  const raw = readRaw(transaction.signed.bytes);
  return { gasUsed: Math.min(needed, Number(raw.gasLimit)), price: priceOf(raw) };
}
