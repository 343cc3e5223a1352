/**
 * A simulated java-tron node in the test's own process: its world is at hand, and its sockets are real. Nothing is
 * mined by itself.
 *
 *   const node = await startTronNode({ seed: 'any' });
 *   node.pay(payee, 5_000_000n);
 *   node.world.mine();
 *   …
 *   await node.close();
 */

import type { Token } from '../../src/core/transfer.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { type SimulatedNode, startSimulatedNode } from './simulated-node.ts';

export const TRON_CHAIN_ID = '842000999';
/** Two tokens with different decimals, so that mixing them up shows. */
export const tronTokens: readonly [Token, Token] = [
  { symbol: 'USDT', address: 'TJCx4A1XzNvy32sqbmi86xcURieiVjKhUR', decimals: 6 },
  { symbol: 'USDC', address: 'TJCx4A1XzNvy32sqbmi86xcURieibFhVno', decimals: 18 },
];
export const tronTokenKeys = [`${'5a'.repeat(18)}0001`, `${'5a'.repeat(18)}0002`] as const;

export type TronNode = SimulatedNode &
  Readonly<{
    /**
     * Makes one POST.
     * @returns the answer's text
     */
    ask(path: string, body?: object): Promise<string>;
  }>;

export type TronNodeOptions = Readonly<{
  seed: string;
  clock?: Pick<Clock, 'nowMs'>;
  finalityDistance?: number;
  chainId?: string;
  port?: number;
}>;

export async function startTronNode(options: TronNodeOptions): Promise<TronNode> {
  const node = await startSimulatedNode({ chainId: TRON_CHAIN_ID, ...options, family: 'tron', tokens: tronTokens });
  return {
    ...node,
    async ask(path, body = {}) {
      return (await fetch(`${node.url}${path}`, { method: 'POST', body: JSON.stringify(body) })).text();
    },
  };
}
