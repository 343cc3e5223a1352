/**
 * Converts EVM answers from unknown JSON into values that agree with the requested block. Pure: runs in worker threads.
 *
 * A block's transfers can be read in two ways, both by block hash. `logs` is the small answer to `eth_getLogs`; the
 * header's bloom shows when it may omit something. `receipts` is the answer to `eth_getBlockReceipts`, with every
 * transaction of the block, and leaves no doubt. Sources: https://github.com/ethereum/execution-apis, ERC-20.
 */
import type { BlockRef } from '../../core/block.ts';
import { type Fault, invariant, transient } from '../../core/fault.ts';
import { type Fields, isFields } from '../../core/fields.ts';
import type { ChainTransfer, Currency, Token } from '../../core/transfer.ts';
import type { RawContent, Watched, Wire } from '../chain.ts';
import * as erc20 from '../erc20.ts';
import { nonsense, type Origin, readResult } from '../json-rpc.ts';
import { type BloomBits, bloomBits, bloomHas, createBloom } from './bloom.ts';
import { evmErrors } from './rpc-errors.ts';

/** The topic, as in logs. */
export const TRANSFER_TOPIC = `0x${erc20.TRANSFER_TOPIC}`;

/** A header, with the fields that check the block's content later. `bloom` is `0x` and 512 hex digits. */
export type Header = Readonly<{ ref: BlockRef; bloom: string; txCount: number }>;

const QUANTITY = /^0x[0-9a-f]{1,14}$/i;
const UNITS = /^0x[0-9a-f]{1,64}$/i;
/** A hash or a number of 256 bits. */
export const WORD = /^0x[0-9a-f]{64}$/;
const BLOOM = /^0x[0-9a-f]{512}$/;
export const ADDRESS = /^0x[0-9a-f]{40}$/;
export const ADDRESS_TOPIC = /^0x0{24}[0-9a-f]{40}$/;

/**
 * Returns hex text in the canonical lower case; anything else becomes text that matches no pattern and no comparison.
 */
export const hex = (value: unknown): string => (typeof value === 'string' ? value.toLowerCase() : '');

/** Returns a whole number from a JSON-RPC quantity, or null. */
export function readQuantity(value: unknown): number | null {
  if (typeof value !== 'string' || !QUANTITY.test(value)) return null;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : null;
}

/** Returns an amount of money or gas from a JSON-RPC quantity, or null. */
export const readUnits = (value: unknown): bigint | null =>
  typeof value === 'string' && UNITS.test(value) ? BigInt(value) : null;

/**
 * Reads a block as answered by `eth_getBlockBy…` without full transactions.
 * @throws Fault transient `node_nonsense`
 */
export function readHeader(value: unknown, origin: Origin): Header {
  if (!isFields(value)) throw nonsense(origin, 'answered with a block that is not an object');
  const hash = hex(value.hash);
  const parent = hex(value.parentHash);
  const bloom = hex(value.logsBloom);
  const number = readQuantity(value.number);
  const timeS = readQuantity(value.timestamp);
  const wrong =
    (!WORD.test(hash) && 'hash') ||
    (!WORD.test(parent) && 'parentHash') ||
    (!BLOOM.test(bloom) && 'logsBloom') ||
    (number === null && 'number') ||
    (timeS === null && 'timestamp') ||
    (!Array.isArray(value.transactions) && 'transactions');
  if (wrong || number === null || timeS === null || !Array.isArray(value.transactions)) {
    throw nonsense(origin, `answered with a block whose field "${wrong}" is missing or malformed`);
  }
  return { ref: { hash, parent, number, timeS }, bloom, txCount: value.transactions.length };
}

/**
 * Reads the part of a transaction's receipt that attests it.
 * @throws Fault transient `node_nonsense`
 */
export function readReceipt(value: unknown, origin: Origin): Readonly<{ blockHash: string; success: boolean }> {
  if (!isFields(value)) throw nonsense(origin, 'answered with a receipt that is not an object');
  const blockHash = hex(value.blockHash);
  if (!WORD.test(blockHash)) throw nonsense(origin, 'answered with a receipt without a block hash');
  return { blockHash, success: isSuccess(value, origin) };
}

/** @throws Fault transient `node_nonsense` */
export function isSuccess(receipt: Fields, origin: Origin): boolean {
  if (receipt.status === '0x1') return true;
  if (receipt.status === '0x0') return false;
  throw nonsense(origin, 'answered with a receipt without a status');
}

