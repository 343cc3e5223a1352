/**
 * Walks a node's chain back until it meets ours.
 */
import type { Node } from '../../src/chains/chain.ts';
import type { BlockRef, Tail } from '../../src/core/block.ts';
import { transient } from '../../src/core/fault.ts';
import { type Plan, plan } from '../../src/core/follow.ts';

export type WalkEnd = Exclude<Plan, { kind: 'ask' }>;

type Advance = Extract<WalkEnd, { kind: 'advance' }>;

/**
 * Creates a walk.
 * @param headersMax limit of the headers that are remembered. An interrupted walk continues where it stopped, so that a
 * long walk succeeds even with a node that fails often.
 */
export function createWalk(node: Pick<Node, 'range' | 'header'>, headersMax: number) {
  const walked = new Map<string, BlockRef>();

  async function headerOf(child: BlockRef): Promise<BlockRef> {
    const known = walked.get(child.parent);
    if (known) return known;
    const header = await node.header(child.parent);
    if (!header) {
      throw transient(
        'node_header_unknown',
        `the node does not know block ${child.parent}, parent of its own block ${child.number}`,
      );
    }
    if (walked.size >= headersMax) walked.clear();
    walked.set(header.hash, header);
    return header;
  }

  /**
   * Replaces blocks whose number was wrong. Where numbers are slots, a block's hash does not cover its slot, and a node
   * may have given a wrong one when we read the block. If the block's child shows another slot, the block is read again
   * under it.
   */
  async function renumbered(tail: Tail, next: Advance): Promise<Advance> {
    const at = tail.length - next.drop.length - 1;
    const below = tail[at];
    const [first] = next.connect;
    if (below && first && below.number >= first.number) {
      const again = await node.header(below.hash);
      if (again?.hash === below.hash && again.parent === below.parent && again.number < first.number) {
        checkRises(tail[at - 1], again);
        return { kind: 'advance', drop: tail.slice(at), connect: [again, ...next.connect] };
      }
    }
    checkRises(below, first);
    return next;
  }

  return {
    /**
     * Plans the way to the node's `head`. At most `blocksMax` blocks above our tip are read at once.
     * @throws Fault transient if the node fails, or no longer has a header on the way
     */
    async towards(head: BlockRef, tail: Tail, floor: number, blocksMax: number): Promise<WalkEnd> {
      const tip = tail.at(-1);
      // A child of our tip, and a block no higher than our tip, can be compared without reading a range.
      const isFar = tip && head.number > tip.number && head.parent !== tip.hash;
      const branch = isFar
        ? [...(await node.range(tip.number + 1, Math.min(head.number, tip.number + blocksMax)))]
        : [head];
      for (;;) {
        const next = plan(tail, branch, floor);
        if (next.kind === 'advance') return renumbered(tail, next);
        if (next.kind !== 'ask') return next;
        const [bottom] = branch;
        const below = bottom && (await headerOf(bottom));
        checkRises(below, bottom);
        if (below) branch.unshift(below);
      }
    },
  };
}

/** Checks that the numbers of parent and child agree, because any header can claim a parent. */
function checkRises(below: BlockRef | undefined, above: BlockRef | undefined): void {
  if (!below || !above || below.number < above.number) return;
  throw transient(
    'node_inconsistent',
    `the node's block ${above.number} ${above.hash} claims block ${below.number} as its parent`,
  );
}
