/** Checks blocks that are due, and the final block, with the node at the moment of credit. */
import type { Attestation, Node } from '../../src/chains/chain.ts';
import type { BlockRef, Tail } from '../../src/core/block.ts';
import { Fault } from '../../src/core/fault.ts';
import type { Unconfirmed } from '../../src/database/blocks.ts';

/**
 * Returns the place of the node's final block relative to our chain. `elsewhere` is beyond our tip, older than the
 * tail, or among blocks that an operator skipped, where there is nothing to compare. `foreign` is another block than
 * ours at its height. Our chain is then a fork, and nothing may become final because of the node's block.
 */
export function placeFinal(tail: Tail, finalized: BlockRef): 'ours' | 'elsewhere' | 'foreign' {
  const oldest = tail[0];
  const tip = tail.at(-1);
  if (!oldest || !tip || finalized.number > tip.number || finalized.number < oldest.number) return 'elsewhere';
  if (tail.some((block) => block.hash === finalized.hash)) return 'ours';
  const at = tail.findIndex((block) => block.number > finalized.number);
  const [below, above] = [tail[at - 1], tail[at]];
  const isSkipped = below && above && below.number < finalized.number && above.parent !== below.hash;
  return isSkipped ? 'elsewhere' : 'foreign';
}

/**
 * `gone` contradicts the chain that we read from this node. `fault` is the first failure, if any. It is not about the
 * other blocks.
 */
type Attested<T> = Readonly<{ confirmed: T[]; gone: T[]; fault: Fault | null }>;

/** Asks the node about each due block. Other answers count even if one request fails. */
export async function attestAll<T extends Unconfirmed>(
  node: Pick<Node, 'attest'>,
  due: readonly T[],
): Promise<Attested<T>> {
  let fault: Fault | null = null;
  const attest = async (block: Unconfirmed): Promise<Attestation> => {
    try {
      return await node.attest(block, block.txs);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      fault ??= error;
      return 'unsure';
    }
  };
  const answers = await Promise.all(due.map(attest));
  return {
    confirmed: due.filter((_, at) => answers[at] === 'holds'),
    gone: due.filter((_, at) => answers[at] === 'gone'),
    fault,
  };
}
