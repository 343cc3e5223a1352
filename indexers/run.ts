/**
 * An indexer process: one network, from the configuration to the exit code. Called by the programs next to this file.
 *
 * Exit codes: 0 stopped as requested (SIGTERM, SIGINT, or the supervisor has exited); 1 a broken invariant; 2 the
 * configuration, the arguments or the database do not allow a start, and a person must act; 3 the network's cursor was
 * moved, although this process has the lease. A supervisor restarts it after 1 and 3, and not after 0 and 2. While
 * another process has the network's lease, this one waits.
 */

import type { Family } from '../src/chains/chain.ts';
import { chains } from '../src/chains/index.ts';
import type { Config } from '../src/config/config.ts';
import { openConfig } from '../src/config/given-config.ts';
import type { NetworkConfig } from '../src/config/network.ts';
import { Fault, permanent } from '../src/core/fault.ts';
import type { Database } from '../src/database/database.ts';
import { indexerLease } from '../src/database/leases.ts';
import { underLease } from '../src/database/under-lease.ts';
import { systemClock } from '../src/lib/clock.ts';
import { giveSignsOfLife } from '../src/lib/heartbeat.ts';
import { holderOf } from '../src/lib/holder.ts';
import { type Log, openLog } from '../src/lib/log.ts';
import { awaitStart } from '../src/lib/start-signal.ts';
import { indexNetwork } from './indexer.ts';
import { makeRoomForAnswers } from './v8-flags.ts';

const exitCodes = { stopped: 0, failed: 1, cannotStart: 2, moved: 3 } as const;

export type IndexerProcess = Readonly<{
  family: Family;
  /** The network's key, such as `test:ethereum`. */
  network: string | undefined;
  env: NodeJS.ProcessEnv;
  cwd: string;
  /**
   * Opens the database.
   * @throws Fault if it is missing, of another version or unavailable
   */
  openDatabase(config: Config, env: NodeJS.ProcessEnv, hooks: Readonly<{ log: Log }>): Database;
}>;

/**
 * Follows the network until the process is asked to stop, whenever no other machine's indexer does.
 * @returns the exit code; a broken invariant is thrown
 */
export async function runIndexer({ family, network: key, env, cwd, openDatabase }: IndexerProcess): Promise<number> {
  makeRoomForAnswers();
  const living = new AbortController();
  void giveSignsOfLife(living.signal);
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  const requests = ['SIGTERM', 'SIGINT', 'disconnect'] as const;
  for (const request of requests) process.on(request, stop);
  let log = openLog(`indexer ${key ?? ''}`, 'info');
  let database: Database | null = null;
  try {
    const start = await awaitStart(env, stopping.signal);
    if (!start) return exitCodes.stopped;
    const config = await openConfig(start.given, { env, cwd });
    log = openLog(`indexer ${key ?? ''}`, config.logLevel);
    const network = findNetwork(config.networks, family, key);
    database = openDatabase(config, env, { log });
    const own = { network, chain: chains[family], clock: systemClock, log, pid: process.pid, random: Math.random };
    const { blocksPerIngestMax } = config.limits;
    const lease = { name: indexerLease(network.key), holder: holderOf(config.dataDir, 'indexer') };
    const end = await underLease({ ...own, ...lease, database }, stopping.signal, async (fencedDatabase, signal) => {
      const signer = config.signer && (await import('../src/signer/client.ts')).openConfiguredSigner(config.signer);
      try {
        return await indexNetwork({ ...own, database: fencedDatabase, signer, blocksPerIngestMax }, signal);
      } finally {
        await signer?.close();
      }
    });
    if (end !== 'moved') return exitCodes.stopped;
    log.fatal({ code: 'second_follower' }, 'another process moved the cursor of this network; only one may follow it');
    return exitCodes.moved;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    log.fatal({ code: error.code }, error.message);
    return error.kind === 'permanent' ? exitCodes.cannotStart : exitCodes.failed;
  } finally {
    living.abort();
    // The listener for the supervisor would keep this process alive.
    for (const request of requests) process.off(request, stop);
    database?.close();
  }
}

/**
 * Returns the network of a key.
 * @throws Fault permanent `network_unknown`
 */
function findNetwork(networks: readonly NetworkConfig[], family: Family, key: string | undefined): NetworkConfig {
  const own = networks.filter((network) => network.family === family);
  const network = own.find((candidate) => candidate.key === key);
  if (network) return network;
  const keys = own.map((candidate) => candidate.key).join(', ') || 'none';
  throw permanent(
    'network_unknown',
    `no network "${key ?? ''}" of family ${family} is configured (configured: ${keys}). Name one as the first argument`,
  );
}
