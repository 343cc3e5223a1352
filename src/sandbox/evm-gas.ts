/**
 * The price of gas on a simulated EVM chain: a base fee that follows the blocks' gas (EIP-1559), tips, and a constant
 * amount of gas for each transfer of a transaction. All in wei.
 *
 * Sources: EIP-1559; go-ethereum's `eth/gasprice` (the suggested tip, and the weighing of `eth_feeHistory`).
 */
import type { WorldBlock } from './block-tree.ts';
import type { EvmDialect } from './evm-dialect.ts';
import { type RawTransaction, readRaw } from './evm-raw.ts';
import type { WorldTransaction } from './transaction.ts';

/** The most gas that a transaction may ask for (EIP-7825). */
export const TRANSACTION_GAS_MAX = 2n ** 24n;
export const GAS_BASE = 21_000;
const GAS_PER_ENTRY = 30_000;
const GAS_OF_SYSTEM = 1_756;
/** The base fee moves by at most this part with each block. */
const BASE_FEE_STEP = 8n;

/** The tips of each block that count for the suggestion, and the lowest that does. */
const SUGGESTING_TIPS = 3;
const SUGGESTING_TIP_MIN = 2n;
const SUGGESTED_PERCENTILE = 60;

/** Returns the gas that the transaction needs. */
export const gasOf = ({ entries, isSystem }: Pick<WorldTransaction, 'entries' | 'isSystem'>): number =>
  isSystem ? GAS_OF_SYSTEM : GAS_BASE + GAS_PER_ENTRY * entries.length;

export const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);

/** Returns the price that a signed transaction pays for a unit of gas at a base fee. */
export const priceOf = ({ maxFeeWei, tipWei }: Pick<RawTransaction, 'maxFeeWei' | 'tipWei'>, baseFee: bigint): bigint =>
  smaller(baseFee + tipWei, maxFeeWei);

/** The base fee of a block. */
export const baseFeeOf = ({ price }: WorldBlock, { baseFeeMin }: EvmDialect): bigint => price ?? baseFeeMin ?? 0n;

/** The gas that was used by a transaction, its price in its block, and the tip in it. */
type GasBill = Readonly<{ gasUsed: number; price: bigint; tip: bigint }>;

/** A transaction with too low a gas limit uses all of it. */
export function gasBill(transaction: WorldTransaction, block: WorldBlock, dialect: EvmDialect): GasBill {
  const needed = gasOf(transaction);
  if (transaction.isSystem) return { gasUsed: needed, price: 0n, tip: 0n };
  const baseFee = baseFeeOf(block, dialect);
  if (!transaction.signed) return { gasUsed: needed, price: baseFee + dialect.tip, tip: dialect.tip };
  const raw = readRaw(transaction.signed.bytes);
  const price = priceOf(raw, baseFee);
  return { gasUsed: Math.min(needed, Number(raw.gas)), price, tip: price - baseFee };
}

export const gasUsedBy = (block: WorldBlock, dialect: EvmDialect): number =>
  block.transactions.reduce((sum, transaction) => sum + gasBill(transaction, block, dialect).gasUsed, 0);

/** Returns the part of the gas limit that a block used, at most 1. */
export const fullnessOf = (block: WorldBlock, dialect: EvmDialect): number =>
  Math.min(1, gasUsedBy(block, dialect) / dialect.gasLimit);

/** Returns the base fee of the block after this one. */
export function nextBaseFee(block: WorldBlock, dialect: EvmDialect): bigint {
  if (dialect.baseFeeMin === null) return 0n;
  const now = baseFeeOf(block, dialect);
  const target = BigInt(dialect.gasLimit / 2);
  const used = smaller(BigInt(gasUsedBy(block, dialect)), BigInt(dialect.gasLimit));
  const next = now + (now * (used - target)) / target / BASE_FEE_STEP;
  return next > dialect.baseFeeMin ? next : dialect.baseFeeMin;
}

/** Returns the tips of a block's transactions, each with its gas, lowest first. */
function tipsIn(block: WorldBlock, dialect: EvmDialect): GasBill[] {
  const bills = block.transactions.filter(({ isSystem }) => !isSystem).map((one) => gasBill(one, block, dialect));
  return bills.sort((a, b) => (a.tip < b.tip ? -1 : Number(a.tip > b.tip)));
}

/** Returns the tips at these percentiles of a block's gas; 0 for an empty block. */
export function tipPercentiles(block: WorldBlock, dialect: EvmDialect, percentiles: readonly number[]): bigint[] {
  const bills = tipsIn(block, dialect);
  const total = bills.reduce((sum, { gasUsed }) => sum + gasUsed, 0);
  return percentiles.map((percentile) => {
    let below = 0;
    const at = bills.find(({ gasUsed }) => {
      below += gasUsed;
      return below >= (total * percentile) / 100;
    });
    return at?.tip ?? 0n;
  });
}

/** Returns the tip that a node suggests, from the newest blocks. */
export function suggestedTip(blocks: readonly WorldBlock[], dialect: EvmDialect): bigint {
  const paid = blocks.flatMap((block) => {
    const tips = tipsIn(block, dialect).map(({ tip }) => tip);
    const counted = tips.filter((tip) => tip >= SUGGESTING_TIP_MIN).slice(0, SUGGESTING_TIPS);
    return counted.length > 0 ? counted : [dialect.tip];
  });
  paid.sort((a, b) => (a < b ? -1 : Number(a > b)));
  return paid[Math.floor(((paid.length - 1) * SUGGESTED_PERCENTILE) / 100)] ?? dialect.tip;
}
