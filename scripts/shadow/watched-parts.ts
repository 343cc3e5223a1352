/**
 * The follower's node and matcher, watched from outside: every fault is counted with the exchanges that led to it, and
 * the answer that a block was read from is kept until the block is compared.
 * @module
 */
import { INLINE_BYTES_MAX, type Matcher } from '../../indexers/follower/matcher.ts';
import type { Exchange, Node, RawContent } from '../../src/chains/chain.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { Fault } from '../../src/core/fault.ts';
import type { Trace } from './trace.ts';

/** What a block was read from. */
export type Source = Readonly<{ content: RawContent; exchanges: readonly Exchange[] }>;

/** `block`: the block that was being read, if any. */
export type Trouble = Readonly<{ fault: Fault; block: BlockRef | null; exchanges: readonly Exchange[] }>;

/** More than one step of the follower reads. */
const SOURCES_MAX = 128;

/**
 * Returns the node for the follower.
 * @param onHead called with each head that the node shows
 * @param onAnswer called with the exchanges of each call that succeeded, except for blocks' content
 */
export function watchNode(
  node: Node,
  trace: Trace,
  onTrouble: (trouble: Trouble) => void,
  onHead: (head: BlockRef) => void,
  onAnswer: (exchanges: readonly Exchange[]) => void,
): Readonly<{ node: Node; exchangesOf(content: RawContent): readonly Exchange[] }> {
  const origins = new WeakMap<RawContent, readonly Exchange[]>();

  const watched =
    <Args extends readonly unknown[], T>(
      call: (...args: Args) => Promise<T>,
      take: (answer: T, exchanges: readonly Exchange[]) => void = (_answer, exchanges) => onAnswer(exchanges),
      blockOf: (...args: Args) => BlockRef | null = () => null,
    ) =>
    (...args: Args): Promise<T> =>
      trace.run(async (exchanges) => {
        try {
          const answer = await call(...args);
          take(answer, exchanges);
          return answer;
        } catch (error) {
          if (error instanceof Fault) onTrouble({ fault: error, block: blockOf(...args), exchanges });
          throw error;
        }
      });

  return {
    exchangesOf: (content) => origins.get(content) ?? [],
    node: {
      ...node,
      identity: watched(node.identity),
      head: watched(node.head, (head, exchanges) => {
        onHead(head);
        onAnswer(exchanges);
      }),
      finalized: watched(node.finalized),
      range: watched(node.range),
      header: watched(node.header),
      content: watched(
        node.content,
        (content, exchanges) => origins.set(content, exchanges),
        (block) => block,
      ),
      attest: watched(node.attest),
    },
  };
}

/** What blocks were read from, by hash, until they are compared. */
export type Sources = Readonly<{ put(hash: string, source: Source): void; take(hash: string): Source | undefined }>;

export function createSources(): Sources {
  const sources = new Map<string, Source>();
  return {
    put(hash, source) {
      const [oldest] = sources.keys();
      if (oldest !== undefined && sources.size >= SOURCES_MAX) sources.delete(oldest);
      sources.set(hash, source);
    },
    take(hash) {
      const source = sources.get(hash);
      sources.delete(hash);
      return source;
    },
  };
}

/** Returns the matcher for the follower. */
export function watchMatcher(
  matcher: Matcher,
  sources: Sources,
  exchangesOf: (content: RawContent) => readonly Exchange[],
  onTrouble: (trouble: Trouble) => void,
): Matcher {
  return {
    ...matcher,
    async match(content) {
      const exchanges = exchangesOf(content);
      const { block, bytes } = content;
      // A thread takes a large answer's bytes away, so it gets a copy. (A buffer's `slice` would not be one.)
      const own = bytes.byteLength > INLINE_BYTES_MAX ? { ...content, bytes: new Uint8Array(bytes) } : content;
      try {
        const transfers = await matcher.match(own);
        sources.put(block.hash, { content, exchanges });
        return transfers;
      } catch (error) {
        if (error instanceof Fault) onTrouble({ fault: error, block, exchanges });
        throw error;
      }
    },
  };
}
