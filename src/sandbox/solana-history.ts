/**
 * What transactions did to the lamports of a simulated Solana account.
 */
import type { WorldBlock } from './block-tree.ts';
import type { CoinChange } from './solana-render.ts';
import type { WorldTransaction } from './transaction.ts';
import type { World } from './world.ts';

/** Returns what a transaction of a block did to the lamports of those it sent some, in the order of their names. */
export function coinChanges(world: World, block: WorldBlock, transaction: WorldTransaction): readonly CoinChange[] {
  const { sender, native = [], succeeded } = transaction;
  const accounts = world.accounts(block.number - 1);
  for (const earlier of block.transactions) {
    if (earlier.id === transaction.id) break;
    accounts.add(earlier);
  }
  const keys = [...new Set(native.map(({ to }) => to))].filter((key) => key !== sender);
  return keys.map((key) => {
    const before = accounts.native(key);
    const given = native.reduce((sum, { to, units }) => (to === key ? sum + units : sum), 0n);
    return { key, before, after: succeeded ? before + given : before };
  });
}
