/**
 * The families that the sandbox can simulate: one row each.
 * @module
 */
import type { AddressCodec, Family } from '../chains/chain.ts';
import { evmAddress } from '../chains/evm/address.ts';
import { solanaAddress } from '../chains/solana/address.ts';
import { tronAddress } from '../chains/tron/address.ts';
import type { Token } from '../core/transfer.ts';
import { evmAdmit } from './evm-pool.ts';
import { startEvmServer } from './evm-server.ts';
import type { Admit } from './mempool.ts';
import { type NodeServer, type NodeServerOptions, tokenKey } from './node-server.ts';
import { solanaAdmit } from './solana-pool.ts';
import { isSkippedSlot } from './solana-render.ts';
import { startSolanaServer } from './solana-server.ts';
import { tronAdmit } from './tron-pool.ts';
import { tronBlockId } from './tron-render.ts';
import { startTronServer } from './tron-server.ts';
import type { WorldOptions } from './world.ts';

export type SandboxFamily = Readonly<{
  codec: AddressCodec;
  /**
   * Where the family's receiving xpub stands in a wallet (BIP-44, external chain); null where addresses are imported.
   */
  xpubPath: string | null;
  /** About how far below the tip the chain's own finality stands. */
  finalityDistance: number;
  /** A block's hash out of its height and 64 hex digits; the digits themselves when absent. */
  blockHash?: (chainId: string, number: number, digits: string) => string;
  /** Whether nobody makes a block with this number; every number has one when absent. */
  isSkipped?: (chainId: string, number: number) => boolean;
  /** What its blocks take of what wallets signed. */
  admit?: Admit;
  startServer(options: NodeServerOptions): Promise<NodeServer>;
}>;

export const families: Readonly<Record<Family, SandboxFamily>> = {
  // Two epochs of Ethereum.
  evm: {
    codec: evmAddress,
    xpubPath: "m/44'/60'/0'/0",
    finalityDistance: 64,
    admit: evmAdmit,
    startServer: startEvmServer,
  },
  // 18 blocks by other producers.
  tron: {
    codec: tronAddress,
    xpubPath: "m/44'/195'/0'/0",
    finalityDistance: 18,
    blockHash: tronBlockId,
    admit: tronAdmit,
    startServer: startTronServer,
  },
  // A block is final as the 32nd from the tip.
  solana: {
    codec: solanaAddress,
    xpubPath: null,
    finalityDistance: 31,
    isSkipped: isSkippedSlot,
    admit: solanaAdmit,
    startServer: startSolanaServer,
  },
};

export type SimulatedChain = Readonly<{ family: Family; chainId: string; tokens: readonly Token[] }>;

/** What a network's family says of its world. */
export function worldShape({
  family,
  chainId,
  tokens,
}: SimulatedChain): Pick<
  WorldOptions,
  'tokens' | 'keyBytes' | 'finalityDistance' | 'isSkipped' | 'blockHash' | 'admit'
> {
  const { codec, finalityDistance, blockHash, isSkipped, admit } = families[family];
  return {
    tokens: tokens.map((token) => tokenKey(codec, token)),
    keyBytes: codec.keyBytes,
    finalityDistance,
    ...(admit && { admit }),
    ...(isSkipped && { isSkipped: (number) => isSkipped(chainId, number) }),
    ...(blockHash && { blockHash: (number, digits) => blockHash(chainId, number, digits) }),
  };
}
