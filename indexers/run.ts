/**
 * An indexer process: one network, from the configuration to the store. The programs beside this file are its callers.
 *
 * Exit codes: 0 stopped as asked (SIGTERM, SIGINT, or the supervisor went away); 1 a broken invariant; 2 the configuration, the
 * arguments or the database do not allow a start; 3 another process follows the same network.
 * @module
 */
import { availableParallelism } from 'node:os';
import type { Family, NodeOptions } from '../src/chains/chain.ts';
import { chains } from '../src/chains/index.ts';
import { systemClock } from '../src/clock.ts';
import { loadConfig, type NetworkConfig } from '../src/config.ts';
import { Fault, permanent } from '../src/core/fault.ts';
import { type Log, openLog } from '../src/log.ts';
import { databaseFile, readSecretKey } from '../src/secret-key.ts';
import { openSqliteStore } from '../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../src/store/store.ts';
import { createAddressTable } from './address-table.ts';
import { createFollower, type FollowerEnd } from './follower.ts';
import { createMatcher, INLINE_BYTES_MAX } from './matcher.ts';
import { createReporter } from './reporter.ts';
import { createWatch } from './watch.ts';

export const exitCodes = { stopped: 0, cannotStart: 2, moved: 3 } as const;

const BUSY_TIMEOUT_MS = 5000;
const REQUEST_TIMEOUT_MS = 15_000;
/** A full Ethereum block's receipts take about 1 MB as JSON; the limit is there for nodes that answer without end. */
const RESPONSE_BYTES_MAX = 64 * 1024 * 1024;
const REQUESTS_MAX = 16;
/** Silence that is normal for no node: it would have announced several blocks. */
const IDLE_MS_MIN = 15_000;
const IDLE_BLOCKS = 5;

export type IndexerOptions = Readonly<{
  family: Family;
  /** The network's key, such as `test:ethereum`. */
  network: string | undefined;
  env: NodeJS.ProcessEnv;
  cwd: string;
}>;

/**
 * Follows the network until the process is told to stop.
 * @returns the exit code; a broken invariant is thrown
 */
export async function runIndexer({ family, network: key, env, cwd }: IndexerOptions): Promise<number> {
  let log = openLog(`indexer ${key ?? ''}`, 'info');
  let network: NetworkConfig;
  let store: Store;
  let blocksPerIngestMax: number;
  try {
    const config = loadConfig({ env, cwd });
    log = openLog(`indexer ${key ?? ''}`, config.logLevel);
    network = findNetwork(config.networks, family, key);
    blocksPerIngestMax = config.limits.blocksPerIngestMax;
    store = openSqliteStore({
      file: databaseFile(config.dataDir),
      secretKey: readSecretKey(config.dataDir, env),
      busyTimeoutMs: BUSY_TIMEOUT_MS,
      bytesMax: config.limits.storageBytesMax,
      outageWaitS: config.limits.outageWaitS,
    });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    log.fatal({ code: error.code }, error.message);
    return exitCodes.cannotStart;
  }
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  const requests = ['SIGTERM', 'SIGINT', 'disconnect'] as const;
  for (const request of requests) process.on(request, stop);
  try {
    const end = await followNetwork(network, store, blocksPerIngestMax, log, stopping.signal);
    if (end === 'stopped') return exitCodes.stopped;
    log.fatal({ code: 'second_follower' }, 'another process moved the cursor of this network: two must not follow it');
    return exitCodes.moved;
  } finally {
    // The listener for the supervisor would keep this process alive.
    for (const request of requests) process.off(request, stop);
    store.close();
  }
}

/** Puts the parts together and takes them apart. */
async function followNetwork(
  network: NetworkConfig,
  store: Store,
  blocksPerIngestMax: number,
  log: Log,
  signal: AbortSignal,
): Promise<FollowerEnd> {
  const chain = chains[network.family];
  const clock = systemClock;
  const table = createAddressTable(chain.address.keyBytes);
  const watch = createWatch(store, network, table);
  const matcher = await createMatcher({
    chain,
    tokens: network.tokens,
    table,
    inlineBytesMax: INLINE_BYTES_MAX,
    threadsMax: Math.max(1, availableParallelism() - 1),
  });
  const { openNode } = await chain.node();
  const node = openNode(nodeOptions(network));
  const before = (await store.listNetworks()).find((status) => status.network === network.key) ?? null;
  const reporter = createReporter({ network: network.key, store, node, clock, log, pid: process.pid, before });
  const follower = createFollower({
    network,
    node,
    store,
    matcher,
    watch,
    reporter,
    clock,
    blocksPerIngestMax,
    random: Math.random,
  });
  // What is under way at a stop ends at once, as a fault of the closed node.
  const closeNode = () => void node.close();
  signal.addEventListener('abort', closeNode, { once: true });
  try {
    const following = follower.run(signal).finally(() => reporter.stop());
    const [end] = await Promise.all([following, reporter.run()]);
    return end;
  } finally {
    await Promise.all([node.close(), matcher.close()]);
  }
}

function nodeOptions({ url, tokens, blockTimeMs }: NetworkConfig): NodeOptions {
  return {
    url,
    tokens,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    responseBytesMax: RESPONSE_BYTES_MAX,
    idleMsMax: Math.max(IDLE_MS_MIN, IDLE_BLOCKS * blockTimeMs),
    concurrencyMax: REQUESTS_MAX,
  };
}

/** @throws Fault permanent `network_unknown` */
function findNetwork(networks: readonly NetworkConfig[], family: Family, key: string | undefined): NetworkConfig {
  const own = networks.filter((network) => network.family === family);
  const network = own.find((candidate) => candidate.key === key);
  if (network) return network;
  const keys = own.map((candidate) => candidate.key).join(', ') || 'none';
  throw permanent(
    'network_unknown',
    `no network "${key ?? ''}" of family ${family} is configured (there is: ${keys}). Name one as the first argument`,
  );
}