/** Returns the transfer to an address that a log of any ERC-20 token shows; null for any other log. */
export function readTransferLog(
  log: unknown,
): Readonly<{ token: string; from: string; to: string; units: bigint }> | null {
  const { address, topics, data } = isFields(log) ? log : ({} as Fields);
  if (!Array.isArray(topics) || topics.length !== 3) return null;
  const [topic, from = '', to = ''] = topics.map(hex);
  const units = hex(data);
  if (topic !== TRANSFER_TOPIC || !ADDRESS_TOPIC.test(to) || !WORD.test(units)) return null;
  return { token: hex(address), from: from.slice(26), to: to.slice(26), units: BigInt(units) };
}

/** A token as the decoder needs it. */
type Wanted = { currency: Currency; bits: BloomBits; rows: number };

const topicBits = bloomBits(erc20.TRANSFER_TOPIC);
/** Bits by token address: a few tokens per installation. */
const tokenBits = new Map<string, BloomBits>();

function wantedTokens(tokens: readonly Token[]): Map<string, Wanted> {
  const wanted = new Map<string, Wanted>();
  for (const token of tokens) {
    const address = token.address.toLowerCase();
    const bits = tokenBits.get(address) ?? bloomBits(address.slice(2));
    tokenBits.set(address, bits);
    wanted.set(address, { currency: token.symbol, bits, rows: 0 });
  }
  return wanted;
}

/** The state of one decoding. */
type Reading = {
  readonly block: BlockRef;
  readonly origin: Origin;
  readonly tokens: Map<string, Wanted>;
  readonly watched: Watched;
  readonly own: ReadonlySet<string>;
  readonly found: ChainTransfer[];
  lastIndex: number;
};

function contradiction(reading: Reading, what: string): Fault {
  const { block, origin } = reading;
  return transient(
    'node_content_contradictory',
    `${origin.method} at ${origin.host} for block ${block.number} ${block.hash} answered with ${what}: the answer is discarded and requested again`,
  );
}

/**
 * Returns the fault of the answer `null`: the node does not have the block. Most often there was a reorg after the
 * header was read.
 */
export function blockUnknown(block: BlockRef, origin: Origin): Fault {
  return transient(
    'node_block_unknown',
    `${origin.method} at ${origin.host}: the node does not have block ${block.number} ${block.hash}; its chain is read again`,
  );
}

/** Checks one log against the block and the order of its logs, and returns its fields. */
function checkLog(reading: Reading, log: unknown): Fields {
  if (!isFields(log)) throw nonsense(reading.origin, 'answered with a log that is not an object');
  if (hex(log.blockHash) !== reading.block.hash) throw contradiction(reading, `a log of block ${hex(log.blockHash)}`);
  if (log.removed === true) throw contradiction(reading, 'a removed log');
  const index = readQuantity(log.logIndex);
  if (index === null) throw nonsense(reading.origin, 'answered with a log without a log index');
  if (index <= reading.lastIndex) {
    throw contradiction(reading, `log index ${index} after ${reading.lastIndex}`);
  }
  reading.lastIndex = index;
  return log;
}

/**
 * Takes a checked log of a successful transaction. Skips other contracts (look-alike tokens, the native transfers of
 * EIP-7708), other events, and Transfers with an indexed value (ERC-721); none of these is a fault.
 *
 * A Transfer to a word that is no address is skipped too. Every ABI encoder zeroes the upper bytes, so such a word is
 * in a log only if somebody made it on purpose and the token does not mask it. A fault would let one stranger's
 * transaction stop the network. Masking the word here would credit money that the token may have booked under the whole
 * word. The sender's upper bytes do not matter, because the sender is only shown.
 */
function takeLog(reading: Reading, log: Fields): void {
  const token = reading.tokens.get(hex(log.address));
  if (!token) return;
  if (!Array.isArray(log.topics) || hex(log.topics[0]) !== TRANSFER_TOPIC) return;
  token.rows += 1;
  if (log.topics.length !== 3) return;
  const { topics } = log;
  const to = hex(topics[2]);
  if (!WORD.test(to)) throw nonsense(reading.origin, 'answered with a Transfer whose recipient is malformed');
  const from = hex(topics[1]);
  const isPaid = ADDRESS_TOPIC.test(to) && reading.watched(to.slice(26));
  const isOutgoing = reading.own.size > 0 && ADDRESS_TOPIC.test(from) && reading.own.has(from.slice(26));
  if (!isPaid && !isOutgoing) return;
  const tx = hex(log.transactionHash);
  const value = hex(log.data);
  if (!WORD.test(from) || !WORD.test(tx) || !WORD.test(value)) {
    throw nonsense(reading.origin, 'answered with a Transfer whose sender, transaction or value is malformed');
  }
  const units = BigInt(value);
  if (units === 0n) return;
  const moved = { currency: token.currency, from: from.slice(26), to: to.slice(26), units };
  const transfer = { tx, index: reading.lastIndex, ...moved };
  if (isPaid) reading.found.push(transfer);
  if (isOutgoing) reading.found.push({ ...transfer, isOutgoing });
}

