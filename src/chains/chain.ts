/**
 * The interface between Quayside and blockchains. One folder per family implements it. The conformance suite in
 * `test/conformance/chain.ts` runs over all of them.
 *
 * Rules that every implementation keeps:
 * - An answer that is malformed, contradicts the block that was requested, or may omit something is a transient `Fault`
 *   with a code of its own (`node_*`), never an empty block.
 * - Hashes and transaction ids are canonical text and address keys lower-case hex, so equality is `===`.
 * - Nothing here uses the database.
 */
import type { BlockRef } from '../core/block.ts';
import type { Finality } from '../core/credit-policy.ts';
import type { Fault } from '../core/fault.ts';
import type { ChainTransfer, Currency, Token } from '../core/transfer.ts';
import type { ReadBySdk } from './second-opinion.ts';
import type { PayoutNode, PayoutNodeOptions, Spending, SpendRules } from './spend.ts';
import type { Wallets } from './wallet.ts';

/** All families. `index.ts` has one row for each. */
export type Family = 'evm' | 'tron' | 'solana';

/** Converts addresses between the text that people see and the key in the database. */
export interface AddressCodec {
  /** Width of an address key in bytes; the key itself is written as lower-case hex without prefix. */
  readonly keyBytes: number;
  /** Returns the key of a well-formed address (the checksum is verified where the text has one), or null. */
  parse(text: string): string | null;
  /** Returns the canonical text of a key, as payers see it. */
  format(key: string): string;
  /**
   * Checks the text of an extended public key, which must be at the family's documented path. Null where the curve has
   * no public derivation. Such addresses are derived on the machine with the seed (`OfflineKeys`) and imported.
   * @throws Fault permanent `xpub_invalid`
   */
  readonly checkXpub: ((xpub: string) => void) | null;
  /**
   * Returns a link that opens, in a payer's wallet, a transfer of `units` base units of `token` to `key`. Where wallets
   * have no such link, it opens the payment page in the wallet's own browser.
   * @param chainId the network's chain id as configured
   * @param pageUrl the hosted payment page
   */
  deepLink(token: Token, chainId: string, key: string, units: bigint, pageUrl: string): string;
}

/** Derives the addresses of a family with public derivation. */
export interface XpubKeys {
  /**
   * Returns the key of address number `index` of an account's extended public key (BIP-44 external chain): base58 text
   * at the family's documented path, never a private key.
   * @throws Fault permanent `xpub_invalid`
   */
  derive(xpub: string, index: number): string;
}

/**
 * Makes the addresses of a family without public derivation, on a machine that has the seed. They are exported as
 * signed lists; the server only verifies the signature. A seed is the 64 bytes of BIP-39.
 */
export interface OfflineKeys {
  /** The derivation path of address number i, for people to read. */
  readonly path: string;
  /** Returns the keys of the addresses `from` … `from + count − 1`. */
  derive(seed: Uint8Array, from: number, count: number): string[];
  /**
   * Signs a list's bytes with a key of the seed that is never used as an address. `signer` is its public half, written
   * as an address.
   */
  sign(seed: Uint8Array, message: Uint8Array): Readonly<{ signer: string; signature: Uint8Array }>;
  verify(signer: string, message: Uint8Array, signature: Uint8Array): boolean;
  /** Returns whether a private key can exist for an address key. */
  isSpendable(key: string): boolean;
}

/**
 * The raw answer that holds one block's transfers, as bytes for a worker thread to decode. `kind` and `context` are
 * plain data that `decode` needs besides the bytes. Only the family reads them.
 */
export type RawContent = Readonly<{
  block: BlockRef;
  kind: string;
  bytes: Uint8Array;
  context: Readonly<Record<string, string | number>>;
}>;

/**
 * Returns whether an address key (lower-case hex) is watched. It must be cheap, because it is called once for each
 * transfer in a block.
 */
export type Watched = (key: string) => boolean;

/** The family's decoder: pure, no IO, runs in the matcher's workers. */
export interface Wire {
  /**
   * Returns the transfers of `tokens` to watched addresses in block order. Zero-value transfers are left out, because
   * anybody can write one in anybody's name, and so are transfers of other contracts (look-alikes). Transfers out of
   * our own wallets are marked `isOutgoing`. A transfer from one of our wallets to a watched address is in the answer
   * twice.
   * @param own address keys of our own wallets; none if absent
   * @throws Fault transient `node_content_doubtful` when the bytes may hide transfers (ask again with `thorough`), or
   * another `node_*` code when they contradict the block
   */
  decode(content: RawContent, tokens: readonly Token[], watched: Watched, own?: ReadonlySet<string>): ChainTransfer[];
}

/** One request and its answer, raw. The request has no URL, which may hold credentials. */
export type Exchange = Readonly<{
  request: string;
  /** Null if there was no answer. A worker may take the bytes away later. */
  answer: Uint8Array | null;
}>;

