/**
 * Payouts on a real node, anvil, that executes what the family's own signer signs. Its USDT returns nothing and can
 * keep a fee; its USDC can be stopped, silenced and frozen. A block is final when four are on top of it.
 */
import { Wallet as EthersWallet } from 'ethers';
import * as assert from 'uvu/assert';
import { openPayoutNode } from '../../../src/chains/evm/node/payout-node.ts';
import { evmSpending } from '../../../src/chains/evm/spend.ts';
import type { PayoutNode, PayoutNodeOptions, SentAttempt, SpendNetwork } from '../../../src/chains/spend.ts';
import type { Intent } from '../../../src/core/intent.ts';
import type { Outcome } from '../../../src/core/spend.ts';
import type { Token } from '../../../src/core/transfer.ts';
import { startAnvil } from '../../support/anvil.ts';
import { deployFeeToken, deployGuardedToken } from '../../support/contracts.ts';
import { type Attempt, createSeedWallets, type SeedWallets } from '../seed-wallets.ts';

const CHAIN_ID = 31_337;
/** Mined after a block, they make it final. */
const FINAL_BLOCKS = 5;
export const ETHER = 10n ** 18n;

export async function makePayoutBench() {
  const anvil = await startAnvil({ chainId: CHAIN_ID, slotsInAnEpoch: 2 });
  const usdt = await deployFeeToken(anvil, { symbol: 'USDT', decimals: 6 });
  const usdc = await deployGuardedToken(anvil, { symbol: 'USDC', decimals: 18 });
  const tokens: readonly Token[] = [
    { symbol: 'USDT', address: usdt.address, decimals: 6 },
    { symbol: 'USDC', address: usdc.address, decimals: 18 },
  ];
  const network: SpendNetwork = { chainId: String(CHAIN_ID), tokens, treasury: '71'.repeat(20), feeUnitsMax: ETHER };
  const opened: PayoutNode[] = [];
  const { openWallets, signOn, prepareOn } = createSeedWallets(network);

  function open(more: Partial<PayoutNodeOptions> = {}): PayoutNode {
    const node = openPayoutNode({
      url: anvil.httpUrl,
      chainId: String(CHAIN_ID),
      tokens,
      finalDepth: 12,
      requestTimeoutMs: 10_000,
      responseBytesMax: 1_000_000,
      ...more,
    });
    opened.push(node);
    return node;
  }
  const node = open();
  const prepare = (wallets: SeedWallets, intent: Intent, outbid: readonly Attempt[] = []) =>
    prepareOn(node, wallets, intent, outbid);

  /** Wallets of a seed whose refund wallet holds an ether, 1000 USDT and 1000 USDC. */
  async function openFundedWallets(): Promise<SeedWallets> {
    const wallets = openWallets();
    const refund = `0x${wallets.keyOf({ role: 'refund' })}`;
    await anvil.rpc('anvil_setBalance', [refund, `0x${ETHER.toString(16)}`]);
    await usdt.transfer(refund, 1_000_000_000n);
    await usdc.transfer(refund, 1_000n * ETHER);
    await anvil.mine();
    return wallets;
  }

  async function send(attempt: Attempt): Promise<void> {
    assert.equal(await node.broadcast(attempt.bytes), { kind: 'accepted' });
  }

  const outcomeOf = (
    wallets: SeedWallets,
    intent: Intent,
    attempts: readonly SentAttempt[],
    of: PayoutNode = node,
  ): Promise<Outcome> => of.outcome(wallets.draft(intent), attempts);

  /** Makes the newest block final. */
  const mineFinal = (): Promise<void> => anvil.mine(FINAL_BLOCKS);

  async function finalOutcome(
    wallets: SeedWallets,
    intent: Intent,
    attempts: readonly SentAttempt[],
  ): Promise<Outcome> {
    await mineFinal();
    return outcomeOf(wallets, intent, attempts);
  }

  /** Puts something else that the refund wallet's key signs with a sequence number into the pool. */
  async function spendElsewhere(wallets: SeedWallets, nonce: number): Promise<void> {
    const { secret } = evmSpending.derive(wallets.seed, { role: 'refund' });
    const thief = new EthersWallet(`0x${Buffer.from(secret).toString('hex')}`);
    const raw = await thief.signTransaction({
      type: 2,
      chainId: CHAIN_ID,
      nonce,
      to: `0x${'99'.repeat(20)}`,
      value: 1n,
      gasLimit: 21_000n,
      maxFeePerGas: 10n ** 11n,
      maxPriorityFeePerGas: 10n ** 10n,
    });
    await anvil.sendRaw(raw);
  }

  return {
    anvil,
    usdt,
    usdc,
    contracts: { USDT: usdt, USDC: usdc },
    treasury: network.treasury,
    node,
    open,
    openWallets,
    openFundedWallets,
    signOn,
    prepare,
    send,
    outcomeOf,
    mineFinal,
    finalOutcome,
    spendElsewhere,
    /** Base units of native coin that an account holds. */
    native: async (key: string) => BigInt(await anvil.rpc<string>('eth_getBalance', [`0x${key}`, 'latest'])),
    async close() {
      for (const one of opened) await one.close();
      await anvil.close();
    },
  };
}
