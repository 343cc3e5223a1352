/**
 * What a follower saves in one step.
 */

import type { BlockRef, Tail } from '../core/block.ts';
import type { CreditPolicy, Received } from '../core/credit-policy.ts';
import type { ChainTransfer, Currency, NetworkKey } from '../core/transfer.ts';
import type { BlockComparison, NumberRange, RecordedRange } from './comparison.ts';
import type { Reread, RereadOutcome } from './recovery.ts';

/** One step of a follower, saved whole or not at all. */
export type Ingest = Readonly<{
  network: NetworkKey;
  /** The network's chain family. With the network's mode it names the pool whose addresses the matcher watched. */
  family: string;
  /** Hash of the tip that the step starts from, a guard against a second writer; null for a network's first step. */
  expectTip: string | null;
  /** The network's `recoveryCount` when the position was loaded; compared if it is present. */
  recoveries?: number;
  /** The highest address id that the matcher knew when it read the blocks to connect. */
  watchedThroughId: number;
  /** The highest id of our own wallets that the matcher knew then; it knew none if absent. */
  ownWalletId?: number;
  /** Tokens by symbol with their decimals on this network. */
  decimals: Readonly<Partial<Record<Currency, number>>>;
  /** Transfers of less than this value at par are dust: facts that touch no session. */
  dustFloorPar: bigint;
  drop: readonly string[];
  /** Oldest first, each the child of the one before (the first: of the tip that remains after `drop`). */
  connect: readonly Readonly<{ block: BlockRef; transfers: readonly ChainTransfer[] }>[];
  /** Transactions whose transfers are credited: they meet the policy and were just re-checked with the node. */
  confirm: readonly Confirmation[];
  /** The height that is final from now on; never falls. */
  floor: number | null;
  readThroughS: number;
  nowMs: number;
}>;

/**
 * - `stale_watch`: an address or a wallet was added after the matcher looked; load it and match the blocks again.
 * - `recovered`: an operator moved the network's position; load it again.
 * - `moved`: another writer moved the cursor, so this process is not the only follower of the network.
 */
export type IngestOutcome = 'done' | 'stale_watch' | 'recovered' | 'moved';

/** Transactions in one block; all of the block's if `txs` is absent. */
export type Confirmation = Readonly<{ hash: string; txs?: readonly string[] }>;

/** A block with transfers that are not confirmed yet, and their transactions. */
export type Unconfirmed = Readonly<{ hash: string; number: number; txs: readonly string[] }>;

/** A transfer that is not confirmed yet, with what decides on its credit. */
export type WaitingTransfer = ChainTransfer &
  Readonly<{
    /** What its session received; the transfer alone if its address has none. */
    received: Received;
    /** What its session's store asks for on this network besides the network's own policy. */
    stricter: CreditPolicy;
  }>;

export interface Blocks {
  /** Returns the newest `limit` canonical blocks of a network, oldest first; empty before the first step. */
  tail(network: NetworkKey, limit: number): Promise<Tail>;
  /** Returns canonical blocks above `number` with unconfirmed transfers, lowest first, and their transactions. */
  unconfirmed(network: NetworkKey, number: number, limit: number): Promise<readonly Unconfirmed[]>;
  /** Returns the unconfirmed transfers of a canonical block that are not dust; none if it left the chain. */
  waiting(network: NetworkKey, hash: string): Promise<readonly WaitingTransfer[]>;
  ingest(step: Ingest): Promise<IngestOutcome>;
  /** Returns the lowest canonical block at or above a number; null if there is none. */
  firstFrom(network: NetworkKey, number: number): Promise<number | null>;
  range(network: NetworkKey, range: NumberRange): Promise<RecordedRange>;
  /** Returns how far each network was compared; nothing for those that never were. */
  listComparisons(): Promise<readonly BlockComparison[]>;
  /** Replaces what is known of the network. */
  recordComparison(comparison: BlockComparison): Promise<void>;
  /** Returns the lowest canonical block with at least this number; null if there is none. */
  rereadAnchor(network: NetworkKey, number: number): Promise<Pick<BlockRef, 'hash' | 'number'> | null>;
  /** Compares blocks that were read again with what is held, and adds the transfers that were missed. */
  saveReread(input: Reread): Promise<RereadOutcome>;
}
