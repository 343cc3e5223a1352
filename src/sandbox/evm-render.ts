/**
 * Renders a world's blocks as JSON of an Ethereum node. Fields are those of go-ethereum (`internal/ethapi/api.go`,
 * `core/types`) after the Osaka fork, and those of its dialects. Whatever the world does not have (state, who signed a
 * made-up payment) gets well-formed values; the logs bloom is real.
 */
import { createBloom } from '../chains/evm/bloom.ts';
import { callData, topicsOf, word } from './abi.ts';
import { type LoggedEntry, loggedEntries, type WorldBlock } from './block-tree.ts';
import { digest } from './digest.ts';
import type { EvmDialect } from './evm-dialect.ts';
import { baseFeeOf, gasBill, gasOf, gasUsedBy } from './evm-gas.ts';
import { readRaw, signatureOf } from './evm-raw.ts';
import type { WorldTransaction } from './transaction.ts';

/** The chain whose blocks are rendered. */
type Shown = Readonly<{ chainId: number; dialect: EvmDialect }>;

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

function logsBloom(logged: readonly LoggedEntry[]): string {
  const bloom = createBloom();
  for (const { entry } of logged) for (const item of [entry.token, ...topicsOf(entry)]) bloom.add(item);
  return bloom.text();
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
export function renderHeader(block: WorldBlock, dialect: EvmDialect) {
  const isEmpty = block.transactions.length === 0;
  const made = (what: string) => hex(digest(what, block.hash));
  return {
    number: quantity(block.number),
    hash: hex(block.hash),
    parentHash: hex(block.parent),
    sha3Uncles: NO_UNCLES,
    miner: hex(dialect.miner),
    stateRoot: hex(stateRootOf(block)),
    transactionsRoot: isEmpty ? EMPTY_TRIE : made('transactions'),
    receiptsRoot: isEmpty ? EMPTY_TRIE : made('receipts'),
    logsBloom: bloomOf(block),
    difficulty: '0x0',
    gasLimit: quantity(dialect.gasLimit),
    gasUsed: quantity(gasUsedBy(block, dialect)),
    timestamp: quantity(block.timeS),
    extraData: '0x',
    mixHash: made('mix'),
    nonce: '0x0000000000000000',
    baseFeePerGas: quantity(baseFeeOf(block, dialect)),
    withdrawalsRoot: EMPTY_TRIE,
    blobGasUsed: '0x0',
    excessBlobGas: '0x0',
    parentBeaconBlockRoot: made('beacon'),
    requestsHash: NO_REQUESTS,
    ...dialect.headerFields(block),
  };
}

export const stateRootOf = (block: WorldBlock): string => digest('state', block.hash);

/** Renders a block with the hashes of its transactions. */
export const renderBlock = (block: WorldBlock, dialect: EvmDialect) => ({
  ...renderHeader(block, dialect),
  ...dialect.blockFields(block),
  size: quantity(640 + 180 * block.transactions.length),
  uncles: [],
  transactions: block.transactions.map(({ id }) => hex(id)),
  withdrawals: [],
});

type Place = Readonly<{ block: WorldBlock; index: number }>;

/**
 * Renders a transaction.
 * @param place null while the transaction is pending
 */
export function renderTransaction(transaction: WorldTransaction, { chainId, dialect }: Shown, place: Place | null) {
  const common = {
    blockHash: place && hex(place.block.hash),
    blockNumber: place && quantity(place.block.number),
    transactionIndex: place && quantity(place.index),
    hash: hex(transaction.id),
    from: hex(transaction.sender),
    to: hex(transaction.target),
    chainId: quantity(chainId),
  };
  const fields = transaction.signed ? signedFields(transaction.signed.bytes) : madeUpFields(transaction, dialect);
  const price = place ? quantity(gasBill(transaction, place.block, dialect).price) : fields.maxFeePerGas;
  return { ...common, gasPrice: price, type: '0x2', accessList: [], ...fields };
}

/** The fields that the sender signed. */
function signedFields(bytes: string) {
  const raw = readRaw(bytes);
  const [yParity = 0n, r = 0n, s = 0n] = signatureOf(bytes);
  return {
    input: hex(raw.data),
    value: quantity(raw.valueWei),
    nonce: quantity(raw.nonce),
    gas: quantity(raw.gas),
    maxFeePerGas: quantity(raw.maxFeeWei),
    maxPriorityFeePerGas: quantity(raw.tipWei),
    v: quantity(yParity),
    yParity: quantity(yParity),
    r: quantity(r),
    s: quantity(s),
  };
}

/** The fields of a sender who never signed. */
function madeUpFields(transaction: WorldTransaction, dialect: EvmDialect) {
  const made = (what: string) => quantity(BigInt(hex(digest(what, transaction.id))));
  const parity = quantity(Number.parseInt(transaction.id.slice(-1), 16) & 1);
  const [coin] = transaction.native ?? [];
  return {
    input: hex(coin ? '' : callData(transaction)),
    value: quantity(coin?.units ?? 0n),
    nonce: quantity(Number.parseInt(transaction.id.slice(0, 4), 16)),
    gas: quantity(2 * gasOf(transaction)),
    maxFeePerGas: quantity(2n * (dialect.baseFee + dialect.tip)),
    maxPriorityFeePerGas: quantity(dialect.tip),
    v: parity,
    yParity: parity,
    r: made('r'),
    s: made('s'),
  };
}

export function renderLog({ transaction, transactionIndex, entry, index }: LoggedEntry, block: WorldBlock) {
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
    removed: false,
  };
}

export type RenderedLog = ReturnType<typeof renderLog>;

function makeReceipts(block: WorldBlock, dialect: EvmDialect) {
  const logged = loggedEntries(block);
  let cumulativeGasUsed = 0;
  return block.transactions.map((transaction, index) => {
    const own = logged.splice(0, transaction.succeeded ? transaction.entries.length : 0);
    const { gasUsed, price } = gasBill(transaction, block, dialect);
    cumulativeGasUsed += gasUsed;
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
  });
}

/** The last that were asked for: their blooms are expensive, and a client asks for one receipt after the other. */
let made: Readonly<{ block: WorldBlock; receipts: ReturnType<typeof makeReceipts> }> | null = null;

/** Renders all receipts of a block, in order. */
export function renderReceipts(block: WorldBlock, dialect: EvmDialect): ReturnType<typeof makeReceipts> {
  if (made?.block !== block) made = { block, receipts: makeReceipts(block, dialect) };
  return made.receipts;
}
