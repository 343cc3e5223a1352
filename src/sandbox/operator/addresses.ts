/**
 * The sandbox acts as its own operator: where a simulated network's addresses are imported, they are derived, signed
 * and imported here, as a person would do it. The seed is in the data directory; nothing of value is ever sent to it.
 */
import { importAddressList, makeAddressList, verifyAddressList } from '../../addresses/address-list.ts';
import { networkOfEachPool, readPool } from '../../addresses/pool-level.ts';
import type { Config } from '../../config/config.ts';
import type { NetworkConfig } from '../../config/network.ts';
import type { Database } from '../../database/database.ts';
import type { Clock } from '../../lib/clock.ts';
import { every, type Round } from '../../lib/every.ts';
import type { Log } from '../../lib/log.ts';
import { sandboxSeed } from '../sandbox-file.ts';

const POLL_MS = 1_000;
/** Addresses in one list: some tens of milliseconds of derivation. */
const SLICE = 50;
const FREE_MIN = 250;

type SandboxAddressesOptions = Readonly<{
  database: Database;
  config: Pick<Config, 'networks' | 'dataDir'>;
  clock: Clock;
  log: Log;
}>;

/** Keeps the imported pools of simulated networks filled until the signal aborts. Does nothing if there are none. */
export async function keepSandboxAddresses(options: SandboxAddressesOptions, signal: AbortSignal): Promise<void> {
  const { database, config, clock, log } = options;
  const networks = networkOfEachPool(config.networks.filter(({ sandbox, xpub }) => sandbox && xpub === null));
  const keep = (network: NetworkConfig): Promise<void> => {
    const fill = async (): Promise<Round> => {
      if ((await readPool(database.addresses, network)).free >= FREE_MIN) return;
      await topUp(options, network);
      return 'again';
    };
    return every(POLL_MS, fill, { clock, log, signal, what: `adding sandbox addresses for ${network.key}` });
  };
  await Promise.all(networks.map(keep));
}

async function topUp({ database, config }: SandboxAddressesOptions, network: NetworkConfig): Promise<void> {
  const { nextIndex } = await readPool(database.addresses, network);
  const list = await makeAddressList(network, sandboxSeed(config.dataDir), nextIndex, SLICE);
  await importAddressList({ addresses: database.addresses, config }, await verifyAddressList(JSON.stringify(list)));
}
