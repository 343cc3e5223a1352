/**
 * Differences between two readings of one block.
 * @module
 */
import type { ChainTransfer } from '../../src/core/transfer.ts';

/** A transfer as the second reading has it. `from` is null where the chain does not say who paid. */
export type SecondTransfer = Omit<ChainTransfer, 'from'> & Readonly<{ from: string | null }>;

/**
 * One transfer that the readings do not agree on; null where a reading does not have it. `level`: in the follower's
 * answer as its family's decoder reads it, or, if that is right, only in what the follower matched with the watched
 * addresses.
 */
export type Difference = Readonly<{
  level: 'decoded' | 'matched';
  tx: string;
  index: number;
  follower: ChainTransfer | null;
  second: SecondTransfer | null;
}>;

/** Compares all transfers of a block; the order does not matter. */
export function compareTransfers(
  level: Difference['level'],
  follower: readonly ChainTransfer[],
  second: readonly SecondTransfer[],
): Difference[] {
  const keyOf = ({ tx, index, to }: SecondTransfer): string => `${tx} ${index} ${to}`;
  const left = new Map(second.map((transfer) => [keyOf(transfer), transfer]));
  const found: Difference[] = [];
  for (const own of follower) {
    const key = keyOf(own);
    const other = left.get(key) ?? null;
    left.delete(key);
    if (!other || !isSame(own, other))
      found.push({ level, tx: own.tx, index: own.index, follower: own, second: other });
  }
  for (const other of left.values()) {
    found.push({ level, tx: other.tx, index: other.index, follower: null, second: other });
  }
  return found;
}

const isSame = (own: ChainTransfer, other: SecondTransfer): boolean =>
  own.units === other.units && own.currency === other.currency && (other.from === null || own.from === other.from);
