/**
 * Reads the arguments of Ethereum's JSON-RPC methods; errors have go-ethereum's texts (`rpc/types.go`,
 * `common/hexutil`, `eth/filters/api.go`).
 */
import type { WorldBlock } from './block-tree.ts';
import type { RenderedLog } from './evm-render.ts';
import { invalidParams, RpcError, serverError } from './json-rpc.ts';
import type { View } from './world.ts';

const ADDRESSES_MAX = 1000;
const TOPIC_POSITIONS_MAX = 4;
const TOPICS_PER_POSITION_MAX = 1000;
const RANGE_BLOCKS_MAX = 10_000;

/** The blocks that a node shows; `startsFinal` as in `EvmDialect`. */
export type EvmView = View & Readonly<{ startsFinal: boolean }>;

/**
 * Returns positional arguments.
 * @throws RpcError −32602 if they are not a list, or too many
 */
export function positional(params: unknown, countMax: number): unknown[] {
  const list = params ?? [];
  if (!Array.isArray(list)) throw invalidParams('non-array args');
  if (list.length > countMax) throw invalidParams(`too many arguments, want at most ${countMax}`);
  return list;
}

function required(args: readonly unknown[], at: number): unknown {
  if (args[at] === undefined || args[at] === null) throw invalidParams(`missing value for required argument ${at}`);
  return args[at];
}

const bad = (at: number, why: string) => invalidParams(`invalid argument ${at}: ${why}`);

/** Returns a 32-byte value as hex digits, lower case. */
export function hashArgument(args: readonly unknown[], at: number): string {
  return digitsOf(required(args, at), 64, (why) => bad(at, why));
}

function digitsOf(value: unknown, length: 40 | 64, refuse: (why: string) => RpcError): string {
  if (typeof value !== 'string') throw refuse('json: cannot unmarshal non-string into Go value');
  if (!/^0x/i.test(value)) throw refuse('hex string without 0x prefix');
  const digits = value.slice(2).toLowerCase();
  if (!/^[0-9a-f]*$/.test(digits)) throw refuse('invalid hex string');
  if (digits.length !== length) {
    throw refuse(
      `hex string has length ${digits.length}, want ${length} for common.${length === 40 ? 'Address' : 'Hash'}`,
    );
  }
  return digits;
}

export function booleanArgument(args: readonly unknown[], at: number): boolean {
  const value = required(args, at);
  if (typeof value !== 'boolean') throw bad(at, 'json: cannot unmarshal into Go value of type bool');
  return value;
}

/** Returns an address as a key. */
export function addressOf(value: unknown, at: number): string {
  return digitsOf(value, 40, (why) => bad(at, why));
}

/** Returns bytes of any length as hex digits, lower case. */
export function bytesArgument(args: readonly unknown[], at: number): string {
  const value = required(args, at);
  if (typeof value !== 'string' || !/^0x([0-9a-f]{2})*$/i.test(value)) throw bad(at, 'invalid hex string');
  return value.slice(2).toLowerCase();
}

/** Returns a count, given as a quantity or a plain number. */
export function countArgument(args: readonly unknown[], at: number): number {
  const count = Number(required(args, at));
  if (!Number.isSafeInteger(count) || count < 1) throw bad(at, 'invalid hex string');
  return count;
}

/** @throws RpcError before any block is final, unless the chain starts with a final one */
function finalNumber(tag: string, view: EvmView): number {
  const { number } = view.finalized();
  if (number === 0 && !view.startsFinal) throw serverError(`${tag} block not found`);
  return number;
}

