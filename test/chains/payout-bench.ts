/** A chain that pays out, as its conformance suite and its family's own tests drive it. */
import * as assert from 'uvu/assert';
import type { Chain } from '../../src/chains/chain.ts';
import type { PayoutNode, PayoutNodeOptions, SentAttempt, SpendNetwork } from '../../src/chains/spend.ts';
import type { GasIntent, Intent, SweepIntent } from '../../src/core/intent.ts';
import type { Outcome } from '../../src/core/spend.ts';
import type { Attempt, createSeedWallets, SeedWallets } from './seed-wallets.ts';

/** Functions that return `unknown` are awaited. */
export type PayoutNodeBench = ReturnType<typeof createSeedWallets> &
  Readonly<{
    chain: Chain;
    network: SpendNetwork;
    /** Opens a client; the bench closes it. */
    open(more?: Partial<PayoutNodeOptions>): PayoutNode;
    /** Each way to reach the node. */
    urls: readonly string[];
    /** Another node of the same chain, which shows none of our transactions. */
    blindUrl: string;
    otherChainId: string;
    /** An id that no transaction has. */
    unknownTx: string;
    /** Address keys that no payout can go to. */
    unpayable: readonly string[];
    /** Gives native coin, or base units of the first token, with the next block. */
    giveNative(key: string, units: bigint): unknown;
    giveTokens(key: string, units: bigint): unknown;
    /** Mines blocks; the first takes what is in the pool. */
    mine(blocks?: number): unknown;
    /** Blocks on top that make one final. */
    finalBlocks: number;
    /** Removes the newest blocks with what is in them; absent where no block that a client sees is ever removed. */
    reorg?(depth: number): unknown;
    /** Lets everything that was signed expire, at finality; absent where nothing expires. */
    outlive?(): unknown;
    /** Runs while the node takes what is sent and answers that it does not; absent where no node can be made to. */
    deny?<T>(run: () => Promise<T>): Promise<T>;
    /** Base units of the first token, and of the native coin, that an account holds. */
    held(key: string): bigint | Promise<bigint>;
    native(key: string): bigint | Promise<bigint>;
    /** Number of the newest block. */
    head(): Promise<number>;
    /** Pays for several transactions of a wallet. */
    nativeUnits: bigint;
    close(): Promise<void>;
  }>;

/** Base units of the first token in a wallet that was funded. */
export const TOKENS = 1_000_000_000n;

export const gasOf = (form: GasIntent['form'], index: number, units: bigint): GasIntent => ({
  kind: 'gas',
  id: `gas_${form}_${index}_${units}`,
  network: 'test:any',
  form,
  index,
  units,
});

export const sweepOf = (...from: SweepIntent['from']): SweepIntent => ({
  kind: 'sweep',
  id: `sw_${from.map(({ index }) => index).join('_')}`,
  network: 'test:any',
  currency: 'USDT',
  from,
});

/** Opens one client of a bench. @returns both, and what tests do with them */
export function withClient<Bench extends PayoutNodeBench>(bench: Bench) {
  const node = bench.open();

  /** Wallets of a seed whose refund wallet has `nativeUnits` and `TOKENS`. */
  async function openFundedWallets(): Promise<SeedWallets> {
    const wallets = bench.openWallets();
    const wallet = wallets.keyOf({ role: 'refund' });
    await bench.giveNative(wallet, bench.nativeUnits);
    await bench.giveTokens(wallet, TOKENS);
    await bench.mine();
    return wallets;
  }
  const prepare = (wallets: SeedWallets, intent: Intent, outbid: readonly Attempt[] = []): Promise<Attempt> =>
    bench.prepareOn(node, wallets, intent, outbid);
  async function send({ bytes }: Attempt): Promise<void> {
    assert.equal(await node.broadcast(bytes), { kind: 'accepted' });
  }
  const outcomeOf = (
    wallets: SeedWallets,
    intent: Intent,
    attempts: readonly SentAttempt[],
    of: PayoutNode = node,
  ): Promise<Outcome> => of.outcome(wallets.draft(intent), attempts);

  /** Makes the newest block final. */
  const finalize = async (): Promise<void> => void (await bench.mine(bench.finalBlocks + 1));
  async function finalOutcome(...asked: Parameters<typeof outcomeOf>): Promise<Outcome> {
    await finalize();
    return outcomeOf(...asked);
  }
  /** Signs, sends and mines a payout. @returns its final outcome */
  async function carry(wallets: SeedWallets, intent: Intent): Promise<Outcome> {
    const attempt = await prepare(wallets, intent);
    await send(attempt);
    await bench.mine();
    return finalOutcome(wallets, intent, [attempt]);
  }
  return { ...bench, node, openFundedWallets, prepare, send, outcomeOf, finalize, finalOutcome, carry };
}