/**
 * Detects a token that is in the header's bloom but not among the logs, or the reverse. The bloom's false positives are
 * among them.
 */
function checkBloom(reading: Reading, bloom: string): void {
  for (const [address, token] of reading.tokens) {
    const inBloom = bloomHas(bloom, token.bits) && bloomHas(bloom, topicBits);
    if (inBloom === token.rows > 0) continue;
    const { block, origin } = reading;
    throw transient(
      'node_content_doubtful',
      `${origin.method} at ${origin.host} for block ${block.number} ${block.hash} answered with ${token.rows} transfers of ${address}, and the header's bloom says ${inBloom ? 'there may be some' : 'there are none'}: the block's receipts decide`,
    );
  }
}

function readLogs(reading: Reading, rows: readonly unknown[], bloom: string): void {
  for (const row of rows) takeLog(reading, checkLog(reading, row));
  checkBloom(reading, bloom);
}

/**
 * Checks that no receipt and no log is missing: the number of receipts, the log indexes and the header's bloom must all
 * agree.
 */
function readReceipts(reading: Reading, receipts: readonly unknown[], bloom: string, txCount: unknown): void {
  if (receipts.length !== txCount) {
    throw contradiction(reading, `${receipts.length} receipts for ${txCount} transactions`);
  }
  const shown = createBloom();
  for (const receipt of receipts) {
    if (!isFields(receipt)) throw nonsense(reading.origin, 'answered with a receipt that is not an object');
    if (hex(receipt.blockHash) !== reading.block.hash) {
      throw contradiction(reading, `a receipt of block ${hex(receipt.blockHash)}`);
    }
    if (!Array.isArray(receipt.logs)) throw nonsense(reading.origin, 'answered with a receipt without logs');
    const success = isSuccess(receipt, reading.origin);
    for (const row of receipt.logs) {
      const expected = reading.lastIndex + 1;
      const log = checkLog(reading, row);
      // Log indexes count through the whole block: a gap is a missing log.
      if (reading.lastIndex !== expected) throw contradiction(reading, `no log ${expected}`);
      for (const text of bloomTexts(reading, log)) shown.add(text.slice(2));
      if (success) takeLog(reading, log);
    }
  }
  if (shown.text() !== bloom) throw contradiction(reading, "other logs than the header's bloom was made from");
}

/** Returns the texts that a log adds to the bloom. */
function bloomTexts(reading: Reading, log: Fields): readonly string[] {
  const address = hex(log.address);
  const topics = Array.isArray(log.topics) ? log.topics.map(hex) : [''];
  if (!ADDRESS.test(address) || !topics.every((topic) => WORD.test(topic))) {
    throw nonsense(reading.origin, 'answered with a malformed log');
  }
  return [address, ...topics];
}

const methods: Readonly<Record<string, string>> = { logs: 'eth_getLogs', receipts: 'eth_getBlockReceipts' };

function decode(
  content: RawContent,
  tokens: readonly Token[],
  watched: Watched,
  own: ReadonlySet<string> = new Set(),
): ChainTransfer[] {
  const method = methods[content.kind];
  invariant(method, `EVM content is of kind logs or receipts, not ${content.kind}`);
  const origin = { method, host: String(content.context.host) };
  const rows = readResult(content.bytes, origin, evmErrors);
  const reading: Reading = {
    block: content.block,
    origin,
    tokens: wantedTokens(tokens),
    watched,
    own,
    found: [],
    lastIndex: -1,
  };
  if (rows === null) throw blockUnknown(content.block, origin);
  if (!Array.isArray(rows)) throw nonsense(origin, 'answered with something that is not a list');
  const { bloom, txCount } = content.context;
  invariant(typeof bloom === 'string' && BLOOM.test(bloom), "content comes with the header's bloom");
  if (content.kind === 'logs') readLogs(reading, rows, bloom);
  else readReceipts(reading, rows, bloom, txCount);
  return reading.found;
}

export const evmWire: Wire = { decode };
