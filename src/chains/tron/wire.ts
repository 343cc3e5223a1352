/**
 * Converts java-tron's blocks and transaction infos from unknown JSON into values that agree with the requested block.
 * Pure: runs in worker threads.
 *
 * A block's content is two answers: the block itself, which lists its transactions and the result of each, and the
 * infos, which hold the logs. java-tron keeps the logs of some failed transactions. A log is money only if three places
 * report that its transaction succeeded: the block's `contractRet`, the info's `result` and the info's
 * `receipt.result`. Sources: https://tronprotocol.github.io/documentation-en/api/http/, java-tron `Tron.proto`,
 * `BlockCapsule.java`; TRC-20.
 */
import type { BlockRef } from '../../core/block.ts';
import { excerpt } from '../../core/excerpt.ts';
import { type Fault, invariant, transient } from '../../core/fault.ts';
import { type Fields, isFields } from '../../core/fields.ts';
import type { ChainTransfer, Currency, Token } from '../../core/transfer.ts';
import type { RawContent, Watched, Wire } from '../chain.ts';
import { TRANSFER_TOPIC } from '../erc20.ts';
import { readKey, tronAddress } from './address.ts';
import { isUnknown, nonsense, type Origin, readAnswer } from './answer.ts';

/** A transaction as the block lists it. */
type Listed = Readonly<{ id: string; succeeded: boolean }>;

/** Wanted transfers pay a watched address or leave one of our own wallets. */
type Wanted = Readonly<{ watched: Watched; own: ReadonlySet<string> }>;

export const BLOCK_PATH = '/wallet/getblock';
export const INFOS_PATH = '/wallet/gettransactioninfobyblocknum';

const HASH = /^[0-9a-f]{64}$/;
export const WORD = /^[0-9a-f]{64}$/i;
/** The word's upper bytes are zero, or hold the 0x41 of the address's long form. */
const ADDRESS_TOPIC = /^0{22}(00|41)[0-9a-f]{40}$/;
/** A result as java-tron writes it: the name of a protobuf enumeration's value. */
const RESULT = /^[A-Z][A-Z_]*$/;
const NO_TRANSACTIONS_ROOT = /^0*$/;
/** A block's id starts with its height, 8 bytes. */
const HEIGHT_CHARS = 16;

/** A header. `isEmpty`: the Merkle root shows that the block has no transactions. */
export type Header = Readonly<{ ref: BlockRef; isEmpty: boolean }>;

/** Reads a whole number that JSON omits when it is zero. */
function readCount(value: unknown): number | null {
  if (value === undefined) return 0;
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : null;
}

/**
 * Reads a block as answered by `getblock`, with or without its transactions.
 * @throws Fault transient `node_nonsense`
 */
export function readHeader(value: unknown, origin: Origin): Header {
  const head = isFields(value) && isFields(value.block_header) ? value.block_header.raw_data : null;
  if (!isFields(value) || !isFields(head)) throw nonsense(origin, 'answered with something that is not a block');
  const { blockID: hash } = value;
  const { parentHash: parent, txTrieRoot: root = '' } = head;
  const number = readCount(head.number);
  const timeMs = readCount(head.timestamp);
  const wrong =
    ((typeof hash !== 'string' || !HASH.test(hash)) && 'blockID') ||
    ((typeof parent !== 'string' || !HASH.test(parent)) && 'parentHash') ||
    (number === null && 'number') ||
    (timeMs === null && 'timestamp') ||
    (typeof root !== 'string' && 'txTrieRoot');
  if (wrong || typeof hash !== 'string' || typeof parent !== 'string' || number === null || timeMs === null) {
    throw nonsense(origin, `answered with a block whose field "${wrong}" is missing or malformed`);
  }
  if (Number.parseInt(hash.slice(0, HEIGHT_CHARS), 16) !== number) {
    throw nonsense(origin, `answered with block ${number} under the id ${hash}, which starts with another height`);
  }
  const ref = { hash, parent, number, timeS: Math.floor(timeMs / 1000) };
  return { ref, isEmpty: NO_TRANSACTIONS_ROOT.test(String(root)) };
}

