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
 * @param headersMax how many walked headers are remembered. A walk that a fault interrupted continues where it was, so
 * that even a node that fails often is walked back a long way.
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
   * Where numbers are slots, no hash contains them: a node may have named a block's slot wrongly when we read it. If
   * its child shows so, the block is read again under the number that the node gives it now.
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
     * Decides what to do about the node's `head`; at most `blocksMax` blocks above our tip are read in one go.
     * @throws Fault transient if the node fails, or no longer knows a header on the way
     */
    async towards(head: BlockRef, tail: Tail, floor: number, blocksMax: number): Promise<WalkEnd> {
      const tip = tail.at(-1);
      // The next block, or one that is no higher than ours, shows by itself where it belongs.
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

/** Any header can claim a parent; the number must agree with it. */
function checkRises(below: BlockRef | undefined, above: BlockRef | undefined): void {
  if (!below || !above || below.number < above.number) return;
  throw transient(
    'node_inconsistent',
    `the node's block ${above.number} ${above.hash} claims block ${below.number} as its parent`,
  );
}
