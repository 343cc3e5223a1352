/**
 * A simulated EVM node in the test's own process: its world is at hand, and its sockets are real. Nothing is mined by itself.
 *
 *   const node = await startSandboxNode({ seed: 'any' });
 *   node.pay(payee, 5_000_000n);
 *   node.world.mine();
 *   …
 *   await node.close();
 * @module
 */
import { systemClock } from '../../src/clock.ts';
import type { Token } from '../../src/core/transfer.ts';
import { startEvmServer } from '../../src/sandbox/evm-server.ts';
import { createFaults, type Faults } from '../../src/sandbox/faults.ts';
import { startMiner } from '../../src/sandbox/miner.ts';
import { digest } from '../../src/sandbox/random.ts';
import type { PaymentKind } from '../../src/sandbox/transaction.ts';
import { createWorld, type World } from '../../src/sandbox/world.ts';

/** Two tokens with different decimals, so that mixing them up shows. */
export const sandboxTokens: readonly Token[] = [
  { symbol: 'USDT', address: `0x${'5a'.repeat(18)}0001`, decimals: 6 },
  { symbol: 'USDC', address: `0x${'5a'.repeat(18)}0002`, decimals: 18 },
];
export const [usdtKey, usdcKey] = sandboxTokens.map((token) => token.address.slice(2)) as [string, string];
export const SANDBOX_CHAIN_ID = '900001';

export type SandboxNode = Readonly<{
  world: World;
  faults: Faults;
  wsUrl: string;
  httpUrl: string;
  /** Sends USDT (or another token's key) to an address key. @returns the transaction id as the node writes it */
  pay(to: string, units: bigint, kind?: PaymentKind, token?: string): string;
  /** One call over HTTP. @returns the whole JSON-RPC answer */
  ask(method: string, params?: unknown): Promise<{ result?: unknown; error?: { code: number; message: string } }>;
  close(): Promise<void>;
}>;

export type SandboxNodeOptions = Readonly<{
  seed: string;
  clock?: { nowMs(): number };
  finalityDistance?: number;
  windowBlocks?: number;
  controlToken?: string | null;
  port?: number;
}>;

/** A payer's or payee's key: always the same for the same name. */
export const accountKey = (name: string): string => digest('account', name).slice(0, 40);

export async function startSandboxNode(options: SandboxNodeOptions): Promise<SandboxNode> {
  const world = createWorld({
    seed: options.seed,
    clock: options.clock ?? systemClock,
    tokens: [usdtKey, usdcKey],
    keyBytes: 20,
    finalityDistance: options.finalityDistance ?? 64,
    ...(options.windowBlocks && { windowBlocks: options.windowBlocks }),
  });
  const faults = createFaults(options.seed);
  const miner = startMiner(world, systemClock, 0, (error) => {
    throw error;
  });
  const server = await startEvmServer({
    world,
    miner,
    faults,
    chainId: SANDBOX_CHAIN_ID,
    tokens: sandboxTokens,
    port: options.port ?? 0,
    controlToken: options.controlToken ?? null,
  });
  const httpUrl = server.url.replace('ws:', 'http:');
  return {
    world,
    faults,
    wsUrl: server.url,
    httpUrl,
    pay: (to, units, kind = 'direct', token = usdtKey) =>
      `0x${world.pay({ kind, from: accountKey('payer'), outputs: [{ token, to, units }] })}`,
    async ask(method, params = []) {
      const response = await fetch(httpUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
      return (await response.json()) as { result?: unknown };
    },
    async close() {
      await miner.stop();
      await server.close();
    },
  };
}
