/**
 * Where a network's addresses come from: derived from an xpub, or imported from lists that one signer has signed.
 * @module
 */
import type { NetworkConfig } from '../config/network.ts';
import type { Database, PoolLevel } from '../database/database.ts';
import { xpubFingerprint } from './pool-keeper.ts';

/** An imported pool that has come down to this share of all that was ever imported wants a further list. */
export const LOW_SHARE = 0.2;

/** A pool's level. An imported one without a first list has no source. */
export type PoolReport = PoolLevel & Readonly<{ imported: boolean; source: string | null; isLow: boolean }>;

/** The level of the pool that a network takes its addresses from. */
export async function readPool(
  database: Pick<Database, 'poolLevel' | 'poolSource'>,
  network: Pick<NetworkConfig, 'family' | 'mode' | 'xpub' | 'addressSigner'>,
): Promise<PoolReport> {
  const { family, mode, xpub, addressSigner } = network;
  const imported = xpub === null;
  const source = imported ? (addressSigner ?? (await database.poolSource({ family, mode }))) : xpubFingerprint(xpub);
  const none = { family, mode, free: 0, taken: 0, nextIndex: 0 };
  const level = source === null ? none : await database.poolLevel({ family, mode }, source);
  return { ...level, imported, source, isLow: imported && level.free <= level.nextIndex * LOW_SHARE };
}

/** One network for each pool: all of a family and mode share it. */
export function networkOfEachPool<N extends Pick<NetworkConfig, 'family' | 'mode'>>(networks: readonly N[]): N[] {
  return [...new Map(networks.map((network) => [`${network.family}/${network.mode}`, network])).values()];
}
