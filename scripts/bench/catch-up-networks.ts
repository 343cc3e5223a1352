/**
 * The networks of the catch-up benchmark, each with blocks as large as the live network's.
 *
 * Sizes are those of 2026, per block: about 390 transactions on TRON; about 160 transfers of USDT and USDC on Ethereum
 * and 32 on BSC; about 780 votes and 475 other transactions on Solana, of which a third are assumed to transfer USDT or
 * USDC.
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import {
  SANDBOX_CHAIN_ID,
  SOLANA_CHAIN_ID,
  sandboxTokens,
  solanaTokens,
  TRON_CHAIN_ID,
  tronTokens,
} from '../../test/support/simulated-node.ts';
import { serveEvm } from './evm-node.ts';
import type { Served, Serving } from './growing-world.ts';
import { serveSolana } from './solana-node.ts';
import { serveTron } from './tron-node.ts';

export type CatchUpNetwork = Pick<
  NetworkConfig,
  'name' | 'family' | 'chainId' | 'tokens' | 'blockTimeMs' | 'confirmations' | 'reorgDepthMax'
> &
  Readonly<{
    keyBytes: number;
    /** How many blocks to read by default: at least an hour's worth. */
    blocks: number;
    /** Matcher threads; null for the indexer's default on this machine. */
    threadsMax: number | null;
    /** The target: blocks/s, or a multiple of the live rate. */
    target: Readonly<{ blocksPerS: number }> | Readonly<{ timesLive: number }> | null;
    serve(serving: Serving): Promise<Served>;
  }>;

export const catchUpNetworks: readonly CatchUpNetwork[] = [
  {
    name: 'tron',
    family: 'tron',
    chainId: TRON_CHAIN_ID,
    // USDT is the only token on the live network.
    tokens: tronTokens.slice(0, 1),
    keyBytes: 20,
    blockTimeMs: 3_000,
    confirmations: [{ blocks: 19 }],
    reorgDepthMax: 128,
    blocks: 7_200,
    threadsMax: null,
    target: { blocksPerS: 300 },
    serve: (serving) => serveTron({ ...serving, transactions: 390 }),
  },
  {
    name: 'ethereum',
    family: 'evm',
    chainId: SANDBOX_CHAIN_ID,
    tokens: sandboxTokens,
    keyBytes: 20,
    blockTimeMs: 12_000,
    confirmations: [{ blocks: 12 }],
    reorgDepthMax: 128,
    blocks: 2_400,
    threadsMax: null,
    target: null,
    serve: (serving) => serveEvm({ ...serving, transactions: 160 }),
  },
  {
    name: 'bsc',
    family: 'evm',
    chainId: SANDBOX_CHAIN_ID,
    tokens: sandboxTokens,
    keyBytes: 20,
    blockTimeMs: 450,
    confirmations: [{ blocks: 15 }],
    reorgDepthMax: 1_024,
    blocks: 8_000,
    threadsMax: null,
    target: null,
    serve: (serving) => serveEvm({ ...serving, transactions: 32 }),
  },
  {
    name: 'solana',
    family: 'solana',
    chainId: SOLANA_CHAIN_ID,
    tokens: solanaTokens,
    keyBytes: 32,
    blockTimeMs: 400,
    confirmations: [{ finality: 'finalized', usual: 32 }],
    reorgDepthMax: 150,
    blocks: 9_000,
    threadsMax: 2,
    target: { timesLive: 20 },
    serve: serveSolana,
  },
];

/** Returns a benchmark's network by its name. @throws Error if there is none */
export function findNetwork(name: string | undefined): CatchUpNetwork {
  const found = catchUpNetworks.find((network) => network.name === name);
  if (!found) throw new Error(`there is no benchmark of a network "${name}"`);
  return found;
}
