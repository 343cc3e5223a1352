/**
 * The seam between Quayside and blockchains: what a chain family must offer. One folder per family implements it; the
 * conformance suite in `test/chains/` runs over all of them.
 *
 * Rules that every implementation keeps:
 * - An answer that is malformed, contradicts the block it was asked for, or could be a lie by omission is a transient `Fault`
 *   with a code of its own (`node_*`), never an empty block.
 * - Hashes and transaction ids are canonical text and address keys lower-case hex, so equality is `===`.
 * - Nothing here touches the store.
 * @module
 */
import type { BlockRef } from '../core/block.ts';
import type { TransactionReport } from '../core/lookup.ts';
import type { ChainTransfer, Token } from '../core/transfer.ts';
import type { PayoutNode, PayoutNodeOptions, Spending, SpendRules } from './spend.ts';
import type { Wallets } from './wallet.ts';

/** The families there are; `src/chains/index.ts` holds one row for each. */
export type Family = 'evm' | 'tron' | 'solana';

/** Turns addresses between what people see and the key that is stored and matched. */
export interface AddressCodec {
  /** Width of an address key in bytes; the key itself is written as lower-case hex without prefix. */
  readonly keyBytes: number;
  /** @returns the key of a well-formed address (checksum verified where the text carries one), or null. */
  parse(text: string): string | null;
  /** The canonical text of a key: the form to show a payer. */
  format(key: string): string;
  /**
   * The key of address number `index` of an account's extended public key (BIP-44 external chain): base58 text at the family's documented
   * path, never a private key. It throws the permanent Fault `xpub_invalid`. Null where a curve has no public derivation: addresses are then
   * made where the seed is (`OfflineKeys`) and imported.
   */
  readonly derive: ((xpub: string, index: number) => string) | null;
  /**
   * Link for a payer's wallet: opens a transfer of `units` base units of `token` to `key` or, where wallets know no such link, the payment
   * page in the wallet's own browser.
   * @param chainId the network's chain id as the configuration has it
   * @param pageUrl the hosted payment page
   */
  deepLink(token: Token, chainId: string, key: string, units: bigint, pageUrl: string): string;
}

/** A codec of a family that derives. */
export type DerivingCodec = AddressCodec & Readonly<{ derive: NonNullable<AddressCodec['derive']> }>;

/**
 * How a family without public derivation makes addresses: on a machine that has the seed, as lists that are signed there. The server
 * only verifies. A seed is the 64 bytes of BIP-39.
 */
export interface OfflineKeys {
  /** Where address number i stands in a wallet, for people to read. */
  readonly path: string;
  /** Keys of the addresses `from` … `from + count − 1`. */
  derive(seed: Uint8Array, from: number, count: number): string[];
  /** Signs a list's bytes with the seed's own key for that, which is never an address. `signer` is its public half, as an address is written. */
  sign(seed: Uint8Array, message: Uint8Array): Readonly<{ signer: string; signature: Uint8Array }>;
  verify(signer: string, message: Uint8Array, signature: Uint8Array): boolean;
  /** Whether a private key can stand behind an address key. */
  isSpendable(key: string): boolean;
}

/**
 * The raw answer that holds one block's transfers, as bytes to be decoded elsewhere (a worker thread). `kind` and `context` are
 * the family's own business: plain data that `decode` needs beside the bytes.
 */
export type RawContent = Readonly<{
  block: BlockRef;
  kind: string;
  bytes: Uint8Array;
  context: Readonly<Record<string, string | number>>;
}>;

/** Says whether an address key (lower-case hex) is watched. Must be cheap: it is asked once per transfer in a block. */
export type Watched = (key: string) => boolean;

/** The family's decoder: pure, no IO, runs in the matcher's workers. */
export interface Wire {
  /**
   * Transfers of `tokens` to watched addresses, in block order; zero-value transfers and other contracts' look-alikes left out.
   * @throws Fault transient `node_content_doubtful` when the bytes may hide transfers (ask again with `thorough`), or another
   * `node_*` code when they contradict the block
   */
  decode(content: RawContent, tokens: readonly Token[], watched: Watched): ChainTransfer[];
}

