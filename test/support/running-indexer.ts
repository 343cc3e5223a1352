/**
 * One network's indexer, running inside the test's process with all of its real parts.
 */
import { indexNetwork } from '../../indexers/indexer.ts';
import type { Chain, Family, Node, NodeOptions } from '../../src/chains/chain.ts';
import { openNode as openEvmNode } from '../../src/chains/evm/node/node.ts';
import { chains } from '../../src/chains/index.ts';
import { openNode as openSolanaNode } from '../../src/chains/solana/node/node.ts';
import { openNode as openTronNode } from '../../src/chains/tron/node/node.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { Database } from '../../src/database/database.ts';
import type { NetworkRow } from '../../src/database/networks.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import type { PayingSigner } from '../../src/signer/client.ts';

/** In an idle indexer the follower and the reporter sleep on its clock. */
export const SLEEPERS = 2;

export type RunningIndexer = Readonly<{
  /** Settles when the indexer ends; rejects when an invariant is broken. */
  ended: Promise<void>;
  /** Stops at once, whatever is in progress; the database stays open. */
  stop(): Promise<void>;
}>;

/** The clients with a clock parameter, which the interface does not have. */
export const openNodeBy: Readonly<Record<Family, (options: NodeOptions, clock: Clock) => Node>> = {
  evm: openEvmNode,
  tron: openTronNode,
  solana: openSolanaNode,
};

export type IndexerChange = Readonly<{
  clock?: Clock;
  nodeClock?: Clock;
  requestTimeoutMs?: number;
  responseBytesMax?: number;
  idleMsMax?: number;
  walletsMsMax?: number;
  blocksPerIngestMax?: number;
  random?: () => number;
  signer?: PayingSigner;
  /** Wraps the indexer's node: to act at a moment that would be hard to hit. */
  through?: (node: Node) => Node;
}>;

/**
 * Starts an indexer.
 * @param change requests time out early by default, so that a silent node costs a test little
 */
export function startIndexer(database: Database, network: NetworkConfig, change: IndexerChange = {}): RunningIndexer {
  const stopping = new AbortController();
  const chain: Chain = {
    ...chains[network.family],
    node: async () => ({
      openNode(options) {
        const { requestTimeoutMs = 1000, responseBytesMax = options.responseBytesMax } = change;
        const limits = { requestTimeoutMs, responseBytesMax, idleMsMax: change.idleMsMax ?? options.idleMsMax };
        const node = openNodeBy[network.family]({ ...options, ...limits }, change.nodeClock ?? systemClock);
        return change.through?.(node) ?? node;
      },
    }),
  };
  const ended = indexNetwork(
    {
      network,
      database,
      chain,
      signer: change.signer ?? null,
      clock: change.clock ?? systemClock,
      log: openLog(`indexer ${network.key}`, process.env.LOG ?? 'silent'),
      pid: process.pid,
      blocksPerIngestMax: change.blocksPerIngestMax ?? 16,
      ...(change.walletsMsMax !== undefined && { walletsMsMax: change.walletsMsMax }),
      random: change.random ?? (() => 0.5),
    },
    stopping.signal,
  );
  // A failure is reported to whoever awaits `ended`; until then it must not end the process.
  ended.catch(() => {});
  return {
    ended,
    stop() {
      stopping.abort();
      return ended;
    },
  };
}

/** Returns a network's state as its indexer last reported it; null before the first report. */
export async function statusOf(database: Database, network: NetworkConfig): Promise<NetworkRow | null> {
  return database.networks.find(network.key);
}
