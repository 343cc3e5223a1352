/**
 * The states of accounts and contracts that a simulated EVM node still has, the block that it would make next, and how
 * it reports a reverted call.
 *
 * @module
 */
import { abiString, selector } from './abi.ts';
import type { WorldBlock } from './block-tree.ts';
import { blockByAny, type EvmView } from './evm-arguments.ts';
import type { EvmDialect } from './evm-dialect.ts';
import { nextBaseFee } from './evm-gas.ts';
import { stateRootOf } from './evm-render.ts';
import type { FaultKind } from './faults.ts';
import { RpcError, serverError } from './json-rpc.ts';
import type { World } from './world.ts';

/** States that a node which is no archive keeps, the head's included. */
const STATES_MAX = 128;

/**
 * Returns the block whose state an argument names.
 * @param fault `states_gone` leaves only the head's
 * @throws RpcError if the node does not have the block, or no longer its state
 */
export function stateArgument(
  args: readonly unknown[],
  at: number,
  view: EvmView,
  fault: FaultKind | null,
): WorldBlock {
  const block = blockByAny(args, at, view);
  if (!block) throw serverError('header not found');
  const age = view.tip().number - block.number;
  if (age >= (fault === 'states_gone' ? 1 : STATES_MAX)) {
    throw serverError(`historical state ${stateRootOf(block)} is not available`);
  }
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
