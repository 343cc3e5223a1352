/**
 * The networks that an indexer is made to catch up with, each with blocks as large as the live network's.
 *
 * Sizes are those of 2026: TRON some 390 transactions a block; Ethereum some 160 and BSC some 32 transfers of USDT and USDC a block;
 * Solana some 780 votes and 475 other transactions a block, of which a third are taken to move USDT or USDC.
 * @module
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import { SANDBOX_CHAIN_ID, sandboxTokens } from '../../test/support/sandbox-node.ts';
import { SOLANA_CHAIN_ID, solanaTokens } from '../../test/support/solana-node.ts';
import { TRON_CHAIN_ID, tronTokens } from '../../test/support/tron-node.ts';
import { serveEvm } from './evm-node.ts';
import type { Served } from './growing-world.ts';
import { serveSolana } from './solana-node.ts';
import { serveTron } from './tron-node.ts';

type Serving = Readonly<{ blocks: number; blockTimeMs: number; chainId: string; tokens: NetworkConfig['tokens'] }>;

export type CatchUpNetwork = Pick<
  NetworkConfig,
  'name' | 'family' | 'chainId' | 'tokens' | 'blockTimeMs' | 'confirmations' | 'reorgDepthMax'
> &
  Readonly<{
    keyBytes: number;
    /** So many blocks are read unless told otherwise: an hour's worth at least. */
    blocks: number;
    /** Matcher threads; null for as many as an indexer takes on this machine. */
    threadsMax: number | null;
    /** Blocks/s, or multiples of the live rate, that are wanted. */
    target: Readonly<{ blocksPerS: number }> | Readonly<{ timesLive: number }> | null;
    serve(serving: Serving): Promise<Served>;
  }>;

export const catchUpNetworks: readonly CatchUpNetwork[] = [
  {
    name: 'tron',
    family: 'tron',
    chainId: TRON_CHAIN_ID,
    // USDT is the only one of the live network.
    tokens: tronTokens.slice(0, 1),
    keyBytes: 20,
    blockTimeMs: 3_000,
    confirmations: { kind: 'depth', blocks: 19 },
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
    confirmations: { kind: 'depth', blocks: 12 },
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
    confirmations: { kind: 'depth', blocks: 15 },
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
    confirmations: { kind: 'finalized', usual: 32 },
    reorgDepthMax: 150,
    blocks: 9_000,
    threadsMax: 2,
    target: { timesLive: 20 },
    serve: serveSolana,
  },
];

export function findNetwork(name: string | undefined): CatchUpNetwork {
  const found = catchUpNetworks.find((network) => network.name === name);
  if (!found) throw new Error(`no network "${name}" to catch up with`);
  return found;
}
