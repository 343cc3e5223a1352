/**
 * Compares what the follower found in each block with the second reading. Blocks wait in a queue; when it is full, the
 * follower waits too, so that no block goes uncompared because it came too fast.
 * @module
 */
import PQueue from 'p-queue';
import { createWakeup } from '../../indexers/wakeup.ts';
import type { Exchange, RawContent } from '../../src/chains/chain.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { Fault, transient } from '../../src/core/fault.ts';
import type { ChainTransfer } from '../../src/core/transfer.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { compareTransfers, type Difference, type SecondTransfer } from './difference.ts';
import type { SecondReading } from './reading.ts';
import type { Trace } from './trace.ts';
import type { Source, Trouble } from './watched-parts.ts';

const READINGS_AT_ONCE_MAX = 4;
const WAITING_MAX = 64;
const WAITING_BYTES_MAX = 128 * 1024 * 1024;
/** A second reading that fails is tried again for so long. */
const PATIENCE_MS = 120_000;
/** One that differs is read again so often: nodes answer wrongly for a moment, too. */
const REREADS_MAX = 3;
const PAUSE_MS_MIN = 250;
const PAUSE_MS_MAX = 10_000;
const LOOK_MS = 1_000;

/** A block that the follower has read, and `throughId`: which addresses it watched then. */
export type ReadBlock = Readonly<{
  block: BlockRef;
  transfers: readonly ChainTransfer[];
  throughId: number;
  source: Source;
}>;

/** How the comparison of a block ended. `all`: every transfer of the configured tokens in it. */
export type Compared =
  | Readonly<{ kind: 'same'; read: ReadBlock; all: readonly SecondTransfer[] }>
  | Readonly<{ kind: 'different'; read: ReadBlock; differences: readonly Difference[]; second: readonly Exchange[] }>
  /** A reorg came first. */
  | Readonly<{ kind: 'replaced'; read: ReadBlock }>
  /** `why` the second reading failed to the end. */
  | Readonly<{ kind: 'uncompared'; read: ReadBlock; why: string }>;

export type ComparisonOptions = Readonly<{
  reading: SecondReading;
  trace: Trace;
  /** Reads all transfers of an answer with the production decoder. @throws Fault */
  decode(content: RawContent): readonly ChainTransfer[];
  isWatched(key: string, throughId: number): boolean;
  /** Whether the follower has seen that the block was replaced. */
  isDropped(hash: string): boolean;
  /** Whether the followed node's chain still has the block, as far as it answers. */
  holds(block: BlockRef): Promise<boolean>;
  onCompared(end: Compared): void;
  /** Called for each fault of the decoder or of the second reading. */
  onTrouble(trouble: Trouble, reader: 'decoder' | 'second'): void;
  clock: Clock;
}>;

export interface Comparison {
  add(read: ReadBlock): void;
  /** Waits until there is room for more blocks, or until the signal aborts. */
  room(signal: AbortSignal): Promise<void>;
  /** Waits for all blocks. Once the signal aborts, each is decided by what is known of it. */
  finish(signal: AbortSignal): Promise<void>;
}

type Reading = Readonly<{
  all: readonly SecondTransfer[];
  differences: readonly Difference[];
  exchanges: readonly Exchange[];
}>;

export function createComparison(options: ComparisonOptions): Comparison {
  const { reading, trace, clock } = options;
  const queue = new PQueue({ concurrency: READINGS_AT_ONCE_MAX });
  const settled = createWakeup(clock);
  const ending = new AbortController();
  let waitingBytes = 0;

  const bytesOf = ({ source }: ReadBlock): number => source.content.bytes.byteLength;

  function differencesOf({ block, source, transfers, throughId }: ReadBlock, all: readonly SecondTransfer[]) {
    const watched = all.filter(({ to }) => options.isWatched(to, throughId));
    const matched = compareTransfers('matched', transfers, watched);
    try {
      const decoded = compareTransfers('decoded', options.decode(source.content), all);
      const known = new Set(decoded.map(({ tx, index }) => `${tx} ${index}`));
      return [...decoded, ...matched.filter(({ tx, index }) => !known.has(`${tx} ${index}`))];
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      // Something is malformed that the follower need not read, because nobody watched is paid by it.
      options.onTrouble({ fault: error, block, exchanges: source.exchanges }, 'decoder');
      return matched;
    }
  }

  /** Returns a fault if the second reading failed. */
  function readAgain(read: ReadBlock): Promise<Reading | Fault> {
    return trace.run(async (exchanges) => {
      try {
        const all = await reading.read(read.block);
        return { all, differences: differencesOf(read, all), exchanges };
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        if (!ending.signal.aborted) {
          options.onTrouble({ fault: error, block: read.block, exchanges }, 'second');
        }
        return error;
      }
    });
  }

  function reportChange({ block }: ReadBlock, { exchanges }: Reading): void {
    const message = `the second reading of block ${block.number} ${block.hash} differed from the follower's at first`;
    options.onTrouble({ fault: transient('second_reading_changed', message), block, exchanges }, 'second');
  }

  async function compare(read: ReadBlock): Promise<Compared> {
    const giveUpAtMs = clock.nowMs() + PATIENCE_MS;
    let differing: Reading | null = null;
    let why = 'the run ended first';
    let tries = 0;
    for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
      if (options.isDropped(read.block.hash)) return { kind: 'replaced', read };
      const result = await readAgain(read);
      if (result instanceof Fault) why = result.message;
      else if (result.differences.length === 0) {
        if (differing) reportChange(read, differing);
        return { kind: 'same', read, all: result.all };
      } else {
        differing = result;
        tries += 1;
      }
      if (tries > REREADS_MAX || clock.nowMs() > giveUpAtMs || ending.signal.aborted) break;
      await clock.sleep(pauseMs, ending.signal);
    }
    if (!(await options.holds(read.block))) return { kind: 'replaced', read };
    if (!differing) return { kind: 'uncompared', read, why };
    return { kind: 'different', read, differences: differing.differences, second: differing.exchanges };
  }

  return {
    add(read) {
      waitingBytes += bytesOf(read);
      void queue.add(async () => {
        options.onCompared(await compare(read));
        waitingBytes -= bytesOf(read);
        settled.notify();
      });
    },
    async room(signal) {
      const isFull = () => queue.size >= WAITING_MAX || waitingBytes > WAITING_BYTES_MAX;
      while (isFull() && !signal.aborted) await settled.wait(LOOK_MS);
    },
    async finish(signal) {
      const end = () => ending.abort();
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted) end();
      await queue.onIdle();
    },
  };
}
