/**
 * A simulated node of any family in the test's own process: its world is at hand, and its sockets are real. Nothing is
 * mined by itself.
 *
 *   const node = await startSimulatedNode({ family: 'solana', seed: 'any' });
 *   node.pay(payee, 5_000_000n);
 *   node.world.mine();
 *   …
 *   await node.close();
 */
import { base58 } from '@scure/base';
import type { Family } from '../../src/chains/chain.ts';
import type { Token } from '../../src/core/transfer.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { digest } from '../../src/sandbox/digest.ts';
import type { DialectName } from '../../src/sandbox/evm-dialect.ts';
import { families, type SimulatedChain, worldShape } from '../../src/sandbox/families.ts';
import { type Miner, startMiner } from '../../src/sandbox/miner.ts';
import { tokenKey } from '../../src/sandbox/node-server.ts';
import { formatBlockHash, formatSignature } from '../../src/sandbox/solana-render.ts';
import type { PaymentKind } from '../../src/sandbox/transaction.ts';
import { failingNode } from '../simulated/failing-node.ts';
import { createFaults } from '../simulated/faults.ts';
import { createWorld } from '../simulated/world.ts';
import { askRpc } from './evm-node.ts';
import { freePort } from './free-port.ts';

/** Each family's tokens, with different decimals, so that mixing them up shows. */
export const sandboxTokens: readonly [Token, Token] = [
  { symbol: 'USDT', address: `0x${'5a'.repeat(18)}0001`, decimals: 6 },
  { symbol: 'USDC', address: `0x${'5a'.repeat(18)}0002`, decimals: 18 },
];
export const [usdtKey, usdcKey] = sandboxTokens.map((token) => token.address.slice(2)) as [string, string];
export const tronTokenKeys = [usdtKey, usdcKey] as const;
export const tronTokens: readonly [Token, Token] = [
  { symbol: 'USDT', address: 'TJCx4A1XzNvy32sqbmi86xcURieiVjKhUR', decimals: 6 },
  { symbol: 'USDC', address: 'TJCx4A1XzNvy32sqbmi86xcURieibFhVno', decimals: 18 },
];
export const solanaTokenKeys = [digest('mint', 'USDT'), digest('mint', 'USDC')] as const;
export const solanaTokens: readonly [Token, Token] = [
  { symbol: 'USDT', address: families.solana.codec.format(solanaTokenKeys[0]), decimals: 6 },
  { symbol: 'USDC', address: families.solana.codec.format(solanaTokenKeys[1]), decimals: 9 },
];
export const SANDBOX_CHAIN_ID = '900001';
export const TRON_CHAIN_ID = '842000999';
export const SOLANA_CHAIN_ID = '8fxKGYTPBA96vEMNNbQpGmRWbWahL5GNE5KzXEuCtrzr';

/** The chain that a simulated node of each family shows by default. */
export const simulatedChains = {
  evm: { family: 'evm', chainId: SANDBOX_CHAIN_ID, tokens: sandboxTokens },
  tron: { family: 'tron', chainId: TRON_CHAIN_ID, tokens: tronTokens },
  solana: { family: 'solana', chainId: SOLANA_CHAIN_ID, tokens: solanaTokens },
} as const satisfies Readonly<Record<Family, SimulatedChain>>;

export type SimulatedNodeOptions = Readonly<{
  family: Family;
  seed: string;
  /** Of the chain, if not the family's in `simulatedChains`. */
  chainId?: string;
  tokens?: readonly Token[];
  dialect?: DialectName;
  clock?: Pick<Clock, 'nowMs'>;
  finalityDistance?: number;
  /** The price of gas in the next block, if not the family's own. */
  price?: (() => bigint) | undefined;
  windowBlocks?: number;
  /** Which numbers have no block, if not the family's own choice. */
  isSkipped?: (number: number) => boolean;
  controlToken?: string | null;
  port?: number;
}>;

