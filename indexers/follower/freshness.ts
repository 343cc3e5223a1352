/**
 * Judges whether a node keeps up with its chain, by its newest block.
 *
 * Where block times are a clock, an old head means that the node is syncing or cut off. Where they are computed from
 * the number of blocks (`Node.whyBehind`), they lag behind the clock while blocks are slow. There the node keeps up if
 * new blocks come and it does not report that it is behind.
 */
import type { Node } from '../../src/chains/chain.ts';
import type { BlockRef } from '../../src/core/block.ts';

/**
 * `isOld`: the newest block is old by its own time, so having read it proves nothing about the time since. `whyStale`:
 * why the node does not keep up; null if it does.
 */
export type Freshness = Readonly<{ isOld: boolean; whyStale: string | null }>;

type JudgeFreshness = (head: BlockRef, nowMs: number) => Promise<Freshness>;

/** @param staleMs longest age of the newest block, and longest time without a new one */
export function createFreshness(node: Pick<Node, 'whyBehind'>, staleMs: number): JudgeFreshness {
  let highest: number | null = null;
  let roseAtMs: number | null = null;

  return async (head, nowMs) => {
    if (highest !== null && head.number > highest) roseAtMs = nowMs;
    highest = Math.max(highest ?? 0, head.number);
    const isOld = head.timeS * 1000 < nowMs - staleMs;
    const age = `the node's newest block ${head.number} is ${ageS(head, nowMs)} s old: the node is syncing or cut off`;
    if (!node.whyBehind) return { isOld, whyStale: isOld ? age : null };
    // Before the first new block, only the head's age tells.
    const isStill = roseAtMs === null ? isOld : nowMs - roseAtMs > staleMs;
    if (isStill) return { isOld, whyStale: age };
    const said = isOld ? await node.whyBehind() : null;
    return { isOld, whyStale: said === null ? null : `the node reports that it is behind its chain: ${said}` };
  };
}

/** Returns how long ago a block was made, by its own time. */
export const ageS = ({ timeS }: BlockRef, nowMs: number): number => Math.round(nowMs / 1000) - timeS;
