/**
 * The families that the sandbox can simulate: one row each.
 */
import type { AddressCodec, Family } from '../chains/chain.ts';
import { evmAddress } from '../chains/evm/address.ts';
import { solanaAddress } from '../chains/solana/address.ts';
import { tronAddress } from '../chains/tron/address.ts';
import type { Token } from '../core/transfer.ts';
import { type DialectName, dialects } from './evm-dialect.ts';
import { evmAdmit } from './evm-pool.ts';
import { startEvmServer } from './evm-server.ts';
import type { Admit } from './mempool.ts';
import type { NodeServer, NodeServerOptions } from './node-server.ts';
import { solanaAdmit } from './solana-pool.ts';
import { isSkippedSlot } from './solana-render.ts';
import { startSolanaServer } from './solana-server.ts';
import { tronAdmit } from './tron-pool.ts';
import { tronBlockId } from './tron-render.ts';
import { startTronServer } from './tron-server.ts';
import type { WorldOptions } from './world.ts';

type SandboxFamily = Readonly<{
  codec: AddressCodec;
  /** The derivation path of the family's xpub in a wallet (BIP-44, external chain); null if addresses are imported. */
  xpubPath: string | null;
  /** How far below the tip the chain's own finality is. */
  finalityDistance(dialect: DialectName): number;
  /** Returns a block's hash from its height and 64 hex digits; the digits themselves if absent. */
  blockHash?: (chainId: string, number: number, digits: string) => string;
  /** Whether no block has this number; every number has one if absent. */
  isSkipped?: (chainId: string, number: number) => boolean;
  /** Which signed transactions its blocks include. */
  admit?: Admit;
  /** The price of gas in each block, in wei. */
  baseFee?: (dialect: DialectName) => bigint;
  startServer(options: NodeServerOptions): Promise<NodeServer>;
}>;

export const families: Readonly<Record<Family, SandboxFamily>> = {
  evm: {
    codec: evmAddress,
    xpubPath: "m/44'/60'/0'/0",
    finalityDistance: (dialect) => dialects[dialect].finalityDistance,
    admit: evmAdmit,
    baseFee: (dialect) => dialects[dialect].baseFee,
    startServer: startEvmServer,
  },
  // 18 blocks by other producers; the interface of the solidified chain shows them two blocks later.
  tron: {
    codec: tronAddress,
    xpubPath: "m/44'/195'/0'/0",
    finalityDistance: () => 20,
    blockHash: tronBlockId,
    admit: tronAdmit,
    startServer: startTronServer,
  },
  // A block is final as the 32nd below the tip.
  solana: {
    codec: solanaAddress,
    xpubPath: null,
    finalityDistance: () => 31,
    isSkipped: isSkippedSlot,
    admit: solanaAdmit,
    startServer: startSolanaServer,
  },
};

export type SimulatedChain = Readonly<{
  family: Family;
  chainId: string;
  dialect?: DialectName;
  tokens: readonly Token[];
}>;

/** Returns the family's part of a network's world. */
export function worldShape({
  family,
  chainId,
  dialect = 'ethereum',
}: Pick<SimulatedChain, 'family' | 'chainId' | 'dialect'>): Pick<
  WorldOptions,
  'finalityDistance' | 'isSkipped' | 'blockHash' | 'admit' | 'price'
> {
  const { finalityDistance, blockHash, isSkipped, admit, baseFee } = families[family];
  return {
    finalityDistance: finalityDistance(dialect),
    ...(admit && { admit }),
    ...(baseFee && { price: () => baseFee(dialect) }),
    ...(isSkipped && { isSkipped: (number) => isSkipped(chainId, number) }),
    ...(blockHash && { blockHash: (number, digits) => blockHash(chainId, number, digits) }),
  };
}
