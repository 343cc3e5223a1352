/**
 * A simulated chain: accounts pay each other, blocks are mined, the newest blocks may be replaced, and the world knows
 * the truth about it. Equal seeds, clocks and calls make equal chains. It knows no chain family; node servers render
 * it for theirs.
 */
import { permanent, transient } from '../core/fault.ts';
import { type Clock, toSeconds } from '../lib/clock.ts';
import { type Accounts, accountsOf } from './accounts.ts';
import { createBlockTree, type WorldBlock } from './block-tree.ts';
import { digest } from './digest.ts';
import { type Admit, chooseForBlock, isSigned, type NextBlock } from './mempool.ts';
import { buildFunding, buildTransaction, type Payment, type WorldTransaction } from './transaction.ts';

export type WorldOptions = Readonly<{
  seed: string;
  clock: Pick<Clock, 'nowMs'>;
  /** Returns a block's hash from its height and 64 hex digits; the digits themselves if absent. */
  blockHash?: (number: number, digits: string) => string;
  /** Whether no block has this number (never 0); every number has one if absent. */
  isSkipped?: (number: number) => boolean;
  /** Which signed transactions the family's blocks include; all if absent. */
  admit?: Admit;
  /** Returns what the chain charges in the block after this one, where that changes. */
  price?: (parent: WorldBlock) => bigint;
  /** A block this far below the tip is final. */
  finalityDistance: number;
  /** Blocks kept below the tip; at least as many as a follower may still ask for. */
  windowBlocks?: number;
  /** Blocks with transactions kept below the window. */
  olderPaidBlocksMax?: number;
  /** Records that an earlier run of this world kept, in order of creation. */
  kept?: readonly WorldBlock[];
  /** Makes a block durable. Called before anyone can see the block; if it throws, the block was never mined. */
  record?: (block: WorldBlock) => void;
}>;

export type ReorgOptions = Readonly<{
  /** How many of the newest blocks are replaced. */
  depth: number;
  /** Returns the transactions of each new block; as many empty blocks if absent. */
  fill?: (removed: readonly WorldBlock[]) => readonly (readonly WorldTransaction[])[];
  /** Allows replacing final blocks, which an honest chain never does. */
  breakFinality?: boolean;
}>;

/** Blocks that left and joined the canonical chain, each oldest first. */
export type Change = Readonly<{ removed: readonly WorldBlock[]; added: readonly WorldBlock[] }>;

export type World = Readonly<ReturnType<typeof createWorld>>;

/** A block, or what comes before the first one. */
type Parent = WorldBlock | Pick<WorldBlock, 'hash' | 'number' | 'timeS'>;

const PENDING_MAX = 10_000;
const BLOCK_TRANSACTIONS_MAX = 2000;
const REORG_BLOCKS_MAX = 4096;
const WINDOW_BLOCKS = 16_384;
const OLDER_PAID_BLOCKS_MAX = 10_000;

const refused = (why: string) => permanent('sandbox_request_invalid', why);

