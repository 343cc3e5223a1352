/**
 * The interface between Quayside's payouts and blockchains. The signer's half signs, without a network. The indexer's
 * half broadcasts and follows signed transactions, without keys. One folder per family implements both.
 *
 * Rules that every implementation keeps:
 * - `sign` is deterministic: the same order gives the same bytes. The caller reads the bytes back with `read` and
 *   compares.
 * - Amounts are bigint base units; address keys are lower-case hex; transaction ids are the chain's canonical text.
 * - `outcome` returns `dead`, `failed` or `succeeded` only for final state. Doubt is `waiting` or a transient Fault,
 *   never `dead`.
 */
import { Fault } from '../core/fault.ts';
import { type HotRole, type Intent, isPayback, type Wallet } from '../core/intent.ts';
import type { Outcome, Quote, Terms } from '../core/spend.ts';
import type { Currency, Token } from '../core/transfer.ts';

/** The family's rules that need neither a key nor a node. Every process loads them. */
export type SpendRules = Readonly<{
  /**
   * `sequence`: a transaction uses up a nonce of its wallet, and only one with the same nonce can replace it. `expiry`:
   * a transaction can be included until it expires.
   */
  lane: 'sequence' | 'expiry';
  /**
   * Returns until when (Unix ms) an attempt of an `expiry` lane can be included. Where its terms count blocks, it is
   * the earliest such time.
   */
  expiresAtMs?(terms: Terms, signedAtMs: number): number;
  /**
   * Returns how long payouts settle in after a gap, in ms of the chain's time. In an `expiry` lane, an attempt can be
   * included no later than this after it was signed. In a `sequence` lane, each node has by then received all pending
   * transactions (`PayoutNode.count`).
   * @param expiryMs `PayoutNodeOptions.expiryMs`
   */
  settleMs?: ((expiryMs: number | undefined) => number) | undefined;
  /**
   * The wallet that pays the fee of an intent and whose nonces it uses. A refund or gas wallet without an index is the
   * one that pays now.
   */
  payer(intent: Intent): Wallet;
  /** How many deposit addresses one sweep may empty. */
  sweepOwnersMax: number;
  /** Decimals of the native coin, in which fees are paid. */
  nativeDecimals: number;
  /** Whether an account on the chain marks each refund as paid (`WalletKeys.refundLock`). */
  hasLocks?: true;
}>;

/** The network according to the signer's own policy, never to the request. */
export type SpendNetwork = Readonly<{
  chainId: string;
  tokens: readonly Token[];
  /** Address key of the treasury, which sweeps pay. */
  treasury: string;
  /** Highest fee of one transaction, in base units of the native coin. Terms above it are refused. */
  feeUnitsMax: bigint;
}>;

export type SpendOrder = Readonly<{
  network: SpendNetwork;
  intent: Intent;
  terms: Terms;
}>;

/** A wallet's key pair; `secret` never leaves the signer's memory and is wiped after use. */
export type SpendKey = Readonly<{ wallet: Wallet; key: string; secret: Uint8Array }>;

/** `tx` is the transaction's id on the chain. */
export type SignedSpend = Readonly<{ tx: string; bytes: Uint8Array }>;

/** Effect of a signed transaction, read from its bytes alone. */
export type SpendReading = Readonly<{
  tx: string;
  /** Null where the bytes do not name their chain. */
  chainId: string | null;
  /** Address keys whose signatures the bytes carry, the fee payer first; each signature is verified. */
  signers: readonly string[];
  /**
   * All transfers; `token` is the token's address text, null for native coin or lent resources. A loan moves from the
   * gas wallet to the address, and back when it is reclaimed. Costs (fees, rent, a lock's deposit) are not transfers
   * but part of `feeUnitsMax`.
   */
  effects: readonly Readonly<{ token: string | null; from: string; to: string; units: bigint }>[];
  /** Highest possible fee, in base units of the native coin. */
  feeUnitsMax: bigint;
}>;

/** The keys of our own wallets. Pure. */
export interface WalletKeys {
  /**
   * Derives the key pair of a wallet from a BIP-39 seed (64 bytes). A deposit address has the path at which it is
   * derived for receiving.
   */
  derive(seed: Uint8Array, wallet: Wallet): SpendKey;
  /** Returns the derivation path of a wallet's key, for people to read and restore. */
  path(wallet: Wallet): string;
  /**
   * Returns the base58 extended public key of the deposit addresses, for the configuration; null if the family has
   * none.
   */
  xpub(seed: Uint8Array): string | null;
  /**
   * Returns the address key of the account that marks a refund as paid, where the family has such locks.
   * @param payer of the refund wallet
   */
  refundLock?(payer: SpendKey, refundId: string): string;
}

/** The signer's half. Pure. */
export interface Spending extends WalletKeys {
  /**
   * Returns the wallets whose keys `sign` needs: first the fee payer, then the others that sign, then a deposit address
   * that receives gas.
   */
  signers(intent: Intent): readonly Wallet[];
  /**
   * Builds and signs a transaction.
   * @param keys those of `signers`, in that order
   * @throws Fault permanent `spend_terms_invalid` (missing, malformed, above `feeUnitsMax`) or `spend_intent_invalid`
   */
  sign(order: SpendOrder, keys: readonly SpendKey[]): SignedSpend;
  /**
   * Reads a transaction from its bytes.
   * @throws Fault permanent `spend_bytes_unknown` for anything that `sign` would not have made
   */
  read(bytes: Uint8Array, network: SpendNetwork): SpendReading;
}

