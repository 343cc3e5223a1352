/**
 * The one table of chain families. Address codecs are light and loaded at once; decoders and node clients on demand, so that
 * no process carries sockets or SDKs it does not use.
 * @module
 */
import type { Chain, Family } from './chain.ts';
import { evmAddress } from './evm/address.ts';
import { solanaAddress } from './solana/address.ts';
import { tronAddress } from './tron/address.ts';

export const chains: Readonly<Record<Family, Chain>> = {
  evm: {
    family: 'evm',
    address: evmAddress,
    wire: async () => (await import('./evm/wire.ts')).evmWire,
    node: () => import('./evm/node.ts'),
  },
  tron: {
    family: 'tron',
    address: tronAddress,
    wire: async () => (await import('./tron/wire.ts')).tronWire,
    node: () => import('./tron/node.ts'),
  },
  solana: {
    family: 'solana',
    address: solanaAddress,
    wire: async () => (await import('./solana/wire.ts')).solanaWire,
    node: () => import('./solana/node.ts'),
    offlineKeys: async () => (await import('./solana/offline-keys.ts')).solanaOfflineKeys,
  },
};
