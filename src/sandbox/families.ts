/**
 * The families that the sandbox can simulate: one row each.
 * @module
 */
import type { AddressCodec, Family } from '../chains/chain.ts';
import { evmAddress } from '../chains/evm/address.ts';
import { startEvmServer } from './evm-server.ts';
import type { NodeServer, NodeServerOptions } from './node-server.ts';

export type SandboxFamily = Readonly<{
  codec: AddressCodec;
  /** Where the family's receiving xpub stands in a wallet (BIP-44, external chain). */
  xpubPath: string;
  startServer(options: NodeServerOptions): Promise<NodeServer>;
}>;

export const families: Readonly<Record<Family, SandboxFamily>> = {
  evm: { codec: evmAddress, xpubPath: "m/44'/60'/0'/0", startServer: startEvmServer },
};
