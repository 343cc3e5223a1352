/**
 * An indexer's process for one network. The programs next to this file call it.
 *
 * While another process has the network's lease, this one waits. Exit codes: see `runProgram`.
 */

import { openDatabase } from '../src/app/open-database.ts';
import { runProgram } from '../src/app/program.ts';
import type { Family } from '../src/chains/chain.ts';
import { chains } from '../src/chains/index.ts';
import type { NetworkConfig } from '../src/config/network.ts';
import { permanent } from '../src/core/fault.ts';
import { indexerLease, underLease } from '../src/database/leases.ts';
import { systemClock } from '../src/lib/clock.ts';
import { holderOf } from '../src/lib/holder.ts';
import { indexNetwork } from './indexer.ts';
import { makeRoomForAnswers } from './v8-flags.ts';

/** Blocks in one commit while catching up. */
const BLOCKS_PER_INGEST_MAX = 64;

/**
 * Follows the network until the process is asked to stop, while no other process has the network's lease.
 * @param key of the network, such as `test:ethereum`
 */
export async function runIndexer(family: Family, key = ''): Promise<void> {
  makeRoomForAnswers();
  await runProgram(`indexer ${key}`, async ({ config, log, signal }) => {
    const network = findNetwork(config.networks, family, key);
    const database = openDatabase(config, process.env);
    const own = { network, chain: chains[family], clock: systemClock, log, pid: process.pid, random: Math.random };
    const lease = { name: indexerLease(network.key), holder: holderOf(config.dataDir, 'indexer') };
    try {
      await underLease({ ...own, ...lease, database }, signal, async (fencedDatabase, ending) => {
        const signer = config.signer && (await import('../src/signer/client.ts')).openConfiguredSigner(config.signer);
        try {
          await indexNetwork(
            { ...own, database: fencedDatabase, signer, blocksPerIngestMax: BLOCKS_PER_INGEST_MAX },
            ending,
          );
        } finally {
          await signer?.close();
        }
      });
    } finally {
      database.close();
    }
  });
}

/**
 * Returns the network of a key.
 * @throws Fault permanent `network_unknown`
 */
function findNetwork(networks: readonly NetworkConfig[], family: Family, key: string): NetworkConfig {
  const own = networks.filter((network) => network.family === family);
  const network = own.find((candidate) => candidate.key === key);
  if (network) return network;
  const keys = own.map((candidate) => candidate.key).join(', ') || 'none';
  throw permanent(
    'network_unknown',
    `no network "${key}" of family ${family} is configured (configured: ${keys}). Name one as the first argument`,
  );
}
