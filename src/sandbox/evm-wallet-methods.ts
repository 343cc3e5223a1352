/**
 * The methods that wallets need of an Ethereum node: balances, fees, and sending a transaction.
 *
 * @module
 */
import { readTransferCall } from './abi.ts';
import { addressOf, blockByAny, bytesArgument, countArgument, positional } from './evm-arguments.ts';
import { BASE_FEE_WEI, GAS_LIMIT, gasBill, gasOf, TIP_WEI } from './evm-gas.ts';
import { openEvmPool } from './evm-pool.ts';
import { hex, quantity } from './evm-render.ts';
import type { FaultKind } from './faults.ts';
import { RpcError, serverError } from './json-rpc.ts';
import type { KeyedToken } from './token-calls.ts';
import type { View } from './view.ts';
import type { World } from './world.ts';

/** One question: its arguments, what the node shows of the world, and whether it lies about itself. */
export type Question = Readonly<{ params: unknown; view: View; fault: FaultKind | null }>;

export type EvmChain = Readonly<{
  world: World;
  chainId: number;
  tokens: readonly KeyedToken[];
}>;

export type Method = (question: Question) => unknown;

const HISTORY_BLOCKS_MAX = 1024;

/** Returns the methods by name; each throws `RpcError`. */
export function evmWalletMethods({ world, chainId, tokens }: EvmChain): Readonly<Record<string, Method>> {
  const tokenKeys = tokens.map(({ key }) => key);
  const pool = openEvmPool(world, chainId, tokenKeys);

  /** Returns the accounts at the block that argument `at` names. */
  function accountsAt(args: readonly unknown[], at: number, view: View) {
    const block = blockByAny(args, at, view);
    if (!block) throw serverError('header not found');
    return world.accounts(block.number);
  }

  function send({ params, fault }: Question): string {
    const { transaction, replaces } = pool.check(bytesArgument(positional(params, 1), 0));
    if (fault === 'send_dropped') return hex(transaction.id);
    world.submit(fault === 'send_failed' ? { ...transaction, succeeded: false } : transaction, replaces);
    if (fault === 'send_denied') throw serverError('request failed or timed out');
    return hex(transaction.id);
  }

  function estimate({ params, view }: Question): string {
    const args = positional(params, 4);
    const call = (args[0] ?? {}) as Record<string, unknown>;
    const { from = `0x${'0'.repeat(40)}`, to, value = '0x0' } = call;
    const data = call.input ?? call.data ?? '0x';
    const accounts = accountsAt(args, 1, view);
    const [sender, target] = [addressOf(from, 0), addressOf(to, 0)];
    if (!tokenKeys.includes(target)) {
      if (accounts.native(sender) < BigInt(String(value))) throw serverError('insufficient funds for transfer');
      return quantity(gasOf({ entries: [] }));
    }
    const transfer = readTransferCall(String(data).slice(2).toLowerCase());
    // 3 is go-ethereum's code for a reverted call.
    if (!transfer) throw new RpcError(3, 'execution reverted');
    if (accounts.token(target, sender) < transfer.units) {
      throw new RpcError(3, 'execution reverted: transfer amount exceeds balance');
    }
    return quantity(gasOf({ entries: [{ kind: 'transfer', token: target, from: sender, ...transfer }] }));
  }

  function history({ params, view }: Question) {
    const args = positional(params, 3);
    const newest = blockByAny(args, 1, view);
    if (!newest) throw serverError('header not found');
    const count = Math.min(countArgument(args, 0), HISTORY_BLOCKS_MAX, newest.number + 1);
    const percentiles = Array.isArray(args[2]) ? args[2] : [];
    const blocks = Array.from({ length: count }, (_, at) => view.at(newest.number - count + 1 + at));
    return {
      oldestBlock: quantity(newest.number - count + 1),
      baseFeePerGas: Array.from({ length: count + 1 }, () => quantity(BASE_FEE_WEI)),
      gasUsedRatio: blocks.map((block) => {
        const used = block?.transactions.reduce((sum, one) => sum + gasBill(one).gasUsed, 0) ?? 0;
        return used / GAS_LIMIT;
      }),
      baseFeePerBlobGas: Array.from({ length: count + 1 }, () => '0x1'),
      blobGasUsedRatio: blocks.map(() => 0),
      ...(percentiles.length > 0 && { reward: blocks.map(() => percentiles.map(() => quantity(TIP_WEI))) }),
    };
  }

  return {
    eth_sendRawTransaction: send,
    eth_estimateGas: estimate,
    eth_feeHistory: history,
    eth_gasPrice: () => quantity(BASE_FEE_WEI + TIP_WEI),
    eth_maxPriorityFeePerGas: () => quantity(TIP_WEI),

    eth_getTransactionCount({ params, view }) {
      const args = positional(params, 2);
      const account = addressOf(args[0], 0);
      if (args[1] === 'pending') return quantity(pool.nextSequence(account));
      return quantity(accountsAt(args, 1, view).sequence(account));
    },

    eth_getBalance({ params, view }) {
      const args = positional(params, 2);
      return quantity(accountsAt(args, 1, view).native(addressOf(args[0], 0)));
    },
  };
}
