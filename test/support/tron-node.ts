/**
 * A simulated java-tron node in the test's own process: its world is at hand, and its sockets are real. Nothing is mined by itself.
 *
 *   const node = await startTronNode({ seed: 'any' });
 *   node.pay(payee, 5_000_000n);
 *   node.world.mine();
 *   …
 *   await node.close();
 * @module
 */
import { systemClock } from '../../src/clock.ts';
import type { Token } from '../../src/core/transfer.ts';
import { createFaults, type Faults } from '../../src/sandbox/faults.ts';
import { startMiner } from '../../src/sandbox/miner.ts';
import type { PaymentKind } from '../../src/sandbox/transaction.ts';
import { tronBlockId } from '../../src/sandbox/tron-render.ts';
import { startTronServer } from '../../src/sandbox/tron-server.ts';
import { createWorld, type World } from '../../src/sandbox/world.ts';
import { accountKey } from './sandbox-node.ts';

export const TRON_CHAIN_ID = '842000999';
/** Two tokens with different decimals, so that mixing them up shows. */
export const tronTokens: readonly [Token, Token] = [
  { symbol: 'USDT', address: 'TJCx4A1XzNvy32sqbmi86xcURieiVjKhUR', decimals: 6 },
  { symbol: 'USDC', address: 'TJCx4A1XzNvy32sqbmi86xcURieibFhVno', decimals: 18 },
];
export const tronTokenKeys = [`${'5a'.repeat(18)}0001`, `${'5a'.repeat(18)}0002`] as const;

export type TronNode = Readonly<{
  world: World;
  faults: Faults;
  url: string;
  /** Sends USDT to an address key. @returns the transaction id */
  pay(to: string, units: bigint, kind?: PaymentKind): string;
  /** One POST. @returns the answer's text */
  ask(path: string, body?: object): Promise<string>;
  /** Makes the node unreachable, and reachable again at the same port with the same chain. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}>;

export type TronNodeOptions = Readonly<{ seed: string; finalityDistance?: number; chainId?: string; port?: number }>;

export async function startTronNode(options: TronNodeOptions): Promise<TronNode> {
  const { chainId = TRON_CHAIN_ID } = options;
  const world = createWorld({
    seed: options.seed,
    clock: systemClock,
    tokens: tronTokenKeys,
    keyBytes: 20,
    blockHash: (number, digits) => tronBlockId(chainId, number, digits),
    finalityDistance: options.finalityDistance ?? 18,
  });
  const faults = createFaults(options.seed);
  const miner = startMiner(world, systemClock, 0, (error) => {
    throw error;
  });
  const listen = (port: number) =>
    startTronServer({
      world,
      miner,
      faults,
      chainId,
      tokens: tronTokens,
      port,
      controlToken: null,
    });
  let server = await listen(options.port ?? 0);
  const { url } = server;
  return {
    world,
    faults,
    url,
    pay: (to, units, kind = 'direct') =>
      world.pay({ kind, from: accountKey('payer'), outputs: [{ token: tronTokenKeys[0], to, units }] }),
    async ask(path, body = {}) {
      return (await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })).text();
    },
    stop: () => server.close(),
    async start() {
      server = await listen(Number(new URL(url).port));
    },
    async close() {
      await miner.stop();
      await server.close();
    },
  };
}
