/**
 * The interface between Quayside and blockchains: what a chain family must provide. One folder per family implements
 * it; the conformance suite in `test/conformance/chain.ts` runs over all of them.
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

/** All families; `src/chains/index.ts` holds one row for each. */
export type Family = 'evm' | 'tron' | 'solana';

/** Converts addresses between the text that people see and the key that is stored and matched. */
export interface AddressCodec {
  /** Width of an address key in bytes; the key itself is written as lower-case hex without prefix. */
  readonly keyBytes: number;
  /** Returns the key of a well-formed address (the checksum is verified where the text has one), or null. */
  parse(text: string): string | null;
  /** The canonical text of a key: the form to show a payer. */
  format(key: string): string;
  /**
   * Checks the text of an extended public key, which must be at the family's documented path. Null where the curve has
   * no public derivation: such addresses are derived where the seed is (`OfflineKeys`) and imported.
   * @throws Fault permanent `xpub_invalid`
   */
  readonly checkXpub: ((xpub: string) => void) | null;
  /**
   * Returns a link for a payer's wallet: it opens a transfer of `units` base units of `token` to `key` or, where
   * wallets have no such link, the payment page in the wallet's own browser.
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
  /** Whether a private key can exist for an address key. */
  isSpendable(key: string): boolean;
}

/**
 * The raw answer that holds one block's transfers, as bytes to be decoded elsewhere (a worker thread). `kind` and
 * `context` are private to the family: plain data that `decode` needs besides the bytes.
 */
export type RawContent = Readonly<{
  block: BlockRef;
  kind: string;
  bytes: Uint8Array;
  context: Readonly<Record<string, string | number>>;
}>;

/**
 * Says whether an address key (lower-case hex) is watched. Must be cheap: it is called once for each transfer in a
 * block.
 */
export type Watched = (key: string) => boolean;

/** The family's decoder: pure, no IO, runs in the matcher's workers. */
export interface Wire {
  /**
   * Returns the transfers of `tokens` to watched addresses, in block order, without zero-value transfers (which anybody
   * can write in anybody's name) and transfers of other contracts (look-alikes); and, marked `isOutgoing`, what leaves
   * our own wallets. A transfer from one of these to a watched address is in the answer twice.
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

/** How to reach a node and what to expect of it. */
export type NodeOptions = Readonly<{
  url: string;
  /**
   * Where the node serves finalized blocks, if at another address. Null: never ask for them; absent: at the family's
   * usual place.
   */
  finalityUrl?: string | null;
  /** Where the node serves requests, if neither at `url` nor at the usual port next to it. */
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
 * Report of the node about itself, compared with the configuration. `decimals` has a fault for a token whose
 * decimals it does not show, so that the chain is compared first: on another one there are other contracts.
 * `stateNumber` is the number of the block whose state has the tokens, if the node says it; with it, `token_missing`
 * (transient) may be a fault of a token.
 */
export type NodeIdentity = Readonly<{
  chainId: string;
  decimals: ReadonlyMap<string, number | Fault>;
  stateNumber?: number;
}>;

/**
 * `gone`: the node's chain has another block there, or the transaction no longer succeeded in it. `unsure`: ask later.
 */
export type Attestation = 'holds' | 'gone' | 'unsure';

/**
 * Holdings of addresses in each configured token, in base units, in the order of the request. The state is
 * that of some block from number `from` to number `to`.
 */
export type Holdings = Readonly<{
  from: number;
  to: number;
  units: readonly Readonly<Partial<Record<Currency, bigint>>>[];
}>;

/** A connection to one node. Every call may fail with a transient `Fault`; none is retried here. */
export interface Node {
  /** Returns the chain id, and `decimals()` of each configured token by token address. */
  identity(): Promise<NodeIdentity>;
  /** Returns the newest block that the node shows. */
  head(): Promise<BlockRef>;
  /** Returns the newest block that the chain itself calls final, or null if the node has no such notion (yet). */
  finalized(): Promise<BlockRef | null>;
  /** Returns the newest block that the chain calls safe, or null if none. Present if `finalities` has `safe`. */
  safe?(): Promise<BlockRef | null>;
  /**
   * Returns the node's own chain from `fromNumber` to `toNumber` (inclusive), oldest first and linked; at least one
   * block, or a fault. Where numbers may be skipped and none of these has a block, the next block above them.
   */
  range(fromNumber: number, toNumber: number): Promise<readonly BlockRef[]>;
  /** Returns one header by hash; null if the node does not know it now. */
  header(hash: string): Promise<BlockRef | null>;
  /**
   * Returns the raw answer with the block's transfers, requested by hash. `thorough` requests the larger answer that
   * leaves no doubt.
   */
  content(block: BlockRef, thorough: boolean): Promise<RawContent>;
  /** Checks whether the block is on the node's own chain and every transaction in `txs` succeeded in it. */
  attest(block: Pick<BlockRef, 'hash' | 'number'>, txs: readonly string[]): Promise<Attestation>;
  /**
   * Returns what addresses hold of the tokens in final state: in that of `block`, which is final, or in the newest
   * where nodes keep no older one.
   * @throws Fault transient; `node_history_pruned` or `node_method_missing` if the node does not have that state
   */
  holdings(keys: readonly string[], block: BlockRef): Promise<Holdings>;
  /**
   * Returns why the node itself says that it is behind its chain; null if it does not say so. Absent where the age of
   * the newest block shows it: present where block times are no clock, but follow from how many blocks there were.
   */
  whyBehind?(): Promise<string | null>;
  /** Calls `listener` whenever something may have changed: a new head, or a new connection. Carries no data. */
  onChange(listener: () => void): void;
  /**
   * Whether the push connection is up, when the node last sent something (Unix ms; 0 = never), and how many connections
   * were made: a higher count means that another node may now be behind the address.
   */
  health(): Readonly<{ connected: boolean; heardAtMs: number; connections: number }>;
  close(): Promise<void>;
}

/** A whole family. `wire` and `node` are loaded only by processes that need them. */
export interface Chain {
  readonly family: Family;
  /**
   * Finality that the family's nodes report. With `confirmed`, the client neither shows nor attests earlier
   * blocks: what a follower holds is confirmed. `sequencer` is a matter of the network, which its settings know.
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
  /** Loads the chain's SDK, tens of megabytes: for the first payout that is due. */
  secondOpinion(): Promise<{ readBySdk: ReadBySdk }>;
  /** Present where `address.checkXpub` is not null. */
  xpubKeys?(): Promise<XpubKeys>;
  /** Present where `address.checkXpub` is null. */
  offlineKeys?(): Promise<OfflineKeys>;
}
