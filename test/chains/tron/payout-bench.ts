/**
 * Payouts on the simulated java-tron, over real HTTP, by a clock that is moved by hand: a block every three seconds,
 * by default. A block is final when three are on top of it.
 */
import * as assert from 'uvu/assert';
import type { PayoutNode, PayoutNodeOptions, SentAttempt, SpendNetwork } from '../../../src/chains/spend.ts';
import { openPayoutNode } from '../../../src/chains/tron/node/payout-node.ts';
import { tronSpending } from '../../../src/chains/tron/spend.ts';
import type { GasIntent, Intent, SweepIntent } from '../../../src/core/intent.ts';
import type { Outcome } from '../../../src/core/spend.ts';
import { handClock } from '../../support/hand-clock.ts';
import { startSimulatedNode, TRON_CHAIN_ID, tronTokenKeys, tronTokens } from '../../support/simulated-node.ts';
import { startTronProxy } from '../../support/tron-proxy.ts';
import { type Attempt, createSeedWallets, type SeedWallets } from '../seed-wallets.ts';

export const TRX = 1_000_000n;
export const FINAL_BLOCKS = 3;
const BLOCK_MS = 3_000;
/** Blocks this far apart soon pass an attempt's lifetime. */
const SPARSE_BLOCK_MS = 120_000;
const LIFETIME_MS = 31 * 60_000;

export async function makePayoutBench(seed: string) {
  const clock = handClock();
  const sandbox = await startSimulatedNode({ family: 'tron', seed, clock, finalityDistance: FINAL_BLOCKS });
  const proxy = await startTronProxy(sandbox.url);
  const { world } = sandbox;
  const network: SpendNetwork = {
    chainId: TRON_CHAIN_ID,
    tokens: tronTokens,
    treasury: '71'.repeat(20),
    feeUnitsMax: 100n * TRX,
  };
  const { openWallets, signOn, prepareOn } = createSeedWallets(network, tronSpending);
  const opened: PayoutNode[] = [];

  function open(more: Partial<PayoutNodeOptions> = {}): PayoutNode {
    const node = openPayoutNode({
      url: sandbox.url,
      chainId: TRON_CHAIN_ID,
      tokens: tronTokens,
      finalDepth: 19,
      requestTimeoutMs: 10_000,
      responseBytesMax: 1_000_000,
      ...more,
    });
    opened.push(node);
    return node;
  }
  const node = open();

  function mine(blocks = 1, blockMs = BLOCK_MS): void {
    for (let left = blocks; left > 0; left--) {
      clock.advance(blockMs);
      world.mine();
    }
  }
  mine(FINAL_BLOCKS + 1);

  /** Wallets of a seed whose refund wallet holds 100 TRX and 1000 USDT. */
  function openFundedWallets(): SeedWallets {
    const wallets = openWallets();
    const wallet = wallets.keyOf({ role: 'refund' });
    world.fund(wallet, 100n * TRX);
    sandbox.pay(wallet, 1_000_000_000n);
    mine();
    return wallets;
  }

  async function send(attempt: Attempt): Promise<void> {
    assert.equal(await node.broadcast(attempt.bytes), { kind: 'accepted' });
  }
  const prepare = (wallets: SeedWallets, intent: Intent): Promise<Attempt> => prepareOn(node, wallets, intent);
  const outcomeOf = (
    wallets: SeedWallets,
    intent: Intent,
    attempts: readonly SentAttempt[],
    of: PayoutNode = node,
  ): Promise<Outcome> => of.outcome(wallets.draft(intent), attempts);

  /** Sends, mines, and waits until it is final. */
  async function carry(wallets: SeedWallets, intent: Intent): Promise<Outcome> {
    const attempt = await prepare(wallets, intent);
    await send(attempt);
    mine(1 + FINAL_BLOCKS);
    return outcomeOf(wallets, intent, [attempt]);
  }

  const gas = (form: GasIntent['form'], index: number, units: bigint): GasIntent => ({
    kind: 'gas',
    id: `gas_${form}_${index}_${units}`,
    network: 'test:any',
    form,
    index,
    units,
  });
  const sweep = (index: number, units: bigint): SweepIntent => ({
    kind: 'sweep',
    id: `sw_${index}`,
    network: 'test:any',
    currency: 'USDT',
    from: [{ index, units }],
  });

  return {
    clock,
    sandbox,
    world,
    proxy,
    network,
    node,
    open,
    openWallets,
    openFundedWallets,
    signOn,
    prepare,
    send,
    carry,
    gas,
    sweep,
    outcomeOf,
    mine,
    mineFinal: () => mine(FINAL_BLOCKS),
    /** Lets everything that was signed so far expire, and makes that final. */
    outlive: () => mine(Math.ceil(LIFETIME_MS / SPARSE_BLOCK_MS) + 1 + FINAL_BLOCKS, SPARSE_BLOCK_MS),
    held: (key: string) => world.accounts().token(tronTokenKeys[0], key),
    native: (key: string) => world.accounts().native(key),
    async close() {
      for (const one of opened) await one.close();
      await proxy.close();
      await sandbox.close();
    },
  };
}