/**
 * Reads a result, which is left out for some transactions. Any other spelling is a fault, or a success would look like
 * a failure.
 * @throws Fault transient `node_nonsense`
 */
function readResult(value: unknown, origin: Origin): string | null {
  if (value === undefined) return null;
  if (typeof value === 'string' && RESULT.test(value)) return value;
  throw nonsense(origin, `answered with a transaction whose result is ${excerpt(JSON.stringify(value))}`);
}

/** The parts of a transaction's info that matter here. */
type Info = Readonly<{ id: string; succeeded: boolean; fee: unknown; logs: readonly unknown[] }>;

/**
 * Reads an info's transaction, its block, and whether it succeeded.
 * @throws Fault transient `node_nonsense`
 */
export function readInfo(value: unknown, origin: Origin): Info & Readonly<{ blockNumber: number }> {
  if (!isFields(value)) throw nonsense(origin, 'answered with a transaction info that is not an object');
  const { id, receipt, fee, log = [] } = value;
  const blockNumber = readCount(value.blockNumber);
  if (typeof id !== 'string' || !HASH.test(id) || blockNumber === null || !Array.isArray(log)) {
    throw nonsense(origin, 'answered with a malformed transaction info');
  }
  // A transaction that calls no contract has neither a result in its receipt nor logs.
  const succeeded =
    readResult(value.result, origin) !== 'FAILED' &&
    isFields(receipt) &&
    readResult(receipt.result, origin) === 'SUCCESS';
  return { id, blockNumber, succeeded, fee, logs: log };
}

/** Returns the fault of a node that has another block at that height, or none. */
export function blockUnknown(block: Pick<BlockRef, 'hash' | 'number'>, origin: Origin): Fault {
  return transient(
    'node_block_unknown',
    `${origin.path} at ${origin.host}: the node does not have block ${block.number} ${block.hash}; its chain is read again`,
  );
}

/** The state of one decoding: the requested block and the two answers. */
type Reading = Readonly<{
  block: BlockRef;
  host: string;
  blockBytes: Buffer;
  infosBytes: Buffer;
  isThorough: boolean;
}>;

const blockOrigin = ({ host }: Reading): Origin => ({ path: BLOCK_PATH, host });
const infosOrigin = ({ host }: Reading): Origin => ({ path: INFOS_PATH, host });

function contradiction(reading: Reading, what: string): Fault {
  const { block, host } = reading;
  return transient(
    'node_content_contradictory',
    `${host} answered for block ${block.number} ${block.hash} with ${what}: the answers are discarded and requested again`,
  );
}

/**
 * Returns the block's own list of transactions.
 * @throws Fault transient if the answer is another block, or contradicts its header
 */
function readListed(reading: Reading): Listed[] {
  const origin = blockOrigin(reading);
  const value = readAnswer(reading.blockBytes, origin);
  if (isUnknown(value)) throw blockUnknown(reading.block, origin);
  const { ref, isEmpty } = readHeader(value, origin);
  if (ref.hash !== reading.block.hash) throw blockUnknown(reading.block, origin);
  const { transactions = [] } = value as Fields;
  if (!Array.isArray(transactions)) throw nonsense(origin, 'answered with transactions that are not a list');
  if (isEmpty !== (transactions.length === 0)) {
    throw contradiction(
      reading,
      `${transactions.length} transactions, although its header says that there are ${isEmpty ? 'none' : 'some'}`,
    );
  }
  return transactions.map((transaction: unknown) => {
    if (!isFields(transaction) || typeof transaction.txID !== 'string') {
      throw nonsense(origin, 'answered with a transaction without an id');
    }
    const [result] = Array.isArray(transaction.ret) ? transaction.ret : [];
    const contractRet = isFields(result) ? readResult(result.contractRet, origin) : null;
    return { id: transaction.txID, succeeded: contractRet === 'SUCCESS' };
  });
}

const TX_ID = Buffer.from('"txID":"');
const BLOCK_ID = Buffer.from('"blockID":"');
const HASH_CHARS = 64;

/**
 * Returns whether the block's answer has the block's hash and lists exactly these transactions, without parsing its
 * half megabyte. Inside a JSON string every quote is escaped, so the bytes searched for can only be the keys
 * themselves. False means that the answer must be parsed.
 */
