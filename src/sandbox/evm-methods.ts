/**
 * The methods of an Ethereum node, answered from a world: those that read the chain here, those that wallets need in
 * `evm-wallet-methods.ts`.
 */
import type { Accounts } from './accounts.ts';
import { loggedEntries, type WorldBlock } from './block-tree.ts';
import {
  addressOf,
  blockByAny,
  bytesArgument,
  filterArgument,
  hashArgument,
  type LogFilter,
  logsArgument,
  passes,
  positional,
  stateArgument,
} from './evm-arguments.ts';
import {
  hex,
  quantity,
  type RenderedLog,
  renderBlock,
  renderLog,
  renderReceipts,
  renderTransaction,
} from './evm-render.ts';
import { type EvmChain, evmWalletMethods, type Method, type Question, reverted } from './evm-wallet-methods.ts';
import { createTokenCalls } from './token-calls.ts';
import { routerKey } from './transaction.ts';
import type { View } from './world.ts';

const KEY_BYTES = 20;
/** Enough code to distinguish a contract from an account: it stops at once. */
const CODE = '0x6080604052600080fd';

/** Returns the logs of a block that pass the filter, in order. */
const logsOf = (block: WorldBlock, filter: LogFilter): RenderedLog[] =>
  loggedEntries(block)
    .map((logged) => renderLog(logged, block))
    .filter((log) => passes(filter, log));

/** Returns the methods by name; each throws `RpcError`. */
export function evmMethods(chain: EvmChain): ReadonlyMap<string, Method> {
  const { world, chainId, tokens, dialect } = chain;
  const calls = createTokenCalls(tokens);
  /** The last state that was asked for. */
  let state = { hash: '', accounts: world.accounts() };

  function accountsAt({ hash, number }: WorldBlock): Accounts {
    if (hash !== state.hash) state = { hash, accounts: world.accounts(number) };
    return state.accounts;
  }

  function ethCall({ params, view }: Question): string {
    const args = positional(params);
    const { to, input, data } = (args[0] ?? {}) as Record<string, unknown>;
    const block = stateArgument(args, 1, view);
    const key = addressOf(to, 0);
    if (!calls.isToken(key)) return '0x';
    const answer = calls.answer(accountsAt(block), key, bytesArgument([input ?? data ?? '0x'], 0));
    if (answer === null) throw reverted(dialect);
    return hex(answer);
  }

  /** Finds a transaction of the canonical chain or, with a null place, a pending one. */
  function find(id: string, view: View) {
    const found = world.find(id);
    const place = found && view.byHash(found.block.hash) ? found : null;
    const transaction = place
      ? place.block.transactions[place.index]
      : world.pending().find((waiting) => waiting.id === id);
    return transaction ? { transaction, place } : null;
  }

  const methods: Record<string, Method> = {
    eth_chainId: () => quantity(chainId),
    web3_clientVersion: () => dialect.clientVersion,
    eth_syncing: () => false,
    eth_blockNumber: ({ view }) => quantity(view.tip().number),

    eth_getBlockByNumber({ params, view }) {
      const block = blockByAny(positional(params), 0, view);
      return block ? renderBlock(block, dialect) : null;
    },

    eth_getBlockByHash({ params, view }) {
      const block = view.byHash(hashArgument(positional(params), 0));
      return block ? renderBlock(block, dialect) : null;
    },

    eth_getLogs({ params, view }) {
      const args = positional(params);
      return logsOf(logsArgument(args, 0, view), filterArgument(args, 0));
    },

    eth_getBlockReceipts({ params, view }) {
      const block = blockByAny(positional(params), 0, view);
      return block ? renderReceipts(block, dialect) : null;
    },

    eth_getTransactionReceipt({ params, view }) {
      const place = find(hashArgument(positional(params), 0), view)?.place;
      return (place && renderReceipts(place.block, dialect)[place.index]) ?? null;
    },

    eth_getTransactionByHash({ params, view }) {
      const found = find(hashArgument(positional(params), 0), view);
      return found && renderTransaction(found.transaction, chain, found.place);
    },

    eth_call: ethCall,

    eth_getCode({ params, view }) {
      const args = positional(params);
      const key = addressOf(args[0], 0);
      stateArgument(args, 1, view);
      return calls.isToken(key) || key === routerKey(KEY_BYTES) ? CODE : '0x';
    },
  };
  return new Map(Object.entries({ ...methods, ...evmWalletMethods(chain) }));
}
