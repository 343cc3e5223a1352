/**
 * One network of a simulation: its node with the world behind it, and the indexer between the node and the database.
 */
import type { Node } from '../../src/chains/chain.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { Database } from '../../src/database/database.ts';
import type { WorldBlock } from '../../src/sandbox/block-tree.ts';
import type { ClockView, LockstepClock } from '../support/lockstep-clock.ts';
import { type RunningIndexer, SLEEPERS, startIndexer } from '../support/running-indexer.ts';
import { startSimulatedNode, writtenBy } from '../support/simulated-node.ts';
import { testNetwork } from '../support/test-network.ts';
import { watchWorld } from './witness.ts';

export type SimNetworkOptions = Readonly<{
  seed: string;
  clock: LockstepClock;
  database: Database;
  config: Partial<NetworkConfig> & Pick<NetworkConfig, 'name' | 'family'>;
  finalityDistance: number;
  /** Numbers without a block, if the family has them. */
  isSkipped?: (number: number) => boolean;
  blocksPerIngestMax: number;
  /** Without push connections the indexer only polls. */
  hasPush: boolean;
}>;

export type SimNetwork = Awaited<ReturnType<typeof openSimNetwork>>;

/** Lost blocks that come back at a time. */
const SYNCED_BLOCKS = 3;
const REST_MS_MAX = 30_000;
/** Real milliseconds: a silent node must not cost a simulation much. */
const REQUEST_TIMEOUT_MS = 150;

export async function openSimNetwork(options: SimNetworkOptions) {
  const { clock, database, blocksPerIngestMax, hasPush, isSkipped } = options;
  const { family } = options.config;
  const node = await startSimulatedNode({
    family,
    seed: options.seed,
    clock,
    finalityDistance: options.finalityDistance,
    ...(isSkipped && { isSkipped }),
  });
  const config = testNetwork({
    url: node.url,
    // No server derives retired addresses while an indexer waits for them.
    xpub: null,
    ...(family === 'solana' && { rpcUrl: node.httpUrl }),
    ...options.config,
  });
  const witness = watchWorld(node.world);
  let running: Readonly<{ indexer: RunningIndexer; view: ClockView }> | null = null;
  let broken: unknown = null;
  let isNodeUp = true;
  let lost: readonly WorldBlock[] = [];

  const withoutPush = (real: Node): Node => ({ ...real, onChange: () => {} });

  return {
    config,
    node,
    written: writtenBy[family],
    witness,
    /** Stops the node. Does nothing if it is stopped already. */
    async stopNode() {
      if (isNodeUp) await node.stop();
      isNodeUp = false;
    },
    /** Starts the node again with the same chain. Does nothing if it runs already. */
    async startNode() {
      if (!isNodeUp) await node.start();
      isNodeUp = true;
    },
    /**
     * Kills the node: its newest blocks and its pool are lost. It must be up.
     * @param isAlone whether no other node has the blocks; else `mine` gets them back first
     */
    async killNode(depth: number, isAlone: boolean) {
      await node.stop();
      isNodeUp = false;
      const blocks = node.world.restart({ depth, breakFinality: !isAlone });
      if (!isAlone) lost = [...blocks, ...lost];
    },
    /** Whether the node is yet to get lost blocks back. */
    isSyncing: () => lost.length > 0,
    /** Makes the chain a block longer or, while the node is syncing, gives it some of the lost blocks back. */
    mine() {
      if (lost.length === 0) {
        node.world.mine();
        return;
      }
      node.world.rejoin(lost.slice(0, SYNCED_BLOCKS));
      lost = lost.slice(SYNCED_BLOCKS);
    },
    start() {
      const view = clock.view();
      const indexer = startIndexer(database, config, {
        clock: view,
        nodeClock: clock.view(),
        requestTimeoutMs: REQUEST_TIMEOUT_MS,
        blocksPerIngestMax,
        through: hasPush ? (real) => real : withoutPush,
      });
      indexer.ended.catch((error) => {
        broken = error;
      });
      running = { indexer, view };
    },
    isRunning: () => running !== null,
    /** Ends the indexer at any point, like a crash. */
    async kill() {
      await running?.indexer.stop();
      running = null;
    },
    /**
     * Waits until the indexer has done all there is to do and sleeps.
     * @throws what broke it, or if it never becomes idle
     */
    async settle() {
      const startedAtMs = performance.now();
      while (running && running.view.asleep() < SLEEPERS) {
        if (broken) throw broken;
        if (performance.now() - startedAtMs > REST_MS_MAX) throw new Error(`${config.key} does not become idle`);
        await new Promise(setImmediate);
      }
      if (broken) throw broken;
    },
    async close() {
      await running?.indexer.stop().catch(() => {});
      await node.close();
    },
  };
}
