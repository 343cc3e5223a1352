/** Ranges of blocks, read from nodes that answer by number. */
import { type BlockRef, isLinked } from '../core/block.ts';
import { invariant, transient } from '../core/fault.ts';

/**
 * Reads the blocks from one number to another, both included, and checks that each names the one before as its parent.
 * @param read asks the node for these numbers at once; null for a block that it does not have
 * @throws Fault transient `node_range_broken`
 */
export async function readRange(
  host: string,
  fromNumber: number,
  toNumber: number,
  read: (numbers: readonly number[]) => Promise<readonly (BlockRef | null)[]>,
): Promise<readonly BlockRef[]> {
  invariant(fromNumber >= 0 && toNumber >= fromNumber, `a range of blocks is not empty: ${fromNumber} to ${toNumber}`);
  const broken = (what: string) =>
    transient('node_range_broken', `the blocks that ${host} answered ${what}; its chain is read again`);
  const found = await read(Array.from({ length: toNumber - fromNumber + 1 }, (_, at) => fromNumber + at));
  const refs = found.map((ref, at) => {
    if (!ref) throw broken(`have no block ${fromNumber + at}`);
    return ref;
  });
  if (!isLinked(refs)) throw broken('are not a chain: there was a reorg during the reading');
  return refs;
}
