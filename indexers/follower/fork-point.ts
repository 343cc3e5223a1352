/** Finds the fork point below final blocks, for the operator who must decide which chain is right. */
import type { Node } from '../../src/chains/chain.ts';
import type { BlockRef, Tail } from '../../src/core/block.ts';
import { Fault } from '../../src/core/fault.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';

/**
 * Returns our newest block that is also on the node's chain; null if there is none.
 * @throws Fault if the node fails
 */
async function findForkPoint(node: Pick<Node, 'range'>, tail: Tail): Promise<BlockRef | null> {
  let [shared, other] = [-1, tail.length];
  while (other - shared > 1) {
    const middle = Math.floor((shared + other) / 2);
    const block = tail[middle];
    const [shown] = block ? await node.range(block.number, block.number) : [];
    if (shown?.hash === block?.hash) shared = middle;
    else other = middle;
  }
  return tail[shared] ?? null;
}

/** Returns advice for an operator about a chain that forks from ours below final blocks. */
export async function forkAdvice(node: Pick<Node, 'range'>, network: NetworkKey, tail: Tail): Promise<string> {
  const [oldest] = tail;
  const rewind = (to: number | string) => `\`quayside network reread ${network} --above ${to} --reason …\``;
  const ours = "If ours is right, set the network's url to a node that is on it, and restart";
  try {
    const shared = await findForkPoint(node, tail);
    const [where, to] = shared
      ? [`The newest block that is on both chains is ${shared.number}`, shared.number]
      : [`None of our blocks is on the node's chain`, Math.max(0, (oldest?.number ?? 0) - 1)];
    return `${where}. Find out which chain is right. If the node's is: ${rewind(to)}. ${ours}`;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return `Find out which chain is right, and the newest block N that is on both. If the node's is right: ${rewind('N')}. ${ours}`;
  }
}
