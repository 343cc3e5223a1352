/**
 * Reads a range of the node's chain again: every block, linked by parent hash, with the transfers to watched addresses.
 * It is read part by part, so that memory does not grow with the range.
 */
import PQueue from 'p-queue';
import type { Node } from '../../src/chains/chain.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { type Fault, isTransient, transient } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { MatchedBlock } from './cursor.ts';
import { type Matcher, matchContent } from './matcher.ts';

/** Blocks of one part. */
const PART_BLOCKS = 64;
/** Concurrent requests for blocks' content. This also bounds the answers in memory. */
const FETCHES_MAX = 4;
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 10_000;

type RangeReaderOptions = Readonly<{
  node: Pick<Node, 'range' | 'content'>;
  matcher: Pick<Matcher, 'match'>;
  clock: Clock;
  /** A part that fails is tried again for this long. */
  patienceMs: number;
}>;

/** Everything up to `throughNumber` was read, and nothing above it. */
export type RangePart = Readonly<{ blocks: readonly MatchedBlock[]; throughNumber: number }>;

/**
 * Reads the blocks from one number to another, both included, oldest first. Numbers without a block are skipped where
 * the chain skips them.
 * @param signal ends the reading after the current part
 * @throws Fault transient `node_*` if the node fails for longer than the patience; `node_range_broken` if a block does
 * not link to the one before
 */
export async function* readChainRange(
  options: RangeReaderOptions,
  fromNumber: number,
  toNumber: number,
  signal?: AbortSignal,
): AsyncGenerator<RangePart> {
  let below: string | null = null;
  for (let first = fromNumber; first <= toNumber && !signal?.aborted; first += PART_BLOCKS) {
    const last = Math.min(toNumber, first + PART_BLOCKS - 1);
    const linked: string | null = below;
    const blocks: MatchedBlock[] = await patiently(options, signal, () => readPart(options, first, last, linked));
    below = blocks.at(-1)?.block.hash ?? below;
    yield { blocks, throughNumber: last };
  }
}

async function readPart(
  { node, matcher }: RangeReaderOptions,
  first: number,
  last: number,
  below: string | null,
): Promise<MatchedBlock[]> {
  // If none of the numbers has a block, the node answers with the next block above them.
  const refs = (await node.range(first, last)).filter(({ number }) => number <= last);
  const [lowest] = refs;
  if (lowest && below !== null && lowest.parent !== below) throw unlinked(lowest, below);
  const fetches = new PQueue({ concurrency: FETCHES_MAX });
  return fetches.addAll(
    refs.map((block) => async () => ({ block, transfers: await matchContent(node, matcher, block) })),
  );
}

const unlinked = ({ number, hash, parent }: BlockRef, below: string): Fault =>
  transient(
    'node_range_broken',
    `the node's block ${number} ${hash} has the parent ${parent}, but the block read before it is ${below}`,
  );

/**
 * Repeats work that fails with a transient fault, with growing pauses.
 * @throws the last fault once the patience is over or the signal has aborted; any other error at once
 */
export async function patiently<T>(
  { clock, patienceMs }: Pick<RangeReaderOptions, 'clock' | 'patienceMs'>,
  signal: AbortSignal | undefined,
  read: () => Promise<T>,
): Promise<T> {
  const giveUpAtMs = clock.nowMs() + patienceMs;
  for (let pauseMs = RETRY_MS_MIN; ; pauseMs = Math.min(2 * pauseMs, RETRY_MS_MAX)) {
    try {
      return await read();
    } catch (error) {
      // Pruned blocks do not come back.
      const isFinal = !isTransient(error) || error.code === 'node_history_pruned';
      if (isFinal || signal?.aborted || clock.nowMs() + pauseMs > giveUpAtMs) throw error;
    }
    await clock.sleep(pauseMs, signal);
  }
}