/** How to reach a node and what to expect of it. */
export type NodeOptions = Readonly<{
  url: string;
  /** Where the node shows what is final, when that is another address; null: it is not asked; absent: the family's usual place. */
  finalityUrl?: string | null;
  /** Where the node answers requests, when that is not where `url` or its usual neighbour is. */
  rpcUrl?: string;
  tokens: readonly Token[];
  requestTimeoutMs: number;
  responseBytesMax: number;
  /** With no sign of life for this long, the connection is dropped and made again. */
  idleMsMax: number;
  /** Requests under way at once. */
  concurrencyMax: number;
}>;

/** What the node says it is; compared with the configuration at start. */
export type NodeIdentity = Readonly<{ chainId: string; decimals: ReadonlyMap<string, number> }>;

/** `gone`: the node's chain holds another block there, or the transaction is no longer a success in it. `unsure`: ask later. */
export type Attestation = 'stands' | 'gone' | 'unsure';

/** A connection to one node. Every call may fail with a transient `Fault`; none retries by itself. */
export interface Node {
  /** Chain id, and `decimals()` of each configured token by token address. */
  identity(): Promise<NodeIdentity>;
  /** The best block that the node admits to. */
  head(): Promise<BlockRef>;
  /** The newest block that the chain itself calls final, or null where the node has no such notion (yet). */
  finalized(): Promise<BlockRef | null>;
  /**
   * The node's own chain from `fromNumber` to `toNumber` (inclusive), oldest first and linked; at least one block, or a fault. Where numbers
   * may skip and none of these has a block, the next block above them.
   */
  range(fromNumber: number, toNumber: number): Promise<readonly BlockRef[]>;
  /** One header by hash; null when the node does not know it now. */
  header(hash: string): Promise<BlockRef | null>;
  /** The raw answer with the block's transfers, asked for by hash. `thorough` takes the slower transport that leaves no doubt. */
  content(block: BlockRef, thorough: boolean): Promise<RawContent>;
  /** Whether the block is the node's own at its height and every transaction in `txs` stands in it as a success. */
  attest(block: Pick<BlockRef, 'hash' | 'number'>, txs: readonly string[]): Promise<Attestation>;
  /**
   * What the node knows of a transaction that somebody names, in a canonical block or on its way. For telling people, never for crediting:
   * only blocks credit.
   * @param tx canonical text, as `Chain.transactionId` gives it
   */
  lookup(tx: string): Promise<TransactionReport>;
  /** Calls `ring` whenever something may have changed: a new head, or a connection made again. Carries no truth. */
  onChange(ring: () => void): void;
  /**
   * Whether the push connection is up, when the node was last heard (Unix ms; 0 = never), and how often a connection was made: a
   * higher count means that another node may be behind the address now.
   */
  health(): Readonly<{ connected: boolean; heardAtMs: number; connections: number }>;
  close(): Promise<void>;
}

/** A whole family. `wire` and `node` are loaded only by the processes that need them. */
export interface Chain {
  readonly family: Family;
  /**
   * Present where the network itself confirms a block well before it is final, and the node client shows and attests no block that is less:
   * what a follower holds is confirmed then, and small amounts may be credited at once.
   */
  readonly confirmsBeforeFinal?: true;
  readonly address: AddressCodec;
  /** The canonical text of a transaction's id as people write it, or null when the text is none of this family. */
  transactionId(text: string): string | null;
  readonly wallets: Wallets;
  wire(): Promise<Wire>;
  node(): Promise<{ openNode(options: NodeOptions): Node }>;
  readonly spendRules: SpendRules;
  /** The signer's half of payouts; it alone loads the chain's library. */
  spending?(): Promise<Spending>;
  /** The indexer's half of payouts. */
  payouts?(): Promise<{ openPayoutNode(options: PayoutNodeOptions): PayoutNode }>;
  /** Present where `address.derive` is null. */
  offlineKeys?(): Promise<OfflineKeys>;
}
