/**
 * Follows a network as an indexer does and compares every block with a second reading. Creates nothing but the folder
 * of evidence.
 * @module
 */
import { createIdentityProof } from '../../indexers/follower/identity.ts';
import { followerNodeOptions } from '../../indexers/follower/node-options.ts';
import type { Node, NodeOptions } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { Fault, permanent } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { createEnding, type Ending } from './ending.ts';
import type { Findings } from './findings.ts';
import { createRun, type Run, type RunOptions, runFollower } from './run.ts';
import { openSecondReading } from './second-reading.ts';
import { createTrace } from './trace.ts';

const START_MS_MAX = 5_000;
const START_PAUSE_MS = 500;
/** How long comparisons may take after the follower has stopped. */
const FINISH_MS_MAX = 60_000;
const PROGRESS_MS = 1_000;

export type Progress = Readonly<{
  elapsedMs: number;
  state: string;
  head: number | null;
  read: number | null;
  transfers: number;
  faults: number;
  differences: number;
}>;

export type ShadowOptions = RunOptions &
  Readonly<{
    /** Null: the same node is read a second time. */
    secondUrl: string | null;
    durationMs: number;
    onProgress(progress: Progress): void;
  }>;

/**
 * Follows until the time is over or `stop` aborts, then finishes the comparisons, unless `hurry` aborts too.
 * @throws Fault permanent `cannot_start` if a node does not answer or is not the configured network's
 */
export async function runShadow(options: ShadowOptions, stop: AbortSignal, hurry: AbortSignal): Promise<Findings> {
  const { network, secondUrl } = options;
  const { openNode } = await chains[network.family].node();
  if (secondUrl !== null) {
    const second = openNode(optionsOf(network, secondUrl));
    await proveNode(options, second, stop).finally(second.close);
  }
  /** The followed node over a connection of its own, which outlives the follower's. */
  const checker = openNode(optionsOf(network, null));
  try {
    await proveNode(options, checker, stop);
    return await follow(options, checker, stop, hurry);
  } finally {
    await checker.close();
  }
}

/** Only the url is a second node's; what else it serves is at its family's usual place. */
function optionsOf(network: NetworkConfig, secondUrl: string | null): NodeOptions {
  const { tokens, blockTimeMs } = network;
  return followerNodeOptions(secondUrl === null ? network : { url: secondUrl, tokens, blockTimeMs });
}

/** @throws Fault permanent `cannot_start` */
async function proveNode({ network, evidence, clock }: ShadowOptions, node: Node, stop: AbortSignal): Promise<void> {
  const identity = createIdentityProof(network, node, clock);
  const giveUpAtMs = clock.nowMs() + START_MS_MAX;
  for (;;) {
    try {
      return await identity.renew(0, null);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (error.kind === 'permanent' || clock.nowMs() > giveUpAtMs || stop.aborted) {
        throw permanent('cannot_start', `the shadow cannot start: ${evidence.censor(error.message)}`, error);
      }
    }
    await clock.sleep(START_PAUSE_MS, stop);
  }
}

async function follow(options: ShadowOptions, checker: Node, stop: AbortSignal, hurry: AbortSignal): Promise<Findings> {
  const { network, secondUrl, durationMs, clock } = options;
  const startMs = clock.nowMs();
  const wire = await chains[network.family].wire();
  const traces = { follower: createTrace(), second: createTrace() };
  const second = { ...optionsOf(network, secondUrl), observe: traces.second.observe };
  const reading = openSecondReading[network.family](second, clock);
  const ending = createEnding(durationMs, stop, clock);
  const run = createRun(options, ending, {
    reading,
    trace: traces.second,
    decode: (content) => wire.decode(content, network.tokens, () => true),
    holds: (block) => holds(checker, block),
  });
  try {
    await Promise.all([
      runFollower(options, run, traces.follower, ending).finally(() => ending.end({ kind: 'stopped' })),
      showProgress(options, run, ending, startMs),
    ]);
    const endedMs = clock.nowMs();
    await finish(run, [reading, checker], clock, hurry);
    const found = run.recorder.found();
    return {
      ...found,
      network,
      node: hostOf(network.url),
      second: secondUrl === null ? null : hostOf(secondUrl),
      method: reading.method,
      durationMs: endedMs - startMs,
      ended: ending.why(),
      watched: run.database.watchedCount(),
      sampled: run.sampled(),
      blocks: { ...run.tally.blocks(), ...found.blocks },
      transfers: { ...found.transfers, confirmed: run.database.confirmedCount() },
      reorgs: run.tally.reorgs(),
      latency: run.latency.measure(),
      traffic: { follower: traces.follower.traffic(), second: traces.second.traffic() },
      evidence: options.evidence.report(),
    };
  } finally {
    await reading.close();
  }
}

/** Whether the node's chain has the block; true also if it does not answer. */
async function holds(node: Node, { hash, number }: BlockRef): Promise<boolean> {
  try {
    const [found] = await node.range(number, number);
    return found?.hash === hash;
  } catch (error) {
    if (error instanceof Fault) return true;
    throw error;
  }
}

/** Waits for the comparisons; when the time for them is over, requests in flight end at once. */
async function finish(
  { comparison }: Run,
  connections: readonly Readonly<{ close(): Promise<void> }>[],
  clock: Clock,
  hurry: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const end = () => over.abort();
  const closeAll = () => void Promise.all(connections.map((one) => one.close()));
  over.signal.addEventListener('abort', closeAll, { once: true });
  hurry.addEventListener('abort', end, { once: true });
  if (hurry.aborted) end();
  void clock.sleep(FINISH_MS_MAX, over.signal).then(end);
  await comparison.finish(over.signal);
  end();
}

async function showProgress(
  { onProgress, clock }: ShadowOptions,
  run: Run,
  { signal }: Ending,
  startMs: number,
): Promise<void> {
  while (!signal.aborted) {
    onProgress(progressOf(run, clock.nowMs() - startMs));
    await clock.sleep(PROGRESS_MS, signal);
  }
  onProgress({ ...progressOf(run, clock.nowMs() - startMs), state: 'comparing the rest' });
}

function progressOf({ recorder, tally, situation }: Run, elapsedMs: number): Progress {
  const { transfers, differences } = recorder.found();
  const { state = 'starting', headNumber: head = null } = situation();
  const { last: read } = tally.blocks();
  const faults = recorder.faultCount();
  return { elapsedMs, state, head, read, transfers: transfers.all, faults, differences: differences.count };
}

/** A URL may hold credentials; its host does not. */
const hostOf = (url: string): string => new URL(url).host;
