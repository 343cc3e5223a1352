/**
 * The price of gas on a simulated EVM chain: a base fee (EIP-1559) and a tip that never move, unless a test moves the
 * world's price, and a constant amount of gas for each transfer of a transaction. All in wei.
 */
import type { WorldBlock } from './block-tree.ts';
import type { EvmDialect } from './evm-dialect.ts';
import { type RawTransaction, readRaw } from './evm-raw.ts';
import type { WorldTransaction } from './transaction.ts';

const GAS_BASE = 21_000;
const GAS_PER_ENTRY = 30_000;

/** Returns the gas that the transaction needs. */
export const gasOf = ({ entries }: Pick<WorldTransaction, 'entries'>): number =>
  GAS_BASE + GAS_PER_ENTRY * entries.length;

export const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);

/** Returns the price that a signed transaction pays for a unit of gas at a base fee. */
export const priceOf = ({ maxFeeWei, tipWei }: Pick<RawTransaction, 'maxFeeWei' | 'tipWei'>, baseFee: bigint): bigint =>
  smaller(baseFee + tipWei, maxFeeWei);

/** The base fee of a block. */
export const baseFeeOf = ({ price }: WorldBlock, { baseFee }: EvmDialect): bigint => price ?? baseFee;

/** The gas that was used by a transaction, and its price in its block. */
type GasBill = Readonly<{ gasUsed: number; price: bigint }>;

/** A transaction with too low a gas limit uses all of it. */
export function gasBill(transaction: WorldTransaction, block: WorldBlock, dialect: EvmDialect): GasBill {
  const needed = gasOf(transaction);
  const baseFee = baseFeeOf(block, dialect);
  if (!transaction.signed) return { gasUsed: needed, price: baseFee + dialect.tip };
  const raw = readRaw(transaction.signed.bytes);
  return { gasUsed: Math.min(needed, Number(raw.gas)), price: priceOf(raw, baseFee) };
}

export const gasUsedBy = (block: WorldBlock, dialect: EvmDialect): number =>
  block.transactions.reduce((sum, transaction) => sum + gasBill(transaction, block, dialect).gasUsed, 0);

/** Returns the part of the gas limit that a block used, at most 1. */
export const fullnessOf = (block: WorldBlock, dialect: EvmDialect): number =>
  Math.min(1, gasUsedBy(block, dialect) / dialect.gasLimit);
