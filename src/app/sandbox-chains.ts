/**
 * The simulated chains of a sandbox, which are beside its database and in no backup.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { permanent } from '../core/fault.ts';
import { followedNetworks } from '../database/engine/followed-networks.ts';
import { databaseFile } from '../lib/secret-key.ts';

/** Files of the old data folder that a restored sandbox needs: chains and their seed, nodes, the demo's credentials. */
export const sandboxFiles = ['sandbox', 'sandbox.json', 'sandbox-credentials.json'] as const;

/**
 * Refuses to start where the database has followed simulated chains that are gone. New ones would begin at block 0 with
 * another seed: the networks would halt, and no address could be derived.
 * @throws Fault permanent `sandbox_chains_missing`
 */
export function refuseLostChains({ dataDir, networks }: Pick<Config, 'dataDir' | 'networks'>): void {
  const simulated = networks.filter(({ sandbox }) => sandbox);
  if (simulated.length === 0) return;
  const followed = new Set(followedNetworks(databaseFile(dataDir)));
  const isLost = ({ name }: Readonly<{ name: string }>) => !existsSync(join(dataDir, 'sandbox', `${name}.jsonl`));
  const lost = simulated.filter((network) => followed.has(network.key) && isLost(network));
  if (lost.length === 0) return;
  throw permanent(
    'sandbox_chains_missing',
    `the database in ${dataDir} has followed the simulated chains of ${lost.map(({ name }) => name).join(', ')}, which are ` +
      `not in ${join(dataDir, 'sandbox')}. After a restore, copy ${sandboxFiles.join(', ')} from the old data folder to ` +
      `${dataDir}. If they are lost, set QUAYSIDE_DATA_DIR to an empty folder and start a new sandbox there`,
  );
}
