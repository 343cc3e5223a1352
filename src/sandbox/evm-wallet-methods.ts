/**
 * The methods that wallets need of an Ethereum node: balances, fees, and sending a transaction.
 */
import { abiString, readTransferCall, selector } from './abi.ts';
import { addressOf, bytesArgument, countArgument, type EvmView, positional, stateArgument } from './evm-arguments.ts';
import type { EvmDialect } from './evm-dialect.ts';
import { baseFeeOf, fullnessOf, gasOf } from './evm-gas.ts';
import { openEvmPool } from './evm-pool.ts';
import { hex, quantity } from './evm-render.ts';
import { RpcError, serverError } from './json-rpc.ts';
import type { KeyedToken } from './token-calls.ts';
import type { World } from './world.ts';

/** One question: its arguments, and what the node shows. */
export type Question = Readonly<{ params: unknown; view: EvmView }>;

export type EvmChain = Readonly<{
  world: World;
  chainId: number;
  tokens: readonly KeyedToken[];
  dialect: EvmDialect;
}>;

export type Method = (question: Question) => unknown;

const HISTORY_BLOCKS_MAX = 1024;
/** Selector of Solidity's `Error(string)`. */
const ERROR_SELECTOR = selector('Error(string)');

/** The answer to a call that reverts. 3 is go-ethereum's code for it. */
export function reverted({ showsRevertData }: EvmDialect, reason?: string): RpcError {
  if (reason === undefined) return new RpcError(3, 'execution reverted', '0x');
  const data = `0x${ERROR_SELECTOR}${abiString(reason)}`;
  return new RpcError(3, `execution reverted: ${reason}${showsRevertData ? `: ${data}` : ''}`, data);
}

/** Returns the methods by name; each throws `RpcError`. */
export function evmWalletMethods({ world, chainId, tokens, dialect }: EvmChain): Readonly<Record<string, Method>> {
  const tokenKeys = tokens.map(({ key }) => key);
  const pool = openEvmPool(world, { chainId, dialect, tokens: tokenKeys });

  /** Returns the accounts at the block that argument 1 names. */
  const accountsAt = (args: readonly unknown[], { view }: Question) =>
    world.accounts(stateArgument(args, 1, view).number);

  function send({ params }: Question): string {
    const { transaction, replaces } = pool.check(bytesArgument(positional(params), 0));
    world.submit(transaction, replaces);
    return hex(transaction.id);
  }

  function estimate(question: Question): string {
    const args = positional(question.params);
    const call = (args[0] ?? {}) as Record<string, unknown>;
    const { from = `0x${'0'.repeat(40)}`, to, value = '0x0' } = call;
    const data = call.input ?? call.data ?? '0x';
    const accounts = accountsAt(args, question);
    const [sender, target] = [addressOf(from, 0), addressOf(to, 0)];
    if (!tokenKeys.includes(target)) {
      const balance = accounts.native(sender);
      if (balance < BigInt(String(value))) {
        throw serverError(`insufficient funds for gas * price + value: address ${from} have ${balance} want ${value}`);
      }
      return quantity(gasOf({ entries: [] }));
    }
    const transfer = readTransferCall(String(data).slice(2).toLowerCase());
    if (!transfer) throw reverted(dialect);
    if (accounts.token(target, sender) < transfer.units) throw reverted(dialect, 'transfer amount exceeds balance');
    return quantity(gasOf({ entries: [{ kind: 'transfer', token: target, from: sender, ...transfer }] }));
  }

  function history({ params, view }: Question) {
    const args = positional(params);
    const newest = stateArgument(args, 1, view);
    const count = Math.min(countArgument(args, 0), HISTORY_BLOCKS_MAX, newest.number + 1);
    const percentiles = Array.isArray(args[2]) ? args[2] : [];
    const blocks = Array.from({ length: count }, (_, at) => view.at(newest.number - count + 1 + at) ?? newest);
    const baseFees = [...blocks.map((block) => baseFeeOf(block, dialect)), baseFeeOf(newest, dialect)];
    return {
      oldestBlock: quantity(newest.number - count + 1),
      baseFeePerGas: baseFees.map(quantity),
      gasUsedRatio: blocks.map((block) => fullnessOf(block, dialect)),
      baseFeePerBlobGas: Array.from({ length: count + 1 }, () => '0x1'),
      blobGasUsedRatio: blocks.map(() => 0),
      ...(percentiles.length > 0 && {
        reward: blocks.map(() => percentiles.map(() => quantity(dialect.tip))),
      }),
    };
  }

  return {
    eth_sendRawTransaction: send,
    eth_estimateGas: estimate,
    eth_feeHistory: history,
    eth_gasPrice: ({ view }) => quantity(baseFeeOf(view.tip(), dialect) + dialect.tip),
    eth_maxPriorityFeePerGas: () => quantity(dialect.tip),

    eth_getTransactionCount(question) {
      const args = positional(question.params);
      const account = addressOf(args[0], 0);
      if (args[1] === 'pending') return quantity(pool.nextSequence(account));
      return quantity(accountsAt(args, question).sequence(account));
    },

    eth_getBalance(question) {
      const args = positional(question.params);
      return quantity(accountsAt(args, question).native(addressOf(args[0], 0)));
    },
  };
}
