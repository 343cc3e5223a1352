/**
 * Recovery: how an operator gets a network that stopped going again. Each command changes the network's position or its
 * facts in one transaction, with an entry in the audit log; a follower that is running notices and goes on from there.
 */
import type { BlockRef } from '../core/block.ts';
import type { ChainTransfer, Currency, NetworkKey } from '../core/transfer.ts';
import type { OperatorAct } from './audit-log.ts';

/**
 * Blocks that a follower passes over without reading them; open until they were read. `holdsPayouts`: money out is
 * frozen on the network while it is open, because an earlier run may have paid something there that is not known here.
 */
export type BlockGap = Readonly<{
  from: number;
  to: number;
  because: string;
  atMs: number;
  closedAtMs: number | null;
  holdsPayouts: boolean;
}>;

/**
 * Blocks, inclusive, that were all read again. `doubtful` are the numbers at which the node does not show what is held,
 * so that what it lacks was not all added.
 */
export type GapReading = Readonly<{ from: number; to: number; doubtful: readonly number[] }>;

/** Transfers in the blocks of one rewind, at most: it is one transaction. */
export const REWOUND_TRANSFERS_MAX = 10_000;

export type Rewind = Readonly<{
  network: NetworkKey;
  /** The newest block to keep. */
  to: number;
  /** Finds out what would happen, and changes nothing. */
  isDryRun: boolean;
  act: OperatorAct;
}>;

/** What a rewind took back. `sessions` had money in those blocks. */
export type Rewound = Readonly<{
  kind: 'done';
  blocks: number;
  transfers: number;
  /** Those of the transfers that had been credited. */
  credited: number;
  sessions: readonly string[];
  /** The number of the block that is the newest now; null if none is left. */
  tip: number | null;
}>;

export type RewindOutcome =
  | Rewound
  | Readonly<{ kind: 'never_read' }>
  /** There is nothing above `to`. */
  | Readonly<{ kind: 'not_above'; tip: number }>
  /** More than `REWOUND_TRANSFERS_MAX` transfers are above. */
  | Readonly<{ kind: 'too_many'; transfers: number }>;

export type SkipOutcome =
  | Readonly<{ kind: 'done'; gap: BlockGap }>
  | Readonly<{ kind: 'never_read' }>
  /** Blocks up to `tip` were read already. */
  | Readonly<{ kind: 'read_already'; tip: number }>
  /** The node showed no block above `head`: payments in blocks to come would be lost. */
  | Readonly<{ kind: 'not_made_yet'; head: number | null }>;

/** Blocks that were read again from a node, of its own chain, oldest first. */
export type Reread = Readonly<{
  network: NetworkKey;
  family: string;
  decimals: Readonly<Partial<Record<Currency, number>>>;
  dustFloorPar: bigint;
  /** The highest address id that the matcher knew. */
  watchedThroughId: number;
  /** The numbers that were read; a number without a block was skipped by the chain. */
  from: number;
  to: number;
  blocks: readonly Readonly<{ block: BlockRef; transfers: readonly ChainTransfer[] }>[];
  /** Hash of the block of `rereadAnchor`, which the node showed to be on its chain too. */
  anchor: string;
  /** Compares, and changes nothing. */
  isCheck: boolean;
  act: OperatorAct;
}>;

/**
 * A difference between what the database holds and what was read again.
 * - `missing`: a transfer that the database did not hold. It is added, unless it is only checked.
 * - `outgoing`: a transfer out of the refund or gas wallet that was not known and that no attempt explains. It is added
 *   in the same way, and judged as any other.
 * - `unknown`: a transfer that the database holds and the node does not show.
 * - `other_block`: at this height the database holds another block; neither is changed.
 */
export type RereadDifference = Readonly<{
  kind: 'missing' | 'outgoing' | 'unknown' | 'other_block';
  number: number;
  block: string;
  /** Null for `other_block`. */
  transfer: Readonly<{ tx: string; index: number; currency: Currency | 'native'; to: string; units: bigint }> | null;
}>;

export type RereadOutcome =
  | Readonly<{ kind: 'done'; differences: readonly RereadDifference[] }>
  /** The chain that we hold has changed; ask for the anchor again. */
  | Readonly<{ kind: 'moved' }>;
