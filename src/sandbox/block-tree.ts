/**
 * Blocks of a simulated chain: the canonical chain and its orphans. Memory is bounded: below a window under the tip,
 * orphans and empty blocks are dropped and only a limited number of blocks with transactions is kept.
 *
 * @module
 */
import type { BlockRef } from '../core/block.ts';
import { invariant } from '../core/fault.ts';
import type { Entry, WorldTransaction } from './transaction.ts';

/** `serial` counts every block ever made, so that blocks sort by creation; the last one created is the tip. */
export type WorldBlock = BlockRef & Readonly<{ serial: number; transactions: readonly WorldTransaction[] }>;

export type LoggedEntry = Readonly<{
  transaction: WorldTransaction;
  transactionIndex: number;
  entry: Entry;
  /** Index among everything that the block reports (EVM: the log index). */
  index: number;
}>;

/** Returns what the block's successful transactions report, in order. */
export function loggedEntries(block: Pick<WorldBlock, 'transactions'>): LoggedEntry[] {
  const logged: LoggedEntry[] = [];
  for (const [transactionIndex, transaction] of block.transactions.entries()) {
    if (!transaction.succeeded) continue;
    for (const entry of transaction.entries) {
      logged.push({ transaction, transactionIndex, entry, index: logged.length });
    }
  }
  return logged;
}

export type TreeLimits = Readonly<{
  /** Every block this close to the tip is kept. */
  windowBlocks: number;
  /** At most this many blocks with transactions are kept below the window. */
  olderPaidBlocksMax: number;
}>;

export interface BlockTree {
  tip(): WorldBlock;
  /** The canonical block with this number. */
  at(number: number): WorldBlock | undefined;
  /**
   * Returns the canonical block with this number or, where numbers may be skipped, the nearest one below; the lowest
   * that is kept if there is none.
   */
  atOrBelow(number: number): WorldBlock;
  /** Canonical or orphaned. */
  byHash(hash: string): WorldBlock | undefined;
  /** Every canonical block from this number on is kept; of those below, only some. */
  floor(): number;
  /** Finds a transaction in the canonical chain. */
  find(transactionId: string): Readonly<{ block: WorldBlock; index: number }> | undefined;
  /** Other blocks of the same height. */
  siblings(block: BlockRef): WorldBlock[];
  /** The newest canonical blocks, oldest first; fewer than `count` when the tree is shorter. */
  newest(count: number): WorldBlock[];
  /** Drops the newest `dropCount` canonical blocks and connects the branch, which is not empty. */
  replaceTop(dropCount: number, branch: readonly WorldBlock[]): void;
  /** Canonical blocks that are kept, oldest first. */
  canonical(): Iterable<WorldBlock>;
  /** Everything that is kept, in order of creation. */
  kept(): Iterable<WorldBlock>;
}

/**
 * Creates a tree from the blocks of an earlier run.
 * @param kept blocks in order of creation, as returned by `BlockTree.kept`; not empty. The last is the tip.
 */
export function createBlockTree(kept: readonly WorldBlock[], limits: TreeLimits): BlockTree {
  const byHash = new Map(kept.map((block) => [block.hash, block]));
  /** Ascending by number: blocks are added and removed only at the top, and dropped from the bottom. */
  const byNumber = new Map<number, WorldBlock>();
  const orphans = new Map<number, WorldBlock[]>();
  const places = new Map<string, { block: WorldBlock; index: number }>();
  const olderPaid: WorldBlock[] = [];
  const newborn = kept.at(-1);
  invariant(newborn, 'a block tree has at least one block');
  let tip = newborn;

  function link(block: WorldBlock): void {
    byNumber.set(block.number, block);
    for (const [index, transaction] of block.transactions.entries()) places.set(transaction.id, { block, index });
  }

  function unlink(block: WorldBlock): void {
    byNumber.delete(block.number);
    for (const transaction of block.transactions) places.delete(transaction.id);
  }

  function addOrphan(block: WorldBlock): void {
    const others = orphans.get(block.number);
    if (others) others.push(block);
    else orphans.set(block.number, [block]);
  }

  function forget(block: WorldBlock): void {
    unlink(block);
    byHash.delete(block.hash);
  }

  function sweep(): void {
    const horizon = tip.number - limits.windowBlocks;
    for (; sweptTo < horizon; sweptTo++) {
      for (const orphan of orphans.get(sweptTo) ?? []) byHash.delete(orphan.hash);
      orphans.delete(sweptTo);
      const block = byNumber.get(sweptTo);
      // The genesis block stays: every node can show it.
      if (!block || block.number === 0) continue;
      if (block.transactions.length === 0) forget(block);
      else olderPaid.push(block);
    }
    while (olderPaid.length > limits.olderPaidBlocksMax) {
      const oldest = olderPaid.shift();
      if (oldest) forget(oldest);
    }
  }

  function newest(count: number): WorldBlock[] {
    const run: WorldBlock[] = [];
    for (let block: WorldBlock | undefined = tip; block && run.length < count; block = byHash.get(block.parent)) {
      run.push(block);
    }
    return run.reverse();
  }

  const chain = newest(kept.length);
  const bottom = chain[0] ?? tip;
  let sweptTo = bottom.number;
  const inChain = new Set(chain);
  for (const block of kept) {
    if (inChain.has(block)) continue;
    if (block.number >= bottom.number) {
      addOrphan(block);
      continue;
    }
    // Orphans below the window were dropped, so every block below the unbroken chain was canonical.
    link(block);
    if (block.number > 0) olderPaid.push(block);
  }
  for (const block of chain) link(block);
  sweep();

  function atOrBelow(number: number): WorldBlock {
    for (let below = Math.min(number, tip.number); below >= sweptTo; below--) {
      const block = byNumber.get(below);
      if (block) return block;
    }
    return bottom;
  }

  return {
    tip: () => tip,
    at: (number) => byNumber.get(number),
    atOrBelow,
    byHash: (hash) => byHash.get(hash),
    floor: () => sweptTo,
    find: (transactionId) => places.get(transactionId),
    siblings: (block) =>
      [byNumber.get(block.number), ...(orphans.get(block.number) ?? [])].filter(
        (other): other is WorldBlock => other !== undefined && other.hash !== block.hash,
      ),
    newest,
    replaceTop(dropCount, branch) {
      const dropped = newest(dropCount);
      invariant(branch[0]?.parent === (dropped[0]?.parent ?? tip.hash), 'a branch starts at the block below it');
      for (const block of dropped.reverse()) {
        unlink(block);
        addOrphan(block);
      }
      for (const block of branch) {
        byHash.set(block.hash, block);
        link(block);
        tip = block;
      }
      sweep();
    },
    canonical: () => byNumber.values(),
    kept: () => byHash.values(),
  };
}
