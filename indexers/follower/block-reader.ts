/**
 * Reads blocks' content concurrently, by the cheap request. If the answer may hide something or the request keeps
 * failing, the block is requested thoroughly. If the node cannot serve it at all, the fallback does.
 */
import PQueue from 'p-queue';
import type { Node } from '../../src/chains/chain.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { Fault } from '../../src/core/fault.ts';
import type { ChainTransfer } from '../../src/core/transfer.ts';
import type { MatchedBlock } from './cursor.ts';
import { type Fallback, isLost, isUnserved } from './fallback.ts';
import { type Matcher, matchContent } from './matcher.ts';

/** Concurrent requests for blocks' content. This bounds memory to as many answers. */
const FETCHES_MAX = 8;
/** After this many failures in a row, a block is requested in another way. */
const FAILURES = 3;
/** Failing blocks that are remembered. One step has far fewer. */
const FAILING_MAX = 4_096;

export function createBlockReader(node: Pick<Node, 'content'>, matcher: Pick<Matcher, 'match'>, fallback: Fallback) {
  const fetches = new PQueue({ concurrency: FETCHES_MAX });
  /** Failures in a row, by block. */
  const failures = new Map<string, number>();

  function countFailure({ hash }: BlockRef): number {
    const count = (failures.get(hash) ?? 0) + 1;
    if (failures.size >= FAILING_MAX) failures.clear();
    failures.set(hash, count);
    return count;
  }

  async function readOne(block: BlockRef): Promise<ChainTransfer[]> {
    try {
      return await matchContent(node, matcher, block);
    } catch (fault) {
      if (!(fault instanceof Fault) || !isUnserved(fault)) throw fault;
      if (countFailure(block) < FAILURES && !isLost(fault)) throw fault;
      return readOtherwise(block, fault);
    }
  }

  /** Reads a block thoroughly. If a node's logs are damaged, for example, the cheap request fails for ever. */
  async function readOtherwise(block: BlockRef, fault: Fault): Promise<ChainTransfer[]> {
    try {
      return await matcher.match(await node.content(block, true));
    } catch (error) {
      if (!(error instanceof Fault) || !isUnserved(error)) throw error;
      return fallback.ask(fault, `block ${block.number}`, (second) => matchContent(second, matcher, block));
    }
  }

  return {
    /**
     * Reads blocks. Everything before the first failure is kept, so that the follower catches up even with a node that
     * fails often.
     */
    async read(blocks: readonly BlockRef[]): Promise<{ read: MatchedBlock[]; fault: Fault | null }> {
      const results: (MatchedBlock | undefined)[] = blocks.map(() => undefined);
      let fault: Fault | null = null;
      const take = async (block: BlockRef, at: number): Promise<void> => {
        if (fault) return;
        try {
          results[at] = { block, transfers: await readOne(block) };
          failures.delete(block.hash);
        } catch (error) {
          if (!(error instanceof Fault)) throw error;
          fault ??= error;
        }
      };
      await fetches.addAll(blocks.map((block, at) => () => take(block, at)));
      const gap = results.indexOf(undefined);
      return { read: results.slice(0, gap < 0 ? results.length : gap).filter((block) => block !== undefined), fault };
    },
  };
}
