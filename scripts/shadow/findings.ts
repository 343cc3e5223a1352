/**
 * What a shadow found.
 * @module
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import type { BlockRef } from '../../src/core/block.ts';
import type { Difference } from './difference.ts';
import type { Ended } from './ending.ts';
import type { EvidenceReport } from './evidence.ts';
import type { Latency, Reorg } from './tally.ts';
import type { Traffic } from './trace.ts';

/** One difference, and the name of the folder with its raw answers. */
export type FoundDifference = Difference & Readonly<{ block: BlockRef; saved: string | null }>;

/** A block whose second reading failed to the end. */
export type Uncompared = Readonly<{ block: BlockRef; why: string }>;

export type Findings = Readonly<{
  network: NetworkConfig;
  /** Hosts; `second` is null if the followed node itself was read again. */
  node: string;
  second: string | null;
  method: string;
  durationMs: number;
  ended: Ended;
  watched: number;
  sampled: number;
  blocks: Readonly<{
    read: number;
    first: number | null;
    last: number | null;
    compared: number;
    replaced: number;
    uncompared: number;
  }>;
  /** `all`: of the configured tokens, in compared blocks; `watched` of them; `confirmed`: of these, by policy. */
  transfers: Readonly<{ all: number; watched: number; confirmed: number }>;
  reorgs: Readonly<{ count: number; depthMax: number; newest: readonly Reorg[] }>;
  latency: Latency | null;
  traffic: Readonly<{ follower: Traffic; second: Traffic }>;
  /** Counts by code. */
  faults: Readonly<{ follower: Readonly<Record<string, number>>; second: Readonly<Record<string, number>> }>;
  /** Answers that were doubted, and read again. */
  doubted: number;
  evidence: EvidenceReport;
  differences: Readonly<{ count: number; listed: readonly FoundDifference[] }>;
  uncompared: readonly Uncompared[];
}>;

/** Blocks were read, all of them were compared, and nothing differed. */
export const isGood = ({ ended, blocks, differences }: Findings): boolean =>
  ended.kind !== 'halted' && blocks.read > 0 && blocks.uncompared === 0 && differences.count === 0;
