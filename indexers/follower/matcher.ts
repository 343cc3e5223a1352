/**
 * Finds the transfers to watched addresses in a block's raw answer. A small answer is decoded in-line, one that would
 * block the event loop in a worker thread.
 */
import { availableParallelism } from 'node:os';
import type { Chain, Node, RawContent } from '../../src/chains/chain.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { Fault } from '../../src/core/fault.ts';
import type { ChainTransfer, Token } from '../../src/core/transfer.ts';
import { openThreadPool } from '../../src/lib/thread-pool.ts';
import type { AddressTable } from './address-table.ts';
import type { MatchTask } from './matcher-worker.ts';

/**
 * Answers up to this size are decoded in the follower's thread. At about this size both ways took equally long in `npm
 * run bench`. A smaller answer is decoded before a thread would have received it, and a larger one would block the
 * event loop for milliseconds.
 */
const INLINE_BYTES_MAX = 256 * 1024;

/** A thread ends after this long without work. A quiet network keeps none. */
const THREAD_IDLE_MS_MAX = 30_000;

type MatcherOptions = Readonly<{
  chain: Chain;
  tokens: readonly Token[];
  table: AddressTable;
  /** Address keys of our own wallets; none if absent. Keys may be added at any time. */
  own?: ReadonlySet<string>;
  /** Answers up to this size are decoded in the calling thread; `INLINE_BYTES_MAX` if absent. */
  inlineBytesMax?: number | undefined;
  /** One less than there are cores if absent. */
  threadsMax?: number | undefined;
}>;

export type Matcher = Awaited<ReturnType<typeof createMatcher>>;

export async function createMatcher(options: MatcherOptions) {
  const { chain, tokens, table, own = new Set(), inlineBytesMax = INLINE_BYTES_MAX } = options;
  const { threadsMax = Math.max(1, availableParallelism() - 1) } = options;
  const wire = await chain.wire();
  const threads = openThreadPool<MatchTask, ChainTransfer[]>({
    module: new URL('./matcher-worker.ts', import.meta.url),
    task: 'matchBlock',
    threadsMax,
    idleMsMax: THREAD_IDLE_MS_MAX,
  });

  return {
    /**
     * Returns, in block order, the transfers to addresses that were in the table at the time of the call, and those out
     * of our own wallets. The content's bytes must not be used afterwards.
     * @throws Fault as `Wire.decode` does
     */
    async match(content: RawContent): Promise<ChainTransfer[]> {
      if (content.bytes.byteLength <= inlineBytesMax) return wire.decode(content, tokens, table.has, own);
      const bytes = ownBytes(content.bytes);
      const watched = { tokens, table: table.buffer(), own: [...own] };
      const task: MatchTask = { family: chain.family, content: { ...content, bytes }, ...watched };
      return threads.run(task, [bytes.buffer]);
    },
    close: () => threads.close(),
  };
}

/**
 * Asks a node for a block's content and matches it. If the answer may hide something, the content is requested
 * thoroughly.
 * @throws Fault as `Node.content` and `Wire.decode` do
 */
export async function matchContent(
  node: Pick<Node, 'content'>,
  matcher: Pick<Matcher, 'match'>,
  block: BlockRef,
): Promise<ChainTransfer[]> {
  const match = async (isThorough: boolean) => matcher.match(await node.content(block, isThorough));
  try {
    return await match(false);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'node_content_doubtful') throw error;
    return match(true);
  }
}

/**
 * Returns the bytes in a buffer of their own, which can be transferred. A view may share its buffer with other
 * messages.
 */
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const isWhole = buffer instanceof ArrayBuffer && bytes.byteLength === buffer.byteLength;
  return isWhole ? new Uint8Array(buffer) : new Uint8Array(bytes);
}
