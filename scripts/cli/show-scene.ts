/** The context of `quayside show`: the installation, the time, and its networks. */
import { chains } from '../../src/chains/index.ts';
import { formatUnits, MINOR_DECIMALS, PAR_DECIMALS } from '../../src/core/money.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import { type Installation, moment } from './command.ts';
import { type Places, readPlaces } from './show-network.ts';

export type Scene = Installation & Readonly<{ nowMs: number; places: Places }>;

export async function openScene(installation: Installation): Promise<Scene> {
  const { config, database, clock } = installation;
  return { ...installation, nowMs: clock.nowMs(), places: await readPlaces(database, config.networks) };
}

/** Returns a time as people read it. */
export const at = (ms: number): string => `${moment(ms)} UTC`;

export const unitsText = (units: bigint, decimals: number, currency: string): string =>
  `${formatUnits(units, decimals, MINOR_DECIMALS)} ${currency}`;

export const parText = (par: bigint): string => formatUnits(par, PAR_DECIMALS, MINOR_DECIMALS);

/** Returns an address as people write it on a network; its key if the network is no longer configured. */
export function addressText({ places }: Pick<Scene, 'places'>, network: NetworkKey, key: string): string {
  const family = places.get(network)?.network.family;
  return family ? chains[family].address.format(key) : key;
}
