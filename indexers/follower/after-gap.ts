/** Continues after blocks that were not read, where no block can be linked to ours. */
import type { Node } from '../../src/chains/chain.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { Fault, transient } from '../../src/core/fault.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import { isLost } from './fallback.ts';

/**
 * Returns the node's block at the height of our tip, if it is another one; null if it is our tip, or if the node has no
 * block there.
 * @throws Fault if the node fails
 */
export async function replacedTip(node: Pick<Node, 'range'>, tip: BlockRef | undefined): Promise<BlockRef | null> {
  if (!tip) return null;
  try {
    const [shown] = await node.range(tip.number, tip.number);
    return shown?.number === tip.number && shown.hash !== tip.hash ? shown : null;
  } catch (error) {
    if (error instanceof Fault && isLost(error)) return null;
    throw error;
  }
}

type Blocks = Pick<Node, 'range' | 'header'>;

/**
 * Returns the node's chain from a number on, like `Node.range`, and checks that the node has lost no block at the
 * beginning. Where numbers may be skipped, a lost block looks like a skipped number.
 * @throws Fault transient `node_block_missing`
 */
export async function rangeFrom(node: Blocks, from: number, to: number): Promise<readonly BlockRef[]> {
  const blocks = await node.range(from, to);
  const [first] = blocks;
  if (!first || first.number === from || (await isChildOfEarlier(node, first, from))) return blocks;
  throw transient(
    'node_block_missing',
    `the node's first block from ${from} on is ${first.number}, but the node does not show that there is none before it`,
  );
}

/**
 * Returns the range like `rangeFrom`, after blocks that an operator skipped.
 * @throws Fault transient `node_block_missing` if the node lacks more blocks than were skipped
 */
export async function rangeAfterGap(
  node: Blocks,
  network: NetworkKey,
  from: number,
  to: number,
): Promise<readonly BlockRef[]> {
  try {
    return await rangeFrom(node, from, to);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'node_block_missing') throw error;
    const skip = `\`quayside network reread ${network} --from ${from} --skip --reason …\``;
    throw transient(
      error.code,
      `after the blocks that were skipped: ${error.message}. Skip the lost blocks too: ${skip}`,
    );
  }
}

async function isChildOfEarlier(node: Pick<Node, 'header'>, block: BlockRef, from: number): Promise<boolean> {
  try {
    const parent = await node.header(block.parent);
    return parent !== null && parent.number < from;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return false;
  }
}