function listsExactly({ block, blockBytes }: Reading, infos: readonly Info[]): boolean {
  const hashAt = blockBytes.indexOf(BLOCK_ID) + BLOCK_ID.length;
  if (blockBytes.toString('latin1', hashAt, hashAt + HASH_CHARS) !== block.hash || infos.length === 0) return false;
  let at = 0;
  for (const { id } of infos) {
    const idAt = blockBytes.indexOf(TX_ID, at) + TX_ID.length;
    at = idAt + HASH_CHARS;
    if (idAt < TX_ID.length || blockBytes.toString('latin1', idAt, at) !== id) return false;
  }
  return blockBytes.indexOf(TX_ID, at) < 0;
}

/**
 * Returns the infos of every transaction of the block, in its order.
 * @throws Fault transient
 */
function readInfos(reading: Reading): Info[] {
  const origin = infosOrigin(reading);
  const value = readAnswer(reading.infosBytes, origin);
  if (isUnknown(value)) throw blockUnknown(reading.block, origin);
  if (!Array.isArray(value)) throw nonsense(origin, 'answered with something that is not a list');
  const infos = value.map((row: unknown) => {
    const info = readInfo(row, origin);
    if (info.blockNumber === reading.block.number) return info;
    throw contradiction(reading, `the info of a transaction in block ${info.blockNumber}`);
  });
  if (!listsExactly(reading, infos)) checkAgree(reading, readListed(reading), infos);
  return infos;
}

function checkAgree(reading: Reading, listed: readonly Listed[], infos: readonly Info[]): void {
  if (infos.length === 0 && listed.length > 0) throw infosMissing(reading, listed.length);
  if (infos.length !== listed.length) {
    throw contradiction(reading, `${infos.length} infos for ${listed.length} transactions`);
  }
  const other = listed.findIndex(({ id }, at) => infos[at]?.id !== id);
  if (other >= 0) {
    throw contradiction(reading, `the info of ${infos[other]?.id} instead of transaction ${listed[other]?.id}`);
  }
}

/** Returns the fault of missing infos. java-tron shows a new block slightly before the infos of its transactions. */
function infosMissing({ block, host, isThorough }: Reading, count: number): Fault {
  return transient(
    isThorough ? 'node_infos_missing' : 'node_content_doubtful',
    `${INFOS_PATH} at ${host} for block ${block.number} ${block.hash} answered without infos, but the block has ${count} transactions: they are requested again`,
  );
}

/**
 * A watched transfer whose transaction succeeded according to its info. `place` is the transaction's index in the
 * block.
 */
type Candidate = Readonly<{ place: number; transfer: ChainTransfer }>;

/**
 * A log in canonical spelling: hex in lower case, the address as 20 bytes. A word that is no address stays as it is.
 */
export type TronLog = Readonly<{ address: string; topics: readonly string[]; data: unknown }>;

/**
 * Reads a log. An unreadable log is a fault, never taken for another contract's, because a TRON block has no bloom that
 * would show the difference. JSON omits the topics of a log that has none.
 * @throws Fault transient `node_nonsense`
 */
export function readLog(log: unknown, origin: Origin): TronLog {
  if (!isFields(log)) throw nonsense(origin, 'answered with a log that is not an object');
  const { topics = [], data } = log;
  const address = readKey(log.address);
  if (address === null) throw nonsense(origin, 'answered with a log without the address of its contract');
  if (!Array.isArray(topics) || !topics.every((topic) => typeof topic === 'string' && WORD.test(topic))) {
    throw nonsense(origin, 'answered with a log with malformed topics');
  }
  return { address, topics: topics.map((topic: string) => topic.toLowerCase()), data };
}

/** Returns the address key in a topic; null if the topic holds no address. */
const keyInTopic = (topic: string | undefined): string | null =>
  topic !== undefined && ADDRESS_TOPIC.test(topic) ? topic.slice(24) : null;

