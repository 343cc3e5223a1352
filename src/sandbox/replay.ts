/**
 * What becomes of the transactions of replaced blocks.
 * @module
 */
import { loggedEntries, type WorldBlock } from './block-tree.ts';
import type { Random } from './random.ts';
import type { WorldTransaction } from './transaction.ts';

/** Gone for good; mined again, never at the same index; or mined again for half of them. */
export const keepChoices = ['none', 'all', 'some'] as const;
export type KeepChoice = (typeof keepChoices)[number];

/**
 * Deals the surviving transactions out to `blockCount` new blocks.
 * @param makeNoise makes a transaction between strangers: put in front, it moves what follows to another index
 */
export function replay(
  replaced: readonly WorldBlock[],
  keep: KeepChoice,
  blockCount: number,
  random: Random,
  makeNoise: () => WorldTransaction,
): WorldTransaction[][] {
  const all = replaced.flatMap((block) => block.transactions);
  const survivorCount = { none: 0, all: all.length, some: Math.floor(all.length / 2) }[keep];
  const shares: WorldTransaction[][] = Array.from({ length: blockCount }, () => []);
  for (const [at, survivor] of random.shuffled(all).slice(0, survivorCount).entries()) {
    shares[at % blockCount]?.push(survivor);
  }
  const indexBefore = new Map(replaced.flatMap(firstIndexes));
  for (const share of shares) {
    const standsStill = () =>
      firstIndexes({ transactions: share }).some(([transaction, index]) => indexBefore.get(transaction) === index);
    while (standsStill()) share.unshift(makeNoise());
  }
  return shares;
}

/** Where each successful transaction's first entry stands in its block. */
const firstIndexes = (block: Pick<WorldBlock, 'transactions'>): (readonly [WorldTransaction, number])[] =>
  loggedEntries(block)
    .filter(({ transaction, entry }) => transaction.entries[0] === entry)
    .map(({ transaction, index }) => [transaction, index] as const);
