/**
 * The seam between Quayside's payouts and blockchains: how a family signs (in the signer, without a network) and how it sends, watches and
 * buries what was signed (in the indexer, without keys). One folder per family implements both halves.
 *
 * Rules that every implementation keeps:
 * - `sign` is deterministic: the same order gives the same bytes. Whoever signs reads the bytes again with `read` and compares.
 * - Amounts are bigint base units; address keys are lower-case hex; transaction ids are the chain's canonical text.
 * - `outcome` says `dead`, `failed` or `succeeded` only of what is final. Doubt is `waiting` or a transient Fault, never `dead`.
 * @module
 */
import type { Intent, Wallet } from '../core/intent.ts';
import type { Currency, Token } from '../core/transfer.ts';

/** What a family's rules say without a key or a node; light, so that everybody may load it. */
export type SpendRules = Readonly<{
  /**
   * `sequence`: a transaction uses up a number of its wallet, and only another with the same number can take its place.
   * `expiry`: a transaction can stand on the chain until it expires.
   */
  lane: 'sequence' | 'expiry';
  /** The wallet that pays the fee of an intent and whose sequence numbers it uses. */
  payer(intent: Intent): Wallet;
  /** How many collection addresses one sweep may empty. */
  sweepOwnersMax: number;
  /** Decimals of the native coin, in which fees are paid. */
  nativeDecimals: number;
}>;

/**
 * What an attempt is signed on besides its intent: the family's own names, decimal text or hex. Fees, sequence number (`nonce`), reference
 * block, expiry. Made by `PayoutNode.quote`, kept with the attempt, checked by `Spending.sign`.
 */
export type Terms = Readonly<Record<string, string>>;

/** The network as the signer's own policy knows it; never taken from the request. */
export type SpendNetwork = Readonly<{
  chainId: string;
  tokens: readonly Token[];
  /** Address key of the treasury: where sweeps go. */
  treasury: string;
  /** The most that one transaction may cost, in base units of the native coin; terms above it are refused. */
  feeUnitsMax: bigint;
}>;

export type SpendOrder = Readonly<{
  network: SpendNetwork;
  intent: Intent;
  terms: Terms;
}>;

/** A wallet's key pair; `secret` never leaves the signer's memory and is wiped after use. */
export type SpendKey = Readonly<{ wallet: Wallet; key: string; secret: Uint8Array }>;

/** `tx` is the id that the chain will know it by. */
export type SignedSpend = Readonly<{ tx: string; bytes: Uint8Array }>;

/** What signed bytes do, read from the bytes alone. */
export type SpendReading = Readonly<{
  tx: string;
  /** Null where the bytes do not name their chain. */
  chainId: string | null;
  /** Address keys whose signatures the bytes carry, the fee payer first; each signature was verified. */
  signers: readonly string[];
  /**
   * Everything that moves; `token` is the token's address text, null for native coin or lent resources. A loan moves from the gas wallet to
   * the address and, when it is taken back, the other way. What a transaction merely costs (fees, rent, a deposit that locks) is no move,
   * but part of `feeUnitsMax`.
   */
  effects: readonly Readonly<{ token: string | null; from: string; to: string; units: bigint }>[];
  /** The most that it can cost, in base units of the native coin. */
  feeUnitsMax: bigint;
}>;

/** The signer's half. Pure but for the loading of the chain's own library. */
export interface Spending {
  /** The key pair of a wallet of a BIP-39 seed (64 bytes). Collection wallets have the paths at which addresses are derived. */
  derive(seed: Uint8Array, wallet: Wallet): SpendKey;
  /** Where a wallet's key stands, for people to read and restore. */
  path(wallet: Wallet): string;
  /** Base58 extended public key of the collection account, for the configuration; null where a family has none. */
  xpub(seed: Uint8Array): string | null;
  /**
   * The wallets whose keys `sign` needs, the fee payer first: those that sign, then any that it needs for the address alone (a collection
   * address that is given gas).
   */
  signers(intent: Intent): readonly Wallet[];
  /**
   * Builds and signs.
   * @param keys those of `signers`, in that order
   * @throws Fault permanent `spend_terms_invalid` (missing, malformed, above `feeUnitsMax`) or `spend_intent_invalid`
   */
  sign(order: SpendOrder, keys: readonly SpendKey[]): SignedSpend;
  /** @throws Fault permanent `spend_bytes_unknown` for whatever `sign` would not have made */
  read(bytes: Uint8Array, network: SpendNetwork): SpendReading;
}

