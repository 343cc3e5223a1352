/**
 * Blocks of a simulated chain: the canonical chain and its orphans. Memory is bounded: below a window under the tip,
 * orphans and empty blocks are dropped and only a limited number of blocks with transactions is kept.
 */
import type { BlockRef } from '../core/block.ts';
import { invariant } from '../core/fault.ts';
import type { Entry, WorldTransaction } from './transaction.ts';

/**
 * `serial` counts every block ever made, so that blocks sort by creation; the last one created is the tip. `price` is
 * what the chain charges for its resources in this block, where that changes from block to block.
 */
export type WorldBlock = BlockRef &
  Readonly<{ serial: number; price?: bigint; transactions: readonly WorldTransaction[] }>;

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

type TreeLimits = Readonly<{
  /** Every block this close to the tip is kept. */
  windowBlocks: number;
  /** At most this many blocks with transactions are kept below the window. */
  olderPaidBlocksMax: number;
}>;

/** The blocks and branches that are kept. */
type State = {
  readonly byHash: Map<string, WorldBlock>;
  /** Ascending by number: blocks are added and removed only at the top, and dropped from the bottom. */
  readonly byNumber: Map<number, WorldBlock>;
  readonly orphans: Map<number, WorldBlock[]>;
  readonly places: Map<string, { block: WorldBlock; index: number }>;
  readonly olderPaid: WorldBlock[];
  tip: WorldBlock;
  /** Below this number only some blocks are kept. */
  sweptTo: number;
};

/**
 * Creates a tree from the blocks of an earlier run.
 * @param kept blocks in order of creation, as `kept` returns them; not empty. The last is the tip.
 */
export function createBlockTree(kept: readonly WorldBlock[], limits: TreeLimits) {
  const { state, bottom } = restore(kept, limits);
  const { byHash, byNumber, places } = state;

  return {
    tip: () => state.tip,
    /** Returns the canonical block with this number. */
    at: (number: number) => byNumber.get(number),
    /**
     * Returns the canonical block with this number or, where numbers may be skipped, the nearest one below; the lowest
     * that is kept if there is none.
     */
    atOrBelow(number: number): WorldBlock {
      for (let below = Math.min(number, state.tip.number); below >= state.sweptTo; below--) {
        const block = byNumber.get(below);
        if (block) return block;
      }
      return bottom;
    },
    /** Returns a block, canonical or orphaned. */
    byHash: (hash: string) => byHash.get(hash),
    /** Every canonical block from this number on is kept; of those below, only some. */
    floor: () => state.sweptTo,
    /** Finds a transaction in the canonical chain. */
    find: (transactionId: string): Readonly<{ block: WorldBlock; index: number }> | undefined =>
      places.get(transactionId),
    /** Returns the newest canonical blocks, oldest first; fewer than `count` when the tree is shorter. */
    newest: (count: number) => newest(state, count),
    /** Drops the newest `dropCount` canonical blocks and connects the branch, which is not empty. */
    replaceTop(dropCount: number, branch: readonly WorldBlock[]): void {
      const dropped = newest(state, dropCount);
      invariant(branch[0]?.parent === (dropped[0]?.parent ?? state.tip.hash), 'a branch starts at the block below it');
      for (const block of dropped.reverse()) {
        unlink(state, block);
        addOrphan(state, block);
      }
      for (const block of branch) {
        byHash.set(block.hash, block);
        link(state, block);
        state.tip = block;
      }
      sweep(state, limits);
    },
    /** Canonical blocks that are kept, oldest first. */
    canonical: (): Iterable<WorldBlock> => byNumber.values(),
    /** Everything that is kept, in order of creation. */
    kept: (): Iterable<WorldBlock> => byHash.values(),
  };
}

/** Returns what is kept of these blocks; `bottom` is the lowest block of the unbroken chain below the tip. */
function restore(kept: readonly WorldBlock[], limits: TreeLimits): Readonly<{ state: State; bottom: WorldBlock }> {
  const tip = kept.at(-1);
  invariant(tip, 'a block tree has at least one block');
  const byHash = new Map(kept.map((block) => [block.hash, block]));
  const state: State = {
    byHash,
    byNumber: new Map(),
    orphans: new Map(),
    places: new Map(),
    olderPaid: [],
    tip,
    sweptTo: 0,
  };
  const chain = newest(state, kept.length);
  const bottom = chain[0] ?? tip;
  state.sweptTo = bottom.number;
  const inChain = new Set(chain);
  for (const block of kept) {
    if (inChain.has(block)) continue;
    if (block.number >= bottom.number) {
      addOrphan(state, block);
      continue;
    }
    // Orphans below the window were dropped, so every block below the unbroken chain was canonical.
    link(state, block);
    if (block.number > 0) state.olderPaid.push(block);
  }
  for (const block of chain) link(state, block);
  sweep(state, limits);
  return { state, bottom };
}

function link({ byNumber, places }: State, block: WorldBlock): void {
  byNumber.set(block.number, block);
  for (const [index, transaction] of block.transactions.entries()) places.set(transaction.id, { block, index });
}

function unlink({ byNumber, places }: State, block: WorldBlock): void {
  byNumber.delete(block.number);
  for (const transaction of block.transactions) places.delete(transaction.id);
}

function addOrphan({ orphans }: State, block: WorldBlock): void {
  const others = orphans.get(block.number);
  if (others) others.push(block);
  else orphans.set(block.number, [block]);
}

function forget(state: State, block: WorldBlock): void {
  unlink(state, block);
  state.byHash.delete(block.hash);
}

/** Drops what the limits do not keep. */
function sweep(state: State, limits: TreeLimits): void {
  const { byHash, byNumber, orphans, olderPaid } = state;
  const horizon = state.tip.number - limits.windowBlocks;
  for (; state.sweptTo < horizon; state.sweptTo++) {
    for (const orphan of orphans.get(state.sweptTo) ?? []) byHash.delete(orphan.hash);
    orphans.delete(state.sweptTo);
    const block = byNumber.get(state.sweptTo);
    // The genesis block stays: every node can show it.
    if (!block || block.number === 0) continue;
    if (block.transactions.length === 0) forget(state, block);
    else olderPaid.push(block);
  }
  while (olderPaid.length > limits.olderPaidBlocksMax) {
    const oldest = olderPaid.shift();
    if (oldest) forget(state, oldest);
  }
}

function newest({ tip, byHash }: State, count: number): WorldBlock[] {
  const run: WorldBlock[] = [];
  for (let block: WorldBlock | undefined = tip; block && run.length < count; block = byHash.get(block.parent)) {
    run.push(block);
  }
  return run.reverse();
}