export type Writing = Readonly<{
  hash(digits: string): string;
  transaction(digits: string): string;
  /** Returns the digits of a block's hash. */
  digits(hash: string): string;
}>;

/** How a family writes the hashes and transaction ids of a world. */
export const writtenBy: Readonly<Record<Family, Writing>> = {
  evm: { hash: (digits) => `0x${digits}`, transaction: (digits) => `0x${digits}`, digits: (hash) => hash.slice(2) },
  tron: { hash: (digits) => digits, transaction: (digits) => digits, digits: (hash) => hash },
  solana: {
    hash: formatBlockHash,
    transaction: formatSignature,
    digits: (hash) => Buffer.from(base58.decode(hash)).toString('hex'),
  },
};

/** A payer's or payee's key: always the same for the same name. */
export const accountKeyOf = (family: Family, name: string): string =>
  digest('account', name).slice(0, 2 * families[family].codec.keyBytes);

/** The key of somebody on the EVM chain or on TRON. */
export const accountKey = (name: string): string => accountKeyOf('evm', name);

export type SimulatedNode = Awaited<ReturnType<typeof startSimulatedNode>>;

export async function startSimulatedNode(options: SimulatedNodeOptions) {
  const { family, seed, chainId, tokens, controlToken = null } = { ...simulatedChains[options.family], ...options };
  const { codec } = families[family];
  const shape = worldShape({ ...options, chainId });
  const tokenKeys = tokens.map((token) => tokenKey(codec, token));
  const world = createWorld({
    ...shape,
    seed,
    tokens: tokenKeys,
    keyBytes: codec.keyBytes,
    clock: options.clock ?? systemClock,
    finalityDistance: options.finalityDistance ?? shape.finalityDistance,
    ...(options.price && { price: options.price }),
    ...(options.windowBlocks && { windowBlocks: options.windowBlocks }),
    ...(options.isSkipped && { isSkipped: options.isSkipped }),
  });
  const faults = createFaults(seed);
  const failing = failingNode({ family, world, chainId, dialect: options.dialect }, faults);
  let miner: Miner | null = null;
  const listen = (port: number) =>
    families[family].startServer({
      ...failing,
      chainId,
      tokens,
      port,
      controlToken,
      ...(options.dialect && { dialect: options.dialect }),
    });
  let server = await listen(options.port ?? (await freePort()));
  const { url, rpcUrl = url.replace(/^ws:/, 'http:') } = server;
  return {
    family,
    world,
    faults,
    /** Where the family's client connects, and where plain HTTP and WebSockets (not TRON's) are answered. */
    url,
    httpUrl: rpcUrl,
    wsUrl: url,
    /** Makes one JSON-RPC call over HTTP. @returns the whole answer */
    ask: (method: string, params?: unknown) => askRpc(rpcUrl, method, params),
    /** Makes one POST as java-tron takes it. @returns the answer's text */
    async post(path: string, body: object = {}) {
      return (await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })).text();
    },
    /**
     * Sends the first token (or the one with another key) to an address key.
     * @returns the transaction id as the family writes it
     */
    pay(to: string, units: bigint, kind: PaymentKind = 'direct', token = tokenKeys[0] ?? ''): string {
      const from = accountKeyOf(family, 'payer');
      return writtenBy[family].transaction(world.pay({ kind, from, outputs: [{ token, to, units }] }));
    },
    /** Mines a block at intervals until the node rests or is closed. */
    mineEvery(ms: number) {
      miner = startMiner(world, systemClock, { intervalMs: ms }, (error) => {
        throw error;
      });
    },
    /** Ends the mining at intervals. */
    rest: async () => miner?.stop(),
    /** Makes the node unreachable; `start` opens it again at the same ports with the same chain. */
    stop: () => server.close(),
    async start() {
      server = await listen(Number(new URL(url).port));
      if (server.url !== url) throw new Error(`another program has taken the node's port: ${url}`);
    },
    async close() {
      await miner?.stop();
      await server.close();
    },
  };
}
