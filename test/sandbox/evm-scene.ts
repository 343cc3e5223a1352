/**
 * One simulated EVM node on whose chain happened what the recordings show, for comparing the two.
 */
import { Wallet as EthersWallet } from 'ethers';
import type { DialectName } from '../../src/sandbox/evm-dialect.ts';
import type { PaymentKind } from '../../src/sandbox/transaction.ts';
import type { FaultKind } from '../simulated/faults.ts';
import type { Json } from '../support/recordings.ts';
import {
  accountKey,
  SANDBOX_CHAIN_ID,
  type SimulatedNode,
  sandboxTokens,
  startSimulatedNode,
  usdtKey,
} from '../support/simulated-node.ts';

export const GWEI = 10n ** 9n;
export const ETHER = 10n ** 18n;
export const usdt = sandboxTokens[0]?.address ?? '';
export const payee = `0x${accountKey('payee')}`;
const rich = new EthersWallet(`0x${'11'.repeat(32)}`);
const poor = new EthersWallet(`0x${'22'.repeat(32)}`);
export const richAddress = rich.address;
const richKey = rich.address.slice(2).toLowerCase();

export type Scene = Readonly<{
  node: SimulatedNode;
  /** The block with one payment of each kind and one of native coin, and the transactions by kind. */
  block: string;
  blockNumber: string;
  tx: Readonly<Record<PaymentKind | 'coin', string>>;
  /** A block that a reorg took away, and its transaction, which waits again. */
  side: string;
  sideTx: string;
  /** The head: a block without transactions. */
  head: string;
  /** Bytes of the coin payment, which was mined, and of one that waits. */
  minedRaw: string;
  waitingRaw: string;
  waitingTx: string;
  /** Signs a transaction of the rich wallet with its next number, or as `changes` says. */
  raw(changes?: Record<string, unknown>): Promise<string>;
  poorRaw(): Promise<string>;
  /** Asks once, with a fault at full rate if one is named. */
  ask(method: string, params: unknown, fault?: FaultKind): Promise<Json>;
  close(): Promise<void>;
}>;

export async function openScene(dialect: DialectName): Promise<Scene> {
  const node = await startSimulatedNode({ family: 'evm', seed: `recorded ${dialect}`, dialect, finalityDistance: 4 });
  const { world } = node;
  let nonce = 0;
  const sign = (wallet: EthersWallet, changes: Record<string, unknown>) =>
    wallet.signTransaction({
      type: 2,
      chainId: Number(SANDBOX_CHAIN_ID),
      nonce,
      to: payee,
      value: 1n,
      gasLimit: 21_000n,
      maxFeePerGas: 20n * GWEI,
      maxPriorityFeePerGas: GWEI,
      ...changes,
    });
  const raw = async (changes: Record<string, unknown> = {}) => {
    const bytes = await sign(rich, changes);
    if (!('nonce' in changes)) nonce += 1;
    return bytes;
  };
  const send = async (bytes: string): Promise<string> =>
    String((await node.ask('eth_sendRawTransaction', [bytes])).result);
  const mine = (blocks: number) => {
    for (let left = blocks; left > 0; left--) world.mine();
    return `0x${world.tip().hash}`;
  };

  world.fund(richKey, 10n * ETHER);
  world.pay({ kind: 'direct', from: accountKey('payer'), outputs: [{ token: usdtKey, to: richKey, units: 1_000n }] });
  mine(1);
  const minedRaw = await raw();
  const coin = await send(minedRaw);
  const pay = (kind: PaymentKind) => node.pay(accountKey('payee'), 5_000n, kind);
  const tx = {
    direct: pay('direct'),
    failed: pay('failed'),
    contract: pay('contract'),
    lookalike: pay('lookalike'),
    fee: pay('fee'),
    delegated: pay('delegated'),
    coin,
  };
  const block = world.mine();
  mine(8);
  const sideTx = node.pay(accountKey('payee'), 6n);
  const side = mine(1);
  world.reorg({ depth: 1, keep: 'pending', blocks: 2 });
  const waitingRaw = await raw();
  const waitingTx = await send(waitingRaw);
  return {
    node,
    block: `0x${block.hash}`,
    blockNumber: `0x${block.number.toString(16)}`,
    tx,
    side,
    sideTx,
    head: `0x${world.tip().parent}`,
    minedRaw,
    waitingRaw,
    waitingTx,
    raw,
    poorRaw: () => sign(poor, { nonce: 0 }),
    async ask(method, params, fault) {
      if (fault) node.faults.set({ rates: { [fault]: 1 } });
      try {
        return await node.ask(method, params);
      } finally {
        node.faults.heal();
      }
    },
    close: node.close,
  };
}