/** Returns the transfer to an address that a log of any TRC-20 token shows; null for any other log. */
export function transferIn({
  address,
  topics,
  data,
}: TronLog): Readonly<{ token: string; from: string; to: string; units: bigint }> | null {
  const [topic, from = '', last] = topics;
  const to = keyInTopic(last);
  if (topics.length !== 3 || topic !== TRANSFER_TOPIC || to === null) return null;
  if (typeof data !== 'string' || !WORD.test(data)) return null;
  return { token: address, from: from.slice(24), to, units: BigInt(`0x${data}`) };
}

type Moved = Omit<ChainTransfer, 'tx' | 'index'>;

/**
 * Reads a log as a transfer. Skips other contracts (look-alike tokens), other events, and Transfers with an indexed
 * value (TRC-721); none of these is a fault. A Transfer to a word that is no address is skipped too, as on EVM networks
 * (`evm/wire.ts`).
 */
function readTransfer(
  row: unknown,
  origin: Origin,
  tokens: ReadonlyMap<string, Currency>,
  { watched, own }: Wanted,
): Moved[] {
  const { address, topics, data } = readLog(row, origin);
  const currency = tokens.get(address);
  if (!currency) return [];
  const [topic, from] = topics;
  if (topic === undefined) throw nonsense(origin, 'answered with a log of one of our tokens without topics');
  if (topic !== TRANSFER_TOPIC || topics.length !== 3) return [];
  const to = keyInTopic(topics[2]);
  const isPaid = to !== null && watched(to);
  const isOutgoing = own.size > 0 && own.has(keyInTopic(from) ?? '');
  if (!isPaid && !isOutgoing) return [];
  if (from === undefined || typeof data !== 'string' || !WORD.test(data)) {
    throw nonsense(origin, 'answered with a malformed Transfer');
  }
  const units = BigInt(`0x${data}`);
  if (units === 0n) return [];
  const moved = { currency, from: from.slice(24), to: to ?? topics[2]?.slice(24) ?? '', units };
  return [...(isPaid ? [moved] : []), ...(isOutgoing ? [{ ...moved, isOutgoing }] : [])];
}

function findCandidates(
  reading: Reading,
  infos: readonly Info[],
  tokens: ReadonlyMap<string, Currency>,
  wanted: Wanted,
): Candidate[] {
  const origin = infosOrigin(reading);
  const found: Candidate[] = [];
  let index = -1;
  infos.forEach(({ id: tx, succeeded, logs }, place) => {
    for (const log of logs) {
      // Logs of failed transactions count too, so that an index never depends on a result.
      index += 1;
      const moved = succeeded ? readTransfer(log, origin, tokens, wanted) : [];
      for (const one of moved) found.push({ place, transfer: { tx, index, ...one } });
    }
  });
  return found;
}

/** Returns tokens by their keys in logs, which are 20 bytes without the 0x41. */
function tokenKeys(tokens: readonly Token[]): Map<string, Currency> {
  return new Map(
    tokens.map(({ address, symbol }) => {
      const key = tronAddress.parse(address);
      invariant(key !== null, `the token address ${address} is a valid TRON address`);
      return [key, symbol];
    }),
  );
}

/** Returns the bytes between two offsets that `context` holds under these names. */
function part({ bytes, context }: RawContent, from: string, to: string): Buffer {
  const [start, end] = [context[from], context[to]];
  invariant(typeof start === 'number' && typeof end === 'number', 'content says where its answers are');
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start);
}

function decode(
  content: RawContent,
  tokens: readonly Token[],
  watched: Watched,
  own: ReadonlySet<string> = new Set(),
): ChainTransfer[] {
  // The transactions of the first block were never executed and have no infos.
  if (content.block.number === 0) return [];
  const reading: Reading = {
    block: content.block,
    host: String(content.context.host),
    blockBytes: part(content, 'blockFrom', 'blockTo'),
    infosBytes: part(content, 'infosFrom', 'infosTo'),
    isThorough: content.kind === 'thorough',
  };
  const infos = readInfos(reading);
  const candidates = findCandidates(reading, infos, tokenKeys(tokens), { watched, own });
  if (candidates.length === 0) return [];
  const listed = readListed(reading);
  return candidates.filter(({ place }) => listed[place]?.succeeded).map(({ transfer }) => transfer);
}

export const tronWire: Wire = { decode };