/** An intent with the address keys that it involves, for a node that has no keys. */
export type SpendDraft = Readonly<{
  intent: Intent;
  /** Address key of the wallet that pays the fee. */
  payer: string;
  /** Address keys that the money leaves, in the intent's order. */
  owners: readonly string[];
  /** Address key that the money goes to. */
  to: string;
  /** The token that moves; null for native coin. */
  token: Token | null;
  /** Of a refund or return where the family has locks: the lock's address key. */
  lock?: string | undefined;
}>;

/** A node's answer to a broadcast. No answer proves anything. `known` is as good as `accepted`. */
export type Broadcast =
  | Readonly<{ kind: 'accepted' | 'known' }>
  | Readonly<{ kind: 'rejected'; code: string; message: string }>;

/** One attempt that may be on the chain. */
export type SentAttempt = Readonly<{ tx: string; terms: Terms; payer: string }>;

/** Cost of a final transaction, in base units of the native coin. */
export type PaidBy = Readonly<{ feeUnits: bigint; nonce: number | null }>;

/** Base units of each token. */
export type UnitsBySymbol = Readonly<Partial<Record<Currency, bigint>>>;

/** Returns units by their tokens' symbols. @param units in the order of the tokens; extra ones are ignored */
export const bySymbol = (tokens: readonly Pick<Token, 'symbol'>[], units: readonly bigint[]): UnitsBySymbol =>
  Object.fromEntries(tokens.map(({ symbol }, at) => [symbol, units[at] ?? 0n]));

export type WalletBalance = Readonly<{ native: bigint; tokens: UnitsBySymbol }>;

/**
 * The indexer's half: a connection to the nodes of one network, for payouts. Every call may fail with a transient
 * Fault. No call is retried here.
 */
export interface PayoutNode {
  /** Returns a wallet's balance at the head, for planning, never as proof. */
  balance(key: string): Promise<WalletBalance>;
  /**
   * Returns the wallet's next free nonce at finality, at the head, and after the pending transactions of any configured
   * node. Every node must answer. `final` is null if the node no longer has the final state. Null where attempts expire
   * instead.
   */
  count(key: string): Promise<Readonly<{ final: number | null; head: number; pending: number }> | null>;
  /**
   * Returns the terms of a transaction for the draft now. `nonce` is null where attempts expire instead.
   * @param outbid terms of earlier attempts with the same nonce, whose fees a replacement must exceed; empty for a
   * first attempt
   */
  quote(draft: SpendDraft, nonce: number | null, outbid: readonly Terms[]): Promise<Quote>;
  broadcast(bytes: Uint8Array): Promise<Broadcast>;
  /**
   * Returns the cost of a transaction that paid the draft, no matter who signed it; null unless it is final on every
   * configured node. Its `nonce` is null if the draft's payer did not send it, or where attempts expire instead.
   * @throws UnclearOutcome if it succeeded and did not pay the draft
   */
  paidBy(draft: SpendDraft, tx: string): Promise<PaidBy | null>;
  /**
   * Asks every configured node. All must agree before an attempt is `dead`. Without attempts it is `waiting`.
   * @throws UnclearOutcome if a node shows that the draft was paid by none of the attempts
   */
  outcome(draft: SpendDraft, attempts: readonly SentAttempt[]): Promise<Outcome>;
  close(): Promise<void>;
}

/** The final state does not tell whether the draft was paid, or by which of its attempts. */
export class UnclearOutcome extends Fault {
  /** Cost of the transaction; null if it is unknown. */
  readonly feeUnits: bigint | null;

  constructor(what: string, feeUnits: bigint | null) {
    super('transient', 'payout_outcome_unclear', what);
    this.feeUnits = feeUnits;
  }
}

export type PayoutNodeOptions = Readonly<{
  url: string;
  finalityUrl?: string | null;
  rpcUrl?: string;
  /** A second, independent node that must agree before an attempt is called failed or dead. */
  witnessUrl?: string;
  chainId: string;
  tokens: readonly Token[];
  /** Blocks at this depth count as final if the node does not report finality. */
  finalDepth: number;
  /** Lifetime of an attempt in ms, where its terms name a time. Absent: the family's usual one. */
  expiryMs?: number;
  requestTimeoutMs: number;
  responseBytesMax: number;
}>;

/** Returns the fee payer where wallets pay their own fees, also deposit addresses that are swept. */
export const ownFees = (intent: Intent): Wallet => {
  switch (intent.kind) {
    case 'refund':
    case 'return':
      return { role: 'refund' };
    case 'gas':
      return { role: 'gas' };
    case 'sweep':
      return { role: 'collection', index: intent.from[0]?.index ?? 0 };
  }
};

/** Returns the fee payer where the gas wallet also pays for sweeps. */
export const sponsoredFees = (intent: Intent): Wallet => ({ role: isPayback(intent) ? 'refund' : 'gas' });

/** Indices of refund and gas wallets are below this. */
export const HOT_INDEX_LIMIT = 1_000;

/**
 * Returns the child index of a refund or gas wallet in the account of the hot wallets. Refund wallets have the even
 * ones.
 */
export const hotChild = ({ role, index = 0 }: Extract<Wallet, { role: HotRole }>): number =>
  2 * index + (role === 'refund' ? 0 : 1);
