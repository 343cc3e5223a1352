/**
 * What a shadow counts.
 * @module
 */
import type { BlockRef } from '../../src/core/block.ts';

/** The newest waits that quantiles are taken of. */
const WAITS_MAX = 100_000;
/** Heads may jump after an outage; blocks further apart are caught up with, which is not latency. */
const JUMP_MAX = 1_000;
const LISTED_MAX = 50;

export type Reorg = Readonly<{ depth: number; fromNumber: number }>;
export type Latency = Readonly<{ blocks: number; p50Ms: number; p95Ms: number; maxMs: number }>;

/** Counts by name, such as a fault's code. */
export type Counts = Readonly<{ add(name: string): void; all(): Readonly<Record<string, number>> }>;

export function createCounts(): Counts {
  const counts: Record<string, number> = {};
  return {
    add(name) {
      counts[name] = (counts[name] ?? 0) + 1;
    },
    all: () => counts,
  };
}

/**
 * Measures the time from the moment when the node first showed a head to the moment when the follower had read the
 * blocks up to it. Blocks below the first head are caught up with and not measured.
 */
export function createLatency(): Readonly<{
  head(number: number, nowMs: number): void;
  read(number: number, nowMs: number): void;
  measure(): Latency | null;
}> {
  const seenAtMs = new Map<number, number>();
  const waitsMs: number[] = [];
  let headNumber: number | null = null;
  let blocks = 0;
  let maxMs = 0;
  return {
    head(number, nowMs) {
      const from = headNumber === null ? number : Math.max(headNumber, number - JUMP_MAX);
      for (let at = from + 1; at <= number; at++) seenAtMs.set(at, nowMs);
      headNumber = Math.max(headNumber ?? number, number);
    },
    read(number, nowMs) {
      const fromMs = seenAtMs.get(number);
      // Skipped numbers below are never read.
      for (const earlier of seenAtMs.keys()) {
        if (earlier > number) break;
        seenAtMs.delete(earlier);
      }
      if (fromMs === undefined) return;
      waitsMs[blocks % WAITS_MAX] = nowMs - fromMs;
      maxMs = Math.max(maxMs, nowMs - fromMs);
      blocks += 1;
    },
    measure() {
      if (blocks === 0) return null;
      const sorted = waitsMs.toSorted((a, b) => a - b);
      const quantile = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
      return { blocks, p50Ms: quantile(0.5), p95Ms: quantile(0.95), maxMs };
    },
  };
}

/** Numbers of the first and the newest block read; `newest`: the newest reorgs, at most `LISTED_MAX`. */
type ChainState = {
  readonly blocks: { read: number; first: number | null; last: number | null };
  readonly reorgs: { count: number; depthMax: number; readonly newest: Reorg[] };
};

/** The blocks that the follower read, and the reorgs that it followed. */
export type ChainTally = Readonly<{
  step(drop: number, connect: readonly BlockRef[]): void;
  blocks(): Readonly<ChainState['blocks']>;
  reorgs(): Readonly<ChainState['reorgs']>;
}>;

export function createChainTally(): ChainTally {
  const { blocks, reorgs }: ChainState = {
    blocks: { read: 0, first: null, last: null },
    reorgs: { count: 0, depthMax: 0, newest: [] },
  };
  return {
    step(depth, connect) {
      const fromNumber = connect[0]?.number ?? blocks.last ?? 0;
      blocks.read += connect.length;
      blocks.first ??= connect[0]?.number ?? null;
      blocks.last = connect.at(-1)?.number ?? blocks.last;
      if (depth === 0) return;
      reorgs.count += 1;
      reorgs.depthMax = Math.max(reorgs.depthMax, depth);
      reorgs.newest.push({ depth, fromNumber });
      if (reorgs.newest.length > LISTED_MAX) reorgs.newest.shift();
    },
    blocks: () => blocks,
    reorgs: () => reorgs,
  };
}
