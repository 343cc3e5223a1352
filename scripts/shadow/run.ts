/**
 * One run of the production follower over a database in memory, and what is made of each of its steps.
 * @module
 */
import { createAddressTable } from '../../indexers/follower/address-table.ts';
import { createWatch } from '../../indexers/follower/address-watch.ts';
import { createFollower } from '../../indexers/follower/follower.ts';
import { createMatcher } from '../../indexers/follower/matcher.ts';
import { followerNodeOptions } from '../../indexers/follower/node-options.ts';
import type { Situation } from '../../indexers/follower/reporter.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { invariant } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { type ComparisonOptions, createComparison } from './comparison.ts';
import type { Ending } from './ending.ts';
import type { Evidence } from './evidence.ts';
import { createFollowerDatabase, type Ingest } from './follower-database.ts';
import { createRecorder } from './recorder.ts';
import { createChainTally, createLatency } from './tally.ts';
import type { Trace } from './trace.ts';
import { createSources, type Trouble, watchMatcher, watchNode } from './watched-parts.ts';

/** Small, because the answers of a whole step are kept until they are compared. */
const BLOCKS_PER_STEP_MAX = 32;
/** Every payee of a busy network would be watched in the end. */
const SAMPLED_MAX = 10_000;

export type RunOptions = Readonly<{
  network: NetworkConfig;
  /** Address keys to watch. */
  keys: readonly string[];
  /** The recipients in one of so many blocks are watched from then on; 0: none. */
  sampleEvery: number;
  evidence: Evidence;
  clock: Clock;
  /** A number from 0 to 1, for jitter. */
  random: () => number;
}>;

export type Run = ReturnType<typeof createRun>;

/** Creates what the follower writes to. */
export function createRun(
  { evidence, sampleEvery, keys, clock }: RunOptions,
  ending: Ending,
  second: Pick<ComparisonOptions, 'reading' | 'trace' | 'decode' | 'holds'>,
) {
  const tally = createChainTally();
  const latency = createLatency();
  const sources = createSources();
  let situation: Partial<Situation> = { state: 'starting' };
  let sampled = 0;
  let same = 0;

  const recorder = createRecorder(evidence, ({ all }) => {
    same += 1;
    if (sampleEvery === 0 || same % sampleEvery !== 0 || sampled >= SAMPLED_MAX) return;
    const before = database.watchedCount();
    database.watch(all.map(({ to }) => to));
    sampled += database.watchedCount() - before;
  });

  async function takeStep({ drop, connect, watchedThroughId: throughId }: Ingest): Promise<void> {
    tally.step(
      drop.length,
      connect.map(({ block }) => block),
    );
    for (const { block, transfers } of connect) {
      latency.read(block.number, clock.nowMs());
      const source = sources.take(block.hash);
      invariant(source, 'a block is connected right after it was matched');
      comparison.add({ block, transfers, throughId, source });
    }
    await comparison.room(ending.signal);
  }

  const database = createFollowerDatabase(takeStep, ({ code, message }) =>
    ending.end({ kind: 'halted', code, message }),
  );
  const { isWatched, isDropped } = database;
  const { compared: onCompared, trouble: onTrouble } = recorder;
  const comparison = createComparison({ ...second, isWatched, isDropped, onCompared, onTrouble, clock });
  database.watch(keys);

  return {
    tally,
    latency,
    sources,
    recorder,
    database,
    comparison,
    sampled: () => sampled,
    situation: () => situation,
    /** For the follower's reporter. */
    update(change: Partial<Situation>) {
      situation = { ...situation, ...change };
      recorder.situation(change);
    },
  };
}

/** Runs the production follower, with its own matcher and threads, until the ending. */
export async function runFollower(
  { network, clock, random }: RunOptions,
  { database, sources, recorder, latency, update }: Run,
  trace: Trace,
  { signal }: Ending,
): Promise<void> {
  const chain = chains[network.family];
  const { openNode } = await chain.node();
  const table = createAddressTable(chain.address.keyBytes);
  const threads = await createMatcher({ chain, tokens: network.tokens, table });
  const onTrouble = (trouble: Trouble): void => {
    // At the end, requests in flight fail because the node is closed.
    if (!signal.aborted) recorder.trouble(trouble, 'follower');
  };
  const { node, exchangesOf } = watchNode(
    openNode({ ...followerNodeOptions(network), observe: trace.observe }),
    trace,
    onTrouble,
    ({ number }) => latency.head(number, clock.nowMs()),
    recorder.answered,
  );
  const follower = createFollower({
    network,
    node,
    database,
    matcher: watchMatcher(threads, sources, exchangesOf, onTrouble),
    watch: createWatch(database, network, table),
    reporter: { update },
    // A shadow credits nothing.
    secondNode: { agreeing: async (blocks) => blocks, reason: () => null, close: async () => {} },
    clock,
    blocksPerIngestMax: BLOCKS_PER_STEP_MAX,
    random,
  });
  const closeNode = () => void node.close();
  signal.addEventListener('abort', closeNode, { once: true });
  try {
    await follower.run(signal);
  } finally {
    await Promise.all([node.close(), threads.close()]);
  }
}
