/**
 * Reads the arguments of Ethereum's JSON-RPC methods. Refusals of what no client of ours sends have one text.
 */
import type { WorldBlock } from './block-tree.ts';
import type { RenderedLog } from './evm-render.ts';
import { invalidParams, RpcError, serverError } from './json-rpc.ts';
import type { View } from './world.ts';

const HEX = /^0x[0-9a-f]*$/i;
const QUANTITY = /^0x(0|[1-9a-f][0-9a-f]*)$/i;
/** Characters of a hash, with its prefix. */
const HASH_CHARACTERS = 66;

/** The blocks that a node shows; `startsFinal` as in `EvmDialect`. */
export type EvmView = View & Readonly<{ startsFinal: boolean }>;

/** Returns positional arguments. @throws RpcError −32602 if they are not a list */
export function positional(params: unknown): readonly unknown[] {
  const list = params ?? [];
  if (!Array.isArray(list)) throw invalidParams('non-array args');
  return list;
}

const bad = (at: number) => invalidParams(`invalid argument ${at}`);

function required(args: readonly unknown[], at: number): unknown {
  if (args[at] === undefined || args[at] === null) throw invalidParams(`missing value for required argument ${at}`);
  return args[at];
}

/** Returns bytes as hex digits, lower case. @param count how many; any number if absent */
function digitsOf(value: unknown, at: number, count?: number): string {
  if (typeof value !== 'string' || !HEX.test(value) || value.length % 2 !== 0) throw bad(at);
  const digits = value.slice(2).toLowerCase();
  if (count !== undefined && digits.length !== 2 * count) throw bad(at);
  return digits;
}

/** Returns bytes of any length as hex digits, lower case. */
export const bytesArgument = (args: readonly unknown[], at: number): string => digitsOf(required(args, at), at);

/** Returns a 32-byte value as hex digits, lower case. */
export const hashArgument = (args: readonly unknown[], at: number): string => digitsOf(required(args, at), at, 32);

/** Returns an address as a key. */
export const addressOf = (value: unknown, at: number): string => digitsOf(value, at, 20);

/** Returns a count, given as a quantity or a plain number. */
export function countArgument(args: readonly unknown[], at: number): number {
  const count = Number(required(args, at));
  if (!Number.isSafeInteger(count) || count < 1) throw bad(at);
  return count;
}

/** @throws RpcError before any block is final, unless the chain starts with a final one */
function finalNumber(tag: string, view: EvmView): number {
  const { number } = view.finalized();
  if (number === 0 && !view.startsFinal) throw serverError(`${tag} block not found`);
  return number;
}

/** Returns a height; tags are resolved in the view. */
function heightOf(value: unknown, at: number, view: EvmView): number {
  switch (value) {
    // Pending transactions are not in any state that is shown.
    case 'pending':
    case 'latest':
      return view.tip().number;
    case 'safe':
    case 'finalized':
      return finalNumber(value, view);
    case 'earliest':
      return 0;
  }
  if (typeof value !== 'string' || !QUANTITY.test(value)) throw bad(at);
  return Number(value);
}

/**
 * Returns the block at a height.
 * @throws RpcError 4444 (EIP-4444) if the block is no longer kept
 */
function blockAt(height: number, view: View): WorldBlock | undefined {
  const block = view.at(height);
  if (!block && height < view.floor()) throw new RpcError(4444, 'pruned history unavailable');
  return block;
}

/** Returns a block by number, tag or hash; the latest one if the argument is absent. */
export function blockByAny(args: readonly unknown[], at: number, view: EvmView): WorldBlock | undefined {
  const value = args[at] ?? 'latest';
  if (typeof value === 'string' && value.length === HASH_CHARACTERS) return view.byHash(digitsOf(value, at, 32));
  return blockAt(heightOf(value, at, view), view);
}

/** Which logs to return. Empty sets match everything. */
export type LogFilter = Readonly<{ addresses: ReadonlySet<string>; topics: readonly ReadonlySet<string>[] }>;

/** Returns one value, a list of values, or nothing as a set of bytes in hex. */
function choices(value: unknown, at: number, bytes: number): ReadonlySet<string> {
  const list: unknown[] = Array.isArray(value) ? value : value == null ? [] : [value];
  return new Set(list.map((one) => `0x${digitsOf(one, at, bytes)}`));
}

export function filterArgument(args: readonly unknown[], at: number): LogFilter {
  const { address, topics = [] } = required(args, at) as Record<string, unknown>;
  if (!Array.isArray(topics)) throw bad(at);
  return { addresses: choices(address, at, 20), topics: topics.map((position) => choices(position, at, 32)) };
}

export function passes(filter: LogFilter, log: RenderedLog): boolean {
  if (filter.addresses.size > 0 && !filter.addresses.has(log.address)) return false;
  return filter.topics.every((wanted, position) => {
    const topic = log.topics[position];
    return topic !== undefined && (wanted.size === 0 || wanted.has(topic));
  });
}

/** Returns the block whose logs are asked for, which our clients name by its hash. */
export function logsArgument(args: readonly unknown[], at: number, view: EvmView): WorldBlock {
  const { blockHash } = required(args, at) as Record<string, unknown>;
  const block = view.byHash(digitsOf(blockHash, at, 32));
  if (!block) throw serverError('unknown block');
  return block;
}

/**
 * Returns the block whose state an argument names.
 * @throws RpcError if the node does not have the block
 */
export function stateArgument(args: readonly unknown[], at: number, view: EvmView): WorldBlock {
  const block = blockByAny(args, at, view);
  if (!block) throw serverError('header not found');
  return block;
}