/** Returns a height; tags are resolved in the view. */
function heightOf(value: unknown, view: EvmView, refuse: (why: string) => RpcError): number {
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
  if (typeof value !== 'string' || !value.startsWith('0x')) throw refuse('hex string without 0x prefix');
  if (value === '0x') throw refuse('hex string "0x"');
  if (!/^0x[0-9a-f]+$/i.test(value)) throw refuse('invalid hex string');
  if (/^0x0./.test(value)) throw refuse('hex number with leading zero digits');
  const height = Number(value);
  if (!Number.isSafeInteger(height)) throw refuse('block number larger than int64');
  return height;
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

/** Returns a block by number or tag. */
export function blockByNumber(args: readonly unknown[], at: number, view: EvmView): WorldBlock | undefined {
  return blockAt(
    heightOf(required(args, at), view, (why) => bad(at, why)),
    view,
  );
}

/**
 * Returns a block by number, tag or hash, also in the object form of EIP-1898; the latest one if the argument is
 * absent.
 */
export function blockByAny(args: readonly unknown[], at: number, view: EvmView): WorldBlock | undefined {
  const value = args[at] ?? 'latest';
  const refuse = (why: string) => bad(at, why);
  if (typeof value === 'object') {
    const { blockHash, blockNumber } = value as Record<string, unknown>;
    if (blockHash !== undefined) return view.byHash(digitsOf(blockHash, 64, refuse));
    return blockAt(heightOf(blockNumber, view, refuse), view);
  }
  if (typeof value === 'string' && value.length === 66) return view.byHash(digitsOf(value, 64, refuse));
  return blockAt(heightOf(value, view, refuse), view);
}

/** Which logs to return. Empty sets match everything. */
export type LogFilter = Readonly<{ addresses: ReadonlySet<string>; topics: readonly ReadonlySet<string>[] }>;

const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : value == null ? [] : [value]);

export function filterArgument(args: readonly unknown[], at: number): LogFilter {
  const value = required(args, at);
  const refuse = (why: string) => bad(at, why);
  if (typeof value !== 'object' || Array.isArray(value)) throw refuse('json: cannot unmarshal into Go value');
  const { address, topics } = value as Record<string, unknown>;
  const addresses = asList(address);
  const positions = topics == null ? [] : topics;
  if (!Array.isArray(positions)) throw refuse('json: cannot unmarshal topics into Go value');
  const tooMany = 'exceed max addresses or topics per search position';
  if (addresses.length > ADDRESSES_MAX) throw serverError(tooMany);
  if (positions.length > TOPIC_POSITIONS_MAX) throw serverError('exceed max topics');
  return {
    addresses: new Set(addresses.map((one) => `0x${digitsOf(one, 40, refuse)}`)),
    topics: positions.map((position) => {
      const choices = asList(position);
      if (choices.length > TOPICS_PER_POSITION_MAX) throw serverError(tooMany);
      return new Set(choices.map((topic) => `0x${digitsOf(topic, 64, refuse)}`));
    }),
  };
}

export function passes(filter: LogFilter, log: RenderedLog): boolean {
  if (filter.addresses.size > 0 && !filter.addresses.has(log.address)) return false;
  return filter.topics.every((choices, position) => {
    const topic = log.topics[position];
    return topic !== undefined && (choices.size === 0 || choices.has(topic));
  });
}

/** Returns the blocks that a log query covers, oldest first. */
export function blocksArgument(args: readonly unknown[], at: number, view: EvmView): WorldBlock[] {
  const { blockHash, fromBlock, toBlock } = required(args, at) as Record<string, unknown>;
  const refuse = (why: string) => bad(at, why);
  if (blockHash != null) {
    if (fromBlock != null || toBlock != null) {
      throw refuse('cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other');
    }
    const block = view.byHash(digitsOf(blockHash, 64, refuse));
    if (!block) throw serverError('unknown block');
    return [block];
  }
  const from = heightOf(fromBlock ?? 'latest', view, refuse);
  const head = view.tip().number;
  const to = heightOf(toBlock ?? 'latest', view, refuse);
  if (from > to || from > head) throw serverError('invalid block range params');
  if (to - from >= RANGE_BLOCKS_MAX) throw invalidParams(`block range is larger than ${RANGE_BLOCKS_MAX}`);
  const blocks: WorldBlock[] = [];
  for (let height = from; height <= Math.min(to, head); height++) {
    const block = blockAt(height, view);
    if (block) blocks.push(block);
  }
  return blocks;
}
