/**
 * Renders a world's blocks as JSON of an Ethereum node. Fields are those of go-ethereum (`internal/ethapi/api.go`,
 * `core/types`) after the Prague fork. Whatever the world does not have (state, who signed a made-up payment) gets
 * well-formed values; the logs bloom is real.
 *
 * @module
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { callData, topicsOf, word } from './abi.ts';
import { type LoggedEntry, loggedEntries, type WorldBlock } from './block-tree.ts';
import { BASE_FEE_WEI, GAS_LIMIT, gasBill, gasOf, TIP_WEI } from './evm-gas.ts';
import { readRaw } from './evm-raw.ts';
import { digest } from './random.ts';
import type { WorldTransaction } from './transaction.ts';

export const hex = (digits: string): string => `0x${digits}`;
/** Writes a number as Ethereum's JSON-RPC does: hex without leading zeros. */
export const quantity = (value: number | bigint): string => `0x${value.toString(16)}`;

/**
 * keccak256 of the RLP of an empty list, of an empty trie's node, and SHA-256 of nothing: the hashes of a block's empty
 * parts.
 */
const NO_UNCLES = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347';
const EMPTY_TRIE = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421';
const NO_REQUESTS = '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/**
 * Returns the 2048-bit filter over addresses and topics: for each, three 11-bit indexes from the first bytes of its
 * keccak256 (Ethereum yellow paper, section 4.4.3, function M).
 */
export function logsBloom(logged: readonly LoggedEntry[]): string {
  const bloom = Buffer.alloc(256);
  const items = new Set(logged.flatMap(({ entry }) => [entry.token, ...topicsOf(entry)]));
  for (const item of items) {
    const hash = Buffer.from(keccak_256(Buffer.from(item, 'hex')));
    for (const at of [0, 2, 4]) {
      const bit = hash.readUInt16BE(at) & 2047;
      const byte = 255 - (bit >> 3);
      bloom.writeUInt8(bloom.readUInt8(byte) | (1 << (bit & 7)), byte);
    }
  }
  return hex(bloom.toString('hex'));
}

/** Blooms cost a few hashes per log and are requested again and again. */
const blooms = new WeakMap<WorldBlock, string>();

function bloomOf(block: WorldBlock): string {
  const known = blooms.get(block);
  if (known) return known;
  const bloom = logsBloom(loggedEntries(block));
  blooms.set(block, bloom);
  return bloom;
}

/** Renders a header as `newHeads` announces it. */
export function renderHeader(block: WorldBlock) {
  const isEmpty = block.transactions.length === 0;
  const made = (what: string) => hex(digest(what, block.hash));
  const gasUsed = block.transactions.reduce((sum, transaction) => sum + gasBill(transaction).gasUsed, 0);
  return {
    number: quantity(block.number),
    hash: hex(block.hash),
    parentHash: hex(block.parent),
    sha3Uncles: NO_UNCLES,
    miner: hex(digest('miner').slice(0, 40)),
    stateRoot: made('state'),
    transactionsRoot: isEmpty ? EMPTY_TRIE : made('transactions'),
    receiptsRoot: isEmpty ? EMPTY_TRIE : made('receipts'),
    logsBloom: bloomOf(block),
    difficulty: '0x0',
    gasLimit: quantity(GAS_LIMIT),
    gasUsed: quantity(gasUsed),
    timestamp: quantity(block.timeS),
    extraData: '0x',
    mixHash: made('mix'),
    nonce: '0x0000000000000000',
    baseFeePerGas: quantity(BASE_FEE_WEI),
    withdrawalsRoot: EMPTY_TRIE,
    blobGasUsed: '0x0',
    excessBlobGas: '0x0',
    parentBeaconBlockRoot: made('beacon'),
    requestsHash: NO_REQUESTS,
  };
}

/**
 * Renders a block.
 * @param full whole transactions instead of their hashes
 */
export function renderBlock(block: WorldBlock, chainId: number, full: boolean) {
  return {
    ...renderHeader(block),
    size: quantity(640 + 180 * block.transactions.length),
    uncles: [],
    transactions: full
      ? block.transactions.map((transaction, index) => renderTransaction(transaction, chainId, { block, index }))
      : block.transactions.map((transaction) => hex(transaction.id)),
    withdrawals: [],
  };
}

export type Place = Readonly<{ block: WorldBlock; index: number }>;

/**
 * Renders a transaction.
 * @param place null while the transaction is pending
 */