/** Options of a connection to a node. */
export type NodeOptions = Readonly<{
  url: string;
  /**
   * URL that serves finalized blocks, if it is not `url`. Null: they are never requested. Absent: the family's usual
   * place.
   */
  finalityUrl?: string | null;
  /** URL that serves requests, if it is neither `url` nor the usual port next to it. */
  rpcUrl?: string;
  tokens: readonly Token[];
  requestTimeoutMs: number;
  responseBytesMax: number;
  /** After this long without any data, the connection is dropped and opened again. */
  idleMsMax: number;
  /** Concurrent requests, at most. */
  concurrencyMax: number;
  /** Called after each exchange, in the asynchronous context of the call that made it. */
  observe?: (exchange: Exchange) => void;
}>;

/**
 * Report of the node about itself, compared with the configuration. `decimals` has a fault, not a number, for a token
 * whose decimals the node does not show. The caller compares the chain id first, because another chain has other
 * contracts. `stateNumber` is the number of the block whose state was read, if the node reports it. Only then may the
 * fault of a token be `token_missing` (transient).
 */
export type NodeIdentity = Readonly<{
  chainId: string;
  decimals: ReadonlyMap<string, number | Fault>;
  stateNumber?: number;
}>;

/**
 * `gone`: the node's chain has another block at that height, or the transaction did not succeed in it. `unsure`: ask
 * later.
 */
export type Attestation = 'holds' | 'gone' | 'unsure';

/**
 * Holdings of addresses in each configured token, in base units, in the order of the request. They are read in the
 * state of one block between numbers `from` and `to`.
 */
export type Holdings = Readonly<{
  from: number;
  to: number;
  units: readonly Readonly<Partial<Record<Currency, bigint>>>[];
}>;

/** A connection to one node. Every call may fail with a transient `Fault`. No call is retried here. */
export interface Node {
  /** Returns the chain id, and `decimals()` of each configured token by token address. */
  identity(): Promise<NodeIdentity>;
  /** Returns the newest block that the node shows. */
  head(): Promise<BlockRef>;
  /** Returns the newest block that the node reports as final, or null if it reports none. */
  finalized(): Promise<BlockRef | null>;
  /**
   * Returns the newest block that the node reports as safe, or null if it reports none. Present if `finalities` has
   * `safe`.
   */
  safe?(): Promise<BlockRef | null>;
  /**
   * Returns the node's own chain from `fromNumber` to `toNumber` (inclusive), oldest first and linked. It has at least
   * one block. Where numbers may be skipped and none of these has a block, it is the next block above them.
   */
  range(fromNumber: number, toNumber: number): Promise<readonly BlockRef[]>;
  /** Returns one header by hash; null if the node does not have it. */
  header(hash: string): Promise<BlockRef | null>;
  /**
   * Returns the raw answer with the block's transfers, requested by hash. `thorough` requests the larger answer that
   * leaves no doubt.
   */
  content(block: BlockRef, thorough: boolean): Promise<RawContent>;
  /** Checks whether the block is on the node's own chain and every transaction in `txs` succeeded in it. */
  attest(block: Pick<BlockRef, 'hash' | 'number'>, txs: readonly string[]): Promise<Attestation>;
  /**
   * Returns the tokens that addresses hold in the state of `block`, which is final. Where nodes keep no older state, it
   * is the newest final one.
   * @throws Fault transient; `node_history_pruned` or `node_method_missing` if the node does not have that state
   */
  holdings(keys: readonly string[], block: BlockRef): Promise<Holdings>;
  /**
   * Returns the node's own report that it is behind its chain; null if it makes none. Absent where the age of the
   * newest block shows it. Present where block times are computed from the number of blocks and are no clock.
   */
  whyBehind?(): Promise<string | null>;
  /** Calls `listener` at each new head and each new connection. Carries no data. */
  onChange(listener: () => void): void;
  /**
   * Whether the push connection is up, when the node last sent something (Unix ms; 0 = never), and how many connections
   * were made. After a new connection, another node may be behind the address.
   */
  health(): Readonly<{ connected: boolean; heardAtMs: number; connections: number }>;
  close(): Promise<void>;
}

/** A whole family. `wire` and `node` are loaded only by processes that need them. */
export interface Chain {
  readonly family: Family;
  /**
   * Finality that the family's nodes report. With `confirmed`, the client neither shows nor attests blocks that are not
   * confirmed, so that the follower has no others. `sequencer` depends on the network, and is set in its file.
   */
  readonly finalities: readonly Finality[];
  readonly address: AddressCodec;
  /** Returns the canonical text of a transaction id as people write it, or null if it is not one of this family. */
  transactionId(text: string): string | null;
  readonly wallets: Wallets;
  wire(): Promise<Wire>;
  node(): Promise<{ openNode(options: NodeOptions): Node }>;
  readonly spendRules: SpendRules;
  /** The signer's half of payouts. */
  spending(): Promise<Spending>;
  /** The indexer's half of payouts. */
  payouts(): Promise<{ openPayoutNode(options: PayoutNodeOptions): PayoutNode }>;
  /** Loads the chain's SDK, tens of megabytes. Called when the first payout is due. */
  secondOpinion(): Promise<{ readBySdk: ReadBySdk }>;
  /** Present where `address.checkXpub` is not null. */
  xpubKeys?(): Promise<XpubKeys>;
  /** Present where `address.checkXpub` is null. */
  offlineKeys?(): Promise<OfflineKeys>;
}
