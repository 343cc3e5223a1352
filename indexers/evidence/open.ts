/**
 * Opens what a certificate of one network is made with: a connection to its node, and the addresses to look for.
 *
 * @module
 */
import type { Chain } from '../../src/chains/chain.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { Database } from '../../src/database/database.ts';
import { openArchive } from '../../src/evidence/archive.ts';
import { openSigningKey } from '../../src/evidence/signing-key.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { readShipped } from '../../src/lib/installation.ts';
import { createAddressTable } from '../follower/address-table.ts';
import { createWatch } from '../follower/address-watch.ts';
import { createMatcher } from '../follower/matcher.ts';
import { followerNodeOptions } from '../follower/node-options.ts';
import type { EvidenceParts } from './maker.ts';

/** Concurrent requests: the follower's come first. */
const REQUESTS_MAX = 8;

export type EvidenceOptions = Readonly<{
  network: NetworkConfig;
  chain: Chain;
  database: Database;
  dataDir: string;
  /** Whether this installation has a signer. */
  hasSigner: boolean;
  clock: Clock;
}>;

export type OpenEvidence = Omit<EvidenceParts, 'rest'> & Readonly<{ close(): Promise<void> }>;

/** @throws Fault permanent `evidence_key_invalid`, `node_url_invalid` */
export async function openEvidence({ chain, dataDir, ...options }: EvidenceOptions): Promise<OpenEvidence> {
  const { network, database } = options;
  const archive = openArchive(dataDir, network.key);
  const key = openSigningKey(dataDir);
  const table = createAddressTable(chain.address.keyBytes);
  // Nobody waits for this process, so every answer may be decoded in its own thread.
  const matcher = await createMatcher({
    chain,
    tokens: network.tokens,
    table,
    inlineBytesMax: Number.POSITIVE_INFINITY,
    threadsMax: 1,
  });
  const { openNode } = await chain.node();
  // A signer without this network has served no engine of it; then whoever has the keys empties the addresses.
  const isServed = (await database.listEngines()).some((one) => one.network === network.key && one.fence > 0);
  const node = openNode({ ...followerNodeOptions(network), concurrencyMax: REQUESTS_MAX });
  return {
    ...options,
    hasSigner: options.hasSigner && isServed,
    node,
    matcher,
    watch: createWatch(database, network, table),
    archive,
    key,
    release: readShipped<{ version: string }>('package.json').version,
    async close() {
      await Promise.all([node.close(), matcher.close()]);
    },
  };
}
