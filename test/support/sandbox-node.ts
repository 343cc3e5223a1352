/**
 * A simulated EVM node in the test's own process: its world is at hand, and its sockets are real. Nothing is mined by
 * itself.
 *
 *   const node = await startSandboxNode({ seed: 'any' });
 *   node.pay(payee, 5_000_000n);
 *   node.world.mine();
 *   …
 *   await node.close();
 */

import type { Token } from '../../src/core/transfer.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { DialectName } from '../../src/sandbox/evm-dialect.ts';
import { accountKeyOf, askRpc, type SimulatedNode, startSimulatedNode } from './simulated-node.ts';

/** Two tokens with different decimals, so that mixing them up shows. */
export const sandboxTokens: readonly Token[] = [
  { symbol: 'USDT', address: `0x${'5a'.repeat(18)}0001`, decimals: 6 },
  { symbol: 'USDC', address: `0x${'5a'.repeat(18)}0002`, decimals: 18 },
];
export const [usdtKey, usdcKey] = sandboxTokens.map((token) => token.address.slice(2)) as [string, string];
export const SANDBOX_CHAIN_ID = '900001';

export type SandboxNode = SimulatedNode &
  Readonly<{
    wsUrl: string;
    /**
     * Makes one call over HTTP.
     * @returns the whole JSON-RPC answer
     */
    ask(method: string, params?: unknown): ReturnType<typeof askRpc>;
  }>;

export type SandboxNodeOptions = Readonly<{
  seed: string;
  dialect?: DialectName;
  clock?: Pick<Clock, 'nowMs'>;
  finalityDistance?: number;
  windowBlocks?: number;
  controlToken?: string | null;
  port?: number;
}>;

/** A payer's or payee's key: always the same for the same name. */
export const accountKey = (name: string): string => accountKeyOf('evm', name);

export async function startSandboxNode(options: SandboxNodeOptions): Promise<SandboxNode> {
  const node = await startSimulatedNode({
    ...options,
    family: 'evm',
    chainId: SANDBOX_CHAIN_ID,
    tokens: sandboxTokens,
  });
  return {
    ...node,
    wsUrl: node.url,
    ask: (method, params) => askRpc(node.httpUrl, method, params),
  };
}
