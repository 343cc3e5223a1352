/**
 * A simulated Solana node in the test's own process: its world is at hand, and its sockets are real. Nothing is mined by itself.
 *
 *   const node = await startSolanaNode({ seed: 'any' });
 *   node.pay(payee, 5_000_000n);
 *   node.world.mine();
 *   …
 *   await node.close();
 * @module
 */
import { solanaAddress } from '../../src/chains/solana/address.ts';
import { systemClock } from '../../src/clock.ts';
import type { Token } from '../../src/core/transfer.ts';
import { createFaults, type Faults } from '../../src/sandbox/faults.ts';
import { startMiner } from '../../src/sandbox/miner.ts';
import { digest } from '../../src/sandbox/random.ts';
import { formatSignature, isSkippedSlot } from '../../src/sandbox/solana-render.ts';
import { startSolanaServer } from '../../src/sandbox/solana-server.ts';
import type { PaymentKind } from '../../src/sandbox/transaction.ts';
import { createWorld, type World } from '../../src/sandbox/world.ts';

export const SOLANA_CHAIN_ID = '8fxKGYTPBA96vEMNNbQpGmRWbWahL5GNE5KzXEuCtrzr';
/** Two mints with different decimals, so that mixing them up shows. */
export const solanaTokenKeys = [digest('mint', 'USDT'), digest('mint', 'USDC')] as const;
export const solanaTokens: readonly [Token, Token] = [
  { symbol: 'USDT', address: solanaAddress.format(solanaTokenKeys[0]), decimals: 6 },
  { symbol: 'USDC', address: solanaAddress.format(solanaTokenKeys[1]), decimals: 9 },
];

/** A payer's or payee's key: always the same for the same name. */
export const solanaAccountKey = (name: string): string => digest('account', name);

export type SolanaNode = Readonly<{
  world: World;
  faults: Faults;
  url: string;
  rpcUrl: string;
  /** Sends USDT to an address key. @returns the signature */
  pay(to: string, units: bigint, kind?: PaymentKind): string;
  /** One call over HTTP. @returns the whole JSON-RPC answer */
  ask(method: string, params?: unknown): Promise<{ result?: unknown; error?: { code: number; message: string } }>;
  /** Makes the node unreachable, and reachable again at the same port with the same chain. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}>;

export type SolanaNodeOptions = Readonly<{
  seed: string;
  finalityDistance?: number;
  /** Which slots have no block; about every twentieth unless told otherwise. */
  isSkipped?: (slot: number) => boolean;
}>;

export async function startSolanaNode(options: SolanaNodeOptions): Promise<SolanaNode> {
  const world = createWorld({
    seed: options.seed,
    clock: systemClock,
    tokens: solanaTokenKeys,
    keyBytes: 32,
    isSkipped: options.isSkipped ?? ((slot) => isSkippedSlot(SOLANA_CHAIN_ID, slot)),
    finalityDistance: options.finalityDistance ?? 32,
  });
  const faults = createFaults(options.seed);
  const miner = startMiner(world, systemClock, 0, (error) => {
    throw error;
  });
  const listen = (port: number) =>
    startSolanaServer({
      world,
      miner,
      faults,
      chainId: SOLANA_CHAIN_ID,
      tokens: solanaTokens,
      port,
      controlToken: null,
    });
  let server = await listen(0);
  const { url } = server;
  const rpcUrl = url.replace('ws:', 'http:');
  return {
    world,
    faults,
    url,
    rpcUrl,
    pay: (to, units, kind = 'direct') => {
      const outputs = [{ token: solanaTokenKeys[0], to, units }];
      return formatSignature(world.pay({ kind, from: solanaAccountKey('payer'), outputs }));
    },
    async ask(method, params = []) {
      const response = await fetch(rpcUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
      return (await response.json()) as { result?: unknown };
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
