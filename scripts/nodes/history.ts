/**
 * Whether a node serves what an indexer reads: blocks and their transfers.
 */
import type { Node, Wire } from '../../src/chains/chain.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { Fault, transient } from '../../src/core/fault.ts';
import type { ChainTransfer, Token } from '../../src/core/transfer.ts';

/** Faults that say nothing about a block. */
const NO_ANSWER: readonly string[] = ['node_unreachable', 'node_timeout', 'node_rate_limited', 'node_refused'];

export type Reader = Readonly<{ node: Node; wire: Wire; tokens: readonly Token[] }>;

/**
 * Reads one block's transfers twice: as an indexer does, and with the larger answer that leaves no doubt.
 * @returns how many transfers of the tokens both have
 * @throws Fault transient, also if the two differ
 */
export async function readTwice({ node, wire, tokens }: Reader, block: BlockRef): Promise<number> {
  const [light, whole] = await Promise.all([node.content(block, false), node.content(block, true)]);
  const everyone = () => true;
  const transfers = wire.decode(light, tokens, everyone);
  const difference = findDifference(transfers, wire.decode(whole, tokens, everyone));
  if (!difference) return transfers.length;
  throw transient(
    'node_contradicts_itself',
    `block ${block.number}: the answer that an indexer asks for and the whole one differ at transaction ${difference.tx}`,
  );
}

/** Returns a transfer that only one of the readings has like this, or null. The order does not matter. */
function findDifference(one: readonly ChainTransfer[], other: readonly ChainTransfer[]): ChainTransfer | null {
  const keyOf = ({ tx, index, currency, from, to, units }: ChainTransfer) =>
    `${tx} ${index} ${currency} ${from} ${to} ${units}`;
  const left = new Map(other.map((transfer) => [keyOf(transfer), transfer]));
  for (const transfer of one) if (!left.delete(keyOf(transfer))) return transfer;
  const [missing] = left.values();
  return missing ?? null;
}

/**
 * Returns the block of this number, or the next one where numbers may be skipped, with its transfers read; or the fault
 * that says that the node does not have it.
 * @throws Fault transient if the node does not answer at all
 */
export async function readOldest(reader: Reader, number: number): Promise<BlockRef | Fault> {
  try {
    const [block] = await reader.node.range(number, number);
    if (!block) return transient('node_block_missing', `there is no block ${number}`);
    await readTwice(reader, block);
    return block;
  } catch (error) {
    if (!(error instanceof Fault) || NO_ANSWER.includes(error.code)) throw error;
    return error;
  }
}