export function renderTransaction(transaction: WorldTransaction, chainId: number, place: Place | null) {
  return {
    blockHash: place && hex(place.block.hash),
    blockNumber: place && quantity(place.block.number),
    blockTimestamp: place && quantity(place.block.timeS),
    transactionIndex: place && quantity(place.index),
    hash: hex(transaction.id),
    from: hex(transaction.sender),
    to: hex(transaction.target),
    gasPrice: quantity(gasBill(transaction).price),
    type: '0x2',
    accessList: [],
    chainId: quantity(chainId),
    ...(transaction.signed ? signedFields(transaction.signed.bytes) : madeUpFields(transaction)),
  };
}

/** The fields that the sender signed. */
function signedFields(bytes: string) {
  const raw = readRaw(bytes);
  return {
    input: hex(raw.data),
    value: quantity(raw.value),
    nonce: quantity(raw.nonce),
    gas: quantity(raw.gasLimit),
    maxFeePerGas: quantity(raw.maxFee),
    maxPriorityFeePerGas: quantity(raw.tip),
    v: quantity(raw.yParity),
    yParity: quantity(raw.yParity),
    r: quantity(raw.r),
    s: quantity(raw.s),
  };
}

/** The fields of a sender who never signed. */
function madeUpFields(transaction: WorldTransaction) {
  const made = (what: string) => quantity(BigInt(hex(digest(what, transaction.id))));
  const parity = quantity(Number.parseInt(transaction.id.slice(-1), 16) & 1);
  const [coin] = transaction.native ?? [];
  return {
    input: hex(coin ? '' : callData(transaction)),
    value: quantity(coin?.units ?? 0n),
    nonce: quantity(Number.parseInt(transaction.id.slice(0, 4), 16)),
    gas: quantity(2 * gasOf(transaction)),
    maxFeePerGas: quantity(2n * BASE_FEE_WEI),
    maxPriorityFeePerGas: quantity(TIP_WEI),
    v: parity,
    yParity: parity,
    r: made('r'),
    s: made('s'),
  };
}

/**
 * Renders a log.
 * @param removed true when a reorg removes the log (only `eth_subscribe` reports it)
 */
export function renderLog(
  { transaction, transactionIndex, entry, index }: LoggedEntry,
  block: WorldBlock,
  removed = false,
) {
  return {
    address: hex(entry.token),
    topics: topicsOf(entry).map(hex),
    data: hex(word(entry.units.toString(16))),
    blockNumber: quantity(block.number),
    transactionHash: hex(transaction.id),
    transactionIndex: quantity(transactionIndex),
    blockHash: hex(block.hash),
    blockTimestamp: quantity(block.timeS),
    logIndex: quantity(index),
    removed,
  };
}

export type RenderedLog = ReturnType<typeof renderLog>;

/** The parts of a receipt; the sums and indexes run through the block. */
type ReceiptPart = Readonly<{
  transaction: WorldTransaction;
  index: number;
  own: readonly LoggedEntry[];
  cumulativeGasUsed: number;
}>;

function receiptParts(block: WorldBlock): ReceiptPart[] {
  const logged = loggedEntries(block);
  let from = 0;
  let cumulativeGasUsed = 0;
  return block.transactions.map((transaction, index) => {
    const to = from + (transaction.succeeded ? transaction.entries.length : 0);
    const own = logged.slice(from, to);
    from = to;
    cumulativeGasUsed += gasBill(transaction).gasUsed;
    return { transaction, index, own, cumulativeGasUsed };
  });
}

/** The bloom makes a receipt expensive, so a single one is rendered without the others. */
function renderReceiptPart({ transaction, index, own, cumulativeGasUsed }: ReceiptPart, block: WorldBlock) {
  const { gasUsed, price } = gasBill(transaction);
  return {
    blockHash: hex(block.hash),
    blockNumber: quantity(block.number),
    contractAddress: null,
    cumulativeGasUsed: quantity(cumulativeGasUsed),
    effectiveGasPrice: quantity(price),
    from: hex(transaction.sender),
    gasUsed: quantity(gasUsed),
    logs: own.map((entry) => renderLog(entry, block)),
    logsBloom: logsBloom(own),
    status: transaction.succeeded ? '0x1' : '0x0',
    to: hex(transaction.target),
    transactionHash: hex(transaction.id),
    transactionIndex: quantity(index),
    type: '0x2',
  };
}

/** Renders all receipts of a block, in order. */
export const renderReceipts = (block: WorldBlock) => receiptParts(block).map((part) => renderReceiptPart(part, block));

/** Renders the receipt of the block's transaction number `index`, or returns null if there is none. */
export function renderReceipt(block: WorldBlock, index: number) {
  const part = receiptParts(block)[index];
  return part ? renderReceiptPart(part, block) : null;
}