/** An intent with the address keys it concerns, for a node that has no keys. */
export type SpendDraft = Readonly<{
  intent: Intent;
  /** Address key of the wallet that pays the fee. */
  payer: string;
  /** Address keys the money leaves, in the intent's order. */
  owners: readonly string[];
  /** Address key the money goes to. */
  to: string;
  /** The token that moves; null for native coin. */
  token: Token | null;
}>;

/**
 * `terms` to sign on and what it costs, in base units of the native coin: `feeUnits` likely, `feeUnitsMax` at most. `refused`: it
 * would fail now; `code` is `destination_frozen`, `destination_invalid`, `token_short`, `native_short` or `would_fail`. `missingUnits` says
 * how much more the wallet must hold where it is short, in base units of the token or the native coin. `loan`: lending it the resources of a
 * stake of `units` (a gas intent's `delegate`) would do, if it is also sent `missingUnits` of native coin, which may be none.
 */
export type Quote =
  | Readonly<{ kind: 'quoted'; terms: Terms; feeUnits: bigint; feeUnitsMax: bigint }>
  | Readonly<{
      kind: 'refused';
      code: RefusedCode;
      message: string;
      missingUnits?: bigint;
      loan?: Readonly<{ units: bigint; missingUnits: bigint }>;
    }>;

export type RefusedCode = 'destination_frozen' | 'destination_invalid' | 'token_short' | 'native_short' | 'would_fail';

/** What a node said to a broadcast. None of it proves anything; `known` is as good as `accepted`. */
export type Broadcast =
  | Readonly<{ kind: 'accepted' | 'known' }>
  | Readonly<{ kind: 'rejected'; code: string; message: string }>;

/** One attempt that may be on the chain. */
export type SentAttempt = Readonly<{ tx: string; terms: Terms; payer: string }>;

/**
 * What became of the attempts of one generation, taken together.
 * - `waiting`: nothing is final yet. `included` names the one that stands in a block now, if any.
 * - `succeeded`: one is final and did what its draft says. `feeUnits` is what it cost.
 * - `failed`: one is final and moved nothing. It may be signed anew.
 * - `dead`: final state proves that none of them can ever stand on the chain. It may be signed anew.
 * - `foreign`: the wallet's sequence number was used up, at finality, by something that is not ours. The wallet must stop.
 */
export type Outcome =
  | Readonly<{ kind: 'waiting'; included: Readonly<{ tx: string; number: number }> | null }>
  | Readonly<{ kind: 'succeeded' | 'failed'; tx: string; number: number; feeUnits: bigint }>
  | Readonly<{ kind: 'dead' }>
  | Readonly<{ kind: 'foreign'; message: string }>;

export type WalletBalance = Readonly<{ native: bigint; tokens: Readonly<Partial<Record<Currency, bigint>>> }>;

/** The indexer's half: a connection to one network's nodes, for payouts. Every call may fail with a transient Fault; none retries by itself. */
export interface PayoutNode {
  /** What a wallet holds at the head; for planning, never for proof. */
  balance(key: string): Promise<WalletBalance>;
  /** The wallet's sequence number: the first that is free at finality, and at the head. Null where lanes expire. */
  sequence(key: string): Promise<Readonly<{ final: number; head: number }> | null>;
  /**
   * What a transaction for the draft takes now. Where lanes are sequences, `nonce` is the number to use.
   * @param outbid terms of earlier attempts with the same number, whose fees a replacement must top; empty for a first
   */
  quote(draft: SpendDraft, nonce: number | null, outbid: readonly Terms[]): Promise<Quote>;
  broadcast(bytes: Uint8Array): Promise<Broadcast>;
  /** Asks every configured node; each must agree before anything is `dead`. */
  outcome(draft: SpendDraft, attempts: readonly SentAttempt[]): Promise<Outcome>;
  close(): Promise<void>;
}

export type PayoutNodeOptions = Readonly<{
  url: string;
  finalityUrl?: string | null;
  rpcUrl?: string;
  /** A second, independent node that must agree before an attempt is called dead. */
  witnessUrl?: string;
  chainId: string;
  tokens: readonly Token[];
  /** A block this deep is final where the node has no notion of it. */
  finalDepth: number;
  requestTimeoutMs: number;
  responseBytesMax: number;
}>;

/** Refund and gas wallets pay their own fees, and so does each collection address when it is swept. */
export const ownFees = (intent: Intent): Wallet => {
  switch (intent.kind) {
    case 'refund':
      return { role: 'refund' };
    case 'gas':
      return { role: 'gas' };
    case 'sweep':
      return { role: 'collection', index: intent.from[0]?.index ?? 0 };
  }
};

/** The gas wallet pays for sweeps as well. */
export const sponsoredFees = (intent: Intent): Wallet => ({ role: intent.kind === 'refund' ? 'refund' : 'gas' });
