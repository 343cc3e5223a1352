/**
 * A simulated Solana node in the test's own process: its world is at hand, and its sockets are real. Nothing is mined
 * by itself.
 *
 *   const node = await startSolanaNode({ seed: 'any' });
 *   node.pay(payee, 5_000_000n);
 *   node.world.mine();
 *   …
 *   await node.close();
 */
import { solanaAddress } from '../../src/chains/solana/address.ts';
import type { Token } from '../../src/core/transfer.ts';
import { digest } from '../../src/sandbox/random.ts';
import { accountKeyOf, askRpc, type SimulatedNode, startSimulatedNode } from './simulated-node.ts';

export const SOLANA_CHAIN_ID = '8fxKGYTPBA96vEMNNbQpGmRWbWahL5GNE5KzXEuCtrzr';
/** Two mints with different decimals, so that mixing them up shows. */
export const solanaTokenKeys = [digest('mint', 'USDT'), digest('mint', 'USDC')] as const;
export const solanaTokens: readonly [Token, Token] = [
  { symbol: 'USDT', address: solanaAddress.format(solanaTokenKeys[0]), decimals: 6 },
  { symbol: 'USDC', address: solanaAddress.format(solanaTokenKeys[1]), decimals: 9 },
];

/** A payer's or payee's key: always the same for the same name. */
export const solanaAccountKey = (name: string): string => accountKeyOf('solana', name);

export type SolanaNode = SimulatedNode &
  Readonly<{
    rpcUrl: string;
    /**
     * Makes one call over HTTP.
     * @returns the whole JSON-RPC answer
     */
    ask(method: string, params?: unknown): ReturnType<typeof askRpc>;
  }>;

export type SolanaNodeOptions = Readonly<{
  seed: string;
  finalityDistance?: number;
  /** Which slots have no block; about every twentieth by default. */
  isSkipped?: (slot: number) => boolean;
}>;

export async function startSolanaNode(options: SolanaNodeOptions): Promise<SolanaNode> {
  const node = await startSimulatedNode({
    ...options,
    family: 'solana',
    chainId: SOLANA_CHAIN_ID,
    tokens: solanaTokens,
  });
  return {
    ...node,
    rpcUrl: node.httpUrl,
    ask: (method, params) => askRpc(node.httpUrl, method, params),
  };
}
