/**
 * Decides what happens to the transactions of replaced blocks.
 */
import { loggedEntries, type WorldBlock } from '../../src/sandbox/block-tree.ts';
import { isSigned } from '../../src/sandbox/mempool.ts';
import type { WorldTransaction } from '../../src/sandbox/transaction.ts';
import type { Random } from '../support/random.ts';

/**
 * Dropped for good; mined again, never at the same index; mined again for half of them; or pending again, as real nodes
 * keep them.
 */
export const keepChoices = ['none', 'all', 'some', 'pending'] as const;
export type KeepChoice = (typeof keepChoices)[number];

/**
 * Distributes the surviving transactions over `blockCount` new blocks. Signed transactions keep their order, because
 * nonces have no gaps, and of these the first half survives where half does.
 * @param makeNoise makes a transaction between strangers: put first, it moves what follows to another index
 */
export function replay(
  replaced: readonly WorldBlock[],
  keep: KeepChoice,
  blockCount: number,
  random: Random,
  makeNoise: () => WorldTransaction,
): WorldTransaction[][] {
  const all = replaced.flatMap((block) => block.transactions);
  const survivorsOf = (some: readonly WorldTransaction[]) =>
    some.slice(0, { none: 0, all: some.length, some: Math.floor(some.length / 2), pending: 0 }[keep]);
  const shares: WorldTransaction[][] = Array.from({ length: blockCount }, () => []);
  const payments = survivorsOf(random.shuffled(all.filter((one) => !isSigned(one))));
  for (const [at, survivor] of payments.entries()) shares[at % blockCount]?.push(survivor);
  const signed = survivorsOf(all.filter(isSigned));
  for (const [at, survivor] of signed.entries()) {
    shares[Math.floor((at * blockCount) / signed.length)]?.push(survivor);
  }
  const indexBefore = new Map(replaced.flatMap(firstIndexes));
  for (const share of shares) {
    const isUnmoved = () =>
      firstIndexes({ transactions: share }).some(([transaction, index]) => indexBefore.get(transaction) === index);
    while (isUnmoved()) share.unshift(makeNoise());
  }
  return shares;
}

/** Returns the index of each successful transaction's first entry in its block. */
const firstIndexes = (block: Pick<WorldBlock, 'transactions'>): (readonly [WorldTransaction, number])[] =>
  loggedEntries(block)
    .filter(({ transaction, entry }) => transaction.entries[0] === entry)
    .map(({ transaction, index }) => [transaction, index] as const);
