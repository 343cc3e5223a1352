/** The only reorg decision. The caller asks a node and acts. `plan` interprets the answers. */
import { type BlockRef, type Branch, isLinked, type Tail } from './block.ts';
import { invariant } from './fault.ts';

/**
 * - `rest`: nothing to do. `level`: the node's branch ends where the tail ends. `behind`: the node shows an older or
 *   shorter chain than the committed one. It is slow, and this is no reorg.
 * - `ask`: the branch does not reach the tail yet. Fetch the header `hash` and prepend it.
 * - `advance`: drop these blocks of the tail (newest last) and connect those (oldest first). Either list may be long,
 *   and they are never both empty.
 * - `halt`: the branch leaves the tail at or below the floor. Money there counts as final, so a person must look.
 */
export type Plan =
  | Readonly<{ kind: 'rest'; why: 'level' | 'behind' }>
  | Readonly<{ kind: 'ask'; hash: string }>
  | Readonly<{ kind: 'advance'; drop: readonly BlockRef[]; connect: readonly BlockRef[] }>
  | Readonly<{ kind: 'halt'; why: string }>;

/**
 * Compares the chain we hold with the chain a node shows.
 * @param tail canonical blocks we hold, oldest first, linked, not empty
 * @param branch blocks of the node's chain, oldest first, linked, not empty; its end is the highest block to advance to
 * @param floor blocks numbered at or below this are final for us and never dropped
 */
export function plan(tail: Tail, branch: Branch, floor: number): Plan {
  const tip = tail.at(-1);
  const top = branch.at(-1);
  const bottom = branch[0];
  const oldest = tail[0];
  invariant(tip && top && bottom && oldest, 'tail and branch are not empty');
  invariant(isLinked(branch), 'a branch is linked by parent hashes');
  if (top.hash === tip.hash) return { kind: 'rest', why: 'level' };
  // The usual case by far needs no search through the tail.
  if (bottom.parent === tip.hash) return { kind: 'advance', drop: [], connect: branch };
  // A shorter chain, ours or a fork, is not followed. The node is syncing, or its next blocks will decide.
  if (top.number < tip.number) return { kind: 'rest', why: 'behind' };
  const heldAt = new Map(tail.map((block, at) => [block.hash, at]));

  // The branch may overlap the tail. Everything above its newest held block is new.
  const overlap = branch.findLastIndex((block) => heldAt.has(block.hash));
  const ancestorAt = heldAt.get(branch[overlap]?.hash ?? bottom.parent);
  if (ancestorAt === undefined) {
    if (bottom.number <= floor || bottom.number <= oldest.number) {
      return {
        kind: 'halt',
        why:
          `the node's block ${bottom.number} ${bottom.hash} leaves our chain at or below ` +
          `final height ${Math.max(floor, oldest.number)}`,
      };
    }
    return { kind: 'ask', hash: bottom.parent };
  }
  const drop = tail.slice(ancestorAt + 1);
  const lowest = drop[0];
  if (lowest && lowest.number <= floor) {
    return {
      kind: 'halt',
      why: `the node replaced block ${lowest.number} ${lowest.hash}, at or below final height ${floor}`,
    };
  }
  return { kind: 'advance', drop, connect: branch.slice(overlap + 1) };
}
