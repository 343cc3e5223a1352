/**
 * The level of a network's address pool, and its source: an xpub, or imported lists of one signer.
 */
import type { NetworkConfig } from '../config/network.ts';
import type { PoolLevel } from '../database/addresses.ts';
import type { Addresses } from '../database/database.ts';
import { xpubFingerprint } from './pool-keeper.ts';

/** Share of free addresses among all imported ones up to which an imported pool is low. */
export const LOW_SHARE = 0.2;

/** A pool's level. An imported pool without a list has no source. */
export type PoolReport = PoolLevel & Readonly<{ imported: boolean; source: string | null; isLow: boolean }>;

/** Returns the level of a network's address pool. */
export async function readPool(
  addresses: Addresses,
  network: Pick<NetworkConfig, 'family' | 'mode' | 'xpub' | 'addressSigner'>,
): Promise<PoolReport> {
  const { family, mode, xpub, addressSigner } = network;
  const imported = xpub === null;
  const source = imported ? (addressSigner ?? (await addresses.source({ family, mode }))) : xpubFingerprint(xpub);
  const none = { family, mode, free: 0, taken: 0, nextIndex: 0, retiredThrough: 0 };
  const level = source === null ? none : await addresses.level({ family, mode }, source);
  return { ...level, imported, source, isLow: imported && level.free <= level.nextIndex * LOW_SHARE };
}

/** Returns one network for each pool, which all networks of a family and mode share. */
export function networkOfEachPool<N extends Pick<NetworkConfig, 'family' | 'mode'>>(networks: readonly N[]): N[] {
  return [...new Map(networks.map((network) => [`${network.family}/${network.mode}`, network])).values()];
}
