/**
 * The methods that wallets need of an Ethereum node: balances, fees, and sending a transaction.
 */
import { readTransferCall } from './abi.ts';
import type { WorldBlock } from './block-tree.ts';
import { addressOf, blockByAny, bytesArgument, countArgument, type EvmView, positional } from './evm-arguments.ts';
import type { EvmDialect } from './evm-dialect.ts';
import {
  baseFeeOf,
  fullnessOf,
  gasOf,
  nextBaseFee,
  suggestedTip,
  TRANSACTION_GAS_MAX,
  tipPercentiles,
} from './evm-gas.ts';
import { openEvmPool } from './evm-pool.ts';
import { hex, quantity } from './evm-render.ts';
import { reverted, stateArgument } from './evm-state.ts';
import { serverError } from './json-rpc.ts';
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
/** Newest blocks whose tips are looked at for a suggestion. */
const TIP_BLOCKS = 20;

/**
 * Checks that a wallet has the coin that an estimated call moves.
 * @param hasPrice whether the call names what it pays for gas
 */
function checkCoin(from: unknown, balance: bigint, value: bigint, hasPrice: boolean): void {
  // With a price, the gas must be paid for too, and go-ethereum then has another text.
  if (hasPrice && balance <= value) throw serverError('insufficient funds for transfer');
  if (balance >= value) return;
  const wants = `address ${from} have ${balance} want ${value}`;
  throw serverError(`failed with ${TRANSACTION_GAS_MAX} gas: insufficient funds for gas * price + value: ${wants}`);
}

/** Returns the methods by name; each throws `RpcError`. */
export function evmWalletMethods({ world, chainId, tokens, dialect }: EvmChain): Readonly<Record<string, Method>> {
  const tokenKeys = tokens.map(({ key }) => key);
  const pool = openEvmPool(world, { chainId, dialect, tokens: tokenKeys });

  /** Returns the accounts at the block that argument 1 names. */
  const accountsAt = (args: readonly unknown[], { view }: Question) =>
    world.accounts(stateArgument(args, 1, view).number);

  function suggestion({ view }: Question): bigint {
    const newest: WorldBlock[] = [];
    for (let block: WorldBlock | undefined = view.tip(); block && newest.length < TIP_BLOCKS; ) {
      newest.unshift(block);
      block = view.byHash(block.parent);
    }
    return suggestedTip(newest, dialect);
  }

  function send({ params }: Question): string {
    const { transaction, replaces } = pool.check(bytesArgument(positional(params, 1), 0));
    world.submit(transaction, replaces);
    return hex(transaction.id);
  }

  function estimate(question: Question): string {
    const args = positional(question.params, 4);
    const call = (args[0] ?? {}) as Record<string, unknown>;
    const { from = `0x${'0'.repeat(40)}`, to, value = '0x0' } = call;
    const data = call.input ?? call.data ?? '0x';
    const accounts = accountsAt(args, question);
    const [sender, target] = [addressOf(from, 0), addressOf(to, 0)];
    if (!tokenKeys.includes(target)) {
      checkCoin(from, accounts.native(sender), BigInt(String(value)), call.maxFeePerGas !== undefined);
      return quantity(gasOf({ entries: [] }));
    }
    const transfer = readTransferCall(String(data).slice(2).toLowerCase());
    if (!transfer) throw reverted(dialect);
    if (accounts.token(target, sender) < transfer.units) throw reverted(dialect, 'transfer amount exceeds balance');
    return quantity(gasOf({ entries: [{ kind: 'transfer', token: target, from: sender, ...transfer }] }));
  }

  function history({ params, view }: Question) {
    const args = positional(params, 3);
    const newest = blockByAny(args, 1, view);
    if (!newest) throw serverError('header not found');
    const count = Math.min(countArgument(args, 0), HISTORY_BLOCKS_MAX, newest.number + 1);
    const percentiles = Array.isArray(args[2]) ? args[2] : [];
    const blocks = Array.from({ length: count }, (_, at) => view.at(newest.number - count + 1 + at) ?? newest);
    const baseFees = [...blocks.map((block) => baseFeeOf(block, dialect)), nextBaseFee(newest, dialect)];
    return {
      oldestBlock: quantity(newest.number - count + 1),
      baseFeePerGas: baseFees.map(quantity),
      gasUsedRatio: blocks.map((block) => fullnessOf(block, dialect)),
      baseFeePerBlobGas: Array.from({ length: count + 1 }, () => '0x1'),
      blobGasUsedRatio: blocks.map(() => 0),
      ...(percentiles.length > 0 && {
        reward: blocks.map((block) => tipPercentiles(block, dialect, percentiles).map(quantity)),
      }),
    };
  }

  return {
    eth_sendRawTransaction: send,
    eth_estimateGas: estimate,
    eth_feeHistory: history,
    eth_gasPrice: (question) => quantity(baseFeeOf(question.view.tip(), dialect) + suggestion(question)),
    eth_maxPriorityFeePerGas: (question) => quantity(suggestion(question)),

    eth_getTransactionCount(question) {
      const args = positional(question.params, 2);
      const account = addressOf(args[0], 0);
      if (args[1] === 'pending') return quantity(pool.nextSequence(account));
      return quantity(accountsAt(args, question).sequence(account));
    },

    eth_getBalance(question) {
      const args = positional(question.params, 2);
      return quantity(accountsAt(args, question).native(addressOf(args[0], 0)));
    },
  };
}
