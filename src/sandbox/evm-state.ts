/**
 * The state that a question to a simulated EVM node is about, the block that the node would make next, and how it
 * reports a reverted call.
 */
import { abiString, selector } from './abi.ts';
import type { WorldBlock } from './block-tree.ts';
import { blockByAny, type EvmView } from './evm-arguments.ts';
import type { EvmDialect } from './evm-dialect.ts';
import { nextBaseFee } from './evm-gas.ts';
import { RpcError, serverError } from './json-rpc.ts';
import type { World } from './world.ts';

/**
 * Returns the block whose state an argument names.
 * @throws RpcError if the node does not have the block
 */
export function stateArgument(args: readonly unknown[], at: number, view: EvmView): WorldBlock {
  const block = blockByAny(args, at, view);
  if (!block) throw serverError('header not found');
  return block;
}

/** Returns the block that is shown as pending: of what waits, unless the chain shows its head as that. */
export function pendingBlock(world: World, dialect: EvmDialect): WorldBlock {
  const tip = world.tip();
  if (dialect.pendingIsHead) return tip;
  return {
    ...tip,
    number: tip.number + 1,
    parent: tip.hash,
    timeS: tip.timeS + 1,
    price: nextBaseFee(tip, dialect),
    transactions: world.pending(),
  };
}

/** Selector of Solidity's `Error(string)`. */
const ERROR_SELECTOR = selector('Error(string)');

/** The answer to a call that reverts. 3 is go-ethereum's code for it. */
export function reverted({ showsRevertData }: EvmDialect, reason?: string): RpcError {
  if (reason === undefined) return new RpcError(3, 'execution reverted', '0x');
  const data = `0x${ERROR_SELECTOR}${abiString(reason)}`;
  return new RpcError(3, `execution reverted: ${reason}${showsRevertData ? `: ${data}` : ''}`, data);
}