export function createWorld(options: WorldOptions) {
  const { seed, clock, finalityDistance } = options;
  const record = options.record ?? (() => {});
  const listeners = new Set<(change: Change) => void>();
  let pending: WorldTransaction[] = [];
  let kept = options.kept ?? [];
  let serial = (kept.at(-1)?.serial ?? -1) + 1;
  if (kept.length === 0) {
    const genesis = makeBlock({ hash: '0'.repeat(64), number: -1, timeS: 0 }, nowS(), []);
    record(genesis);
    kept = [genesis];
  }
  const tree = createBlockTree(kept, {
    windowBlocks: options.windowBlocks ?? WINDOW_BLOCKS,
    olderPaidBlocksMax: options.olderPaidBlocksMax ?? OLDER_PAID_BLOCKS_MAX,
  });
  let finalNumber = 0;
  advanceFinality();

  function nowS(): number {
    return toSeconds(clock.nowMs());
  }

  function placeAfter(parent: Parent, wantedTimeS: number): NextBlock {
    let number = parent.number + 1;
    while (options.isSkipped?.(number)) number++;
    const timeS = Math.max(parent.timeS, wantedTimeS);
    const price = 'transactions' in parent ? options.price?.(parent) : undefined;
    return { number, timeS, parentTimeS: parent.timeS, ...(price !== undefined && { price }) };
  }

  function makeBlock(parent: Parent, wantedTimeS: number, transactions: readonly WorldTransaction[]): WorldBlock {
    const { number, timeS, price } = placeAfter(parent, wantedTimeS);
    const born = serial++;
    const ids = transactions.map((transaction) => transaction.id);
    const digits = digest('block', seed, born, parent.hash, number, timeS, ...ids);
    const hash = options.blockHash?.(number, digits) ?? digits;
    return {
      hash,
      parent: parent.hash,
      number,
      timeS,
      serial: born,
      ...(price !== undefined && { price }),
      transactions,
    };
  }

  const identify = (content: string): string => digest('transaction', seed, serial++, content);

  function enqueue<T extends WorldTransaction>(make: () => T, replaces?: string): T {
    if (pending.length >= PENDING_MAX) {
      throw transient('sandbox_full', `${PENDING_MAX} payments are pending: mine a block, then pay again`);
    }
    const transaction = make();
    if (replaces !== undefined) pending = pending.filter(({ id }) => id !== replaces);
    pending.push(transaction);
    return transaction;
  }

  function* canonicalUpTo(number: number): Iterable<WorldBlock> {
    for (const block of tree.canonical()) if (block.number <= number) yield block;
  }
  /** Returns accounts at a block number of the canonical chain (default: the tip). */
  const accounts = (upTo = tree.tip().number): Accounts => accountsOf(canonicalUpTo(upTo));

  function advanceFinality(): void {
    finalNumber = Math.max(finalNumber, tree.tip().number - finalityDistance);
  }

  function change(dropCount: number, removed: readonly WorldBlock[], added: readonly WorldBlock[]): Change {
    for (const block of added) record(block);
    tree.replaceTop(dropCount, added);
    advanceFinality();
    for (const listener of listeners) listener({ removed, added });
    return { removed, added };
  }

  /**
   * Checks that the newest blocks may go.
   * @returns them, and the block below
   */
  function removable(depth: number, breakFinality: boolean): { removed: WorldBlock[]; ancestor: WorldBlock } {
    const removed = tree.newest(depth);
    const [lowest] = removed;
    const ancestor = lowest && tree.byHash(lowest.parent);
    if (!lowest || !ancestor || depth > REORG_BLOCKS_MAX || lowest.number <= tree.floor()) {
      throw refused(`can replace only 1 to ${REORG_BLOCKS_MAX} blocks that are still kept, not ${depth}`);
    }
    if (lowest.number <= finalized().number && !breakFinality) {
      throw refused(`block ${lowest.number} is final`);
    }
    return { removed, ancestor };
  }

  function finalized(): WorldBlock {
    return tree.atOrBelow(finalNumber);
  }

  const { tip, at, atOrBelow, byHash, floor, find, canonical, kept: keptBlocks } = tree;
  return {
    tip,
    at,
    atOrBelow,
    byHash,
    floor,
    find,
    canonical,
    kept: keptBlocks,
    finalized,
    pending: (): readonly WorldTransaction[] => pending,
    /**
     * Sends a payment, included in the next block.
     * @returns the transaction's id
     * @throws Fault `sandbox_request_invalid`, or transient `sandbox_full` if too many are pending
     */
    pay: (payment: Payment): string => enqueue(() => buildTransaction(payment, identify)).id,
    /**
     * Gives native coin to an account in the next block, as a stake if requested.
     * @returns the transaction's id
     * @throws as `pay`
     */
    fund: (account: string, units: bigint, isStaked = false): string =>
      enqueue(() => buildFunding(account, units, isStaked, identify)).id,
    /**
     * Accepts a transaction; a block includes it as soon as the family's rules allow.
     * @param replaces the id of a pending transaction that it replaces
     * @throws Fault transient `sandbox_full`
     */
    submit(transaction: WorldTransaction, replaces?: string): void {
      enqueue(() => transaction, replaces);
    },
    /** Mines one block of these transactions, and of pending ones. */
    mine(first: readonly WorldTransaction[] = []): WorldBlock {
      const timeS = nowS();
      const { taken, left } = chooseForBlock(pending, {
        countMax: BLOCK_TRANSACTIONS_MAX,
        accounts: pending.some(isSigned) ? accounts() : accountsOf([]),
        admit: options.admit ?? (() => 'take'),
        next: placeAfter(tree.tip(), timeS),
      });
      const block = makeBlock(tree.tip(), timeS, [...first, ...taken]);
      change(0, [], [block]);
      pending = left;
      return block;
    },

    /**
     * Replaces the newest blocks.
     * @throws Fault permanent `sandbox_request_invalid` if they cannot be replaced
     */
    reorg({ depth, fill = (removed) => removed.map(() => []), breakFinality = false }: ReorgOptions): Change {
      const { removed, ancestor } = removable(depth, breakFinality);
      const contents = fill(removed);
      if (contents.length < 1 || contents.length > REORG_BLOCKS_MAX) {
        throw refused(`a reorg makes 1 to ${REORG_BLOCKS_MAX} new blocks, not ${contents.length}`);
      }
      const added: WorldBlock[] = [];
      for (const [at, content] of contents.entries()) {
        // A sibling is in the same slot as the block it replaces.
        const timeS = removed[at]?.timeS ?? nowS();
        added.push(makeBlock(added.at(-1) ?? ancestor, timeS, content));
      }
      return change(depth, removed, added);
    },

    accounts,
    /** Returns a function that ends the subscription. */
    onChange(listener: (change: Change) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

// ── What a node shows ───────────────────────────────────────────────────────────────────────────────────────────────

export type View = Pick<World, 'tip' | 'finalized' | 'at' | 'byHash' | 'floor'>;
