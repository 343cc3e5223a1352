/**
 * The interface between Quayside's payouts and blockchains: how a family signs (in the signer, without a network) and
 * how it broadcasts and follows what was signed (in the indexer, without keys). One folder per family implements both
 * halves.
 *
 * Rules that every implementation keeps:
 * - `sign` is deterministic: the same order gives the same bytes. The caller reads the bytes back with `read` and
 *   compares.
 * - Amounts are bigint base units; address keys are lower-case hex; transaction ids are the chain's canonical text.
 * - `outcome` returns `dead`, `failed` or `succeeded` only for what is final. Doubt is `waiting` or a transient Fault,
 *   never `dead`.
 */
import { Fault } from '../core/fault.ts';
import { type HotRole, type Intent, isPayback, type Wallet } from '../core/intent.ts';
import type { Outcome, Quote, Terms } from '../core/spend.ts';
import type { Currency, Token } from '../core/transfer.ts';

/** The family's rules that need neither a key nor a node; small enough for any process to load. */
export type SpendRules = Readonly<{
  /**
   * `sequence`: a transaction uses up a sequence number of its wallet, and only another one with the same number can
   * replace it. `expiry`: a transaction can be included until it expires.
   */
  lane: 'sequence' | 'expiry';
  /**
   * Returns, in Unix ms, until when an attempt of an `expiry` lane can be included, or the earliest such time where its
   * terms count blocks.
   */
  expiresAtMs?(terms: Terms, signedAtMs: number): number;
  /**
   * Returns for how long, in ms of the chain's time, payouts settle in after a gap. In an `expiry` lane, an attempt can
   * be included for so long after it is signed, at most; in a `sequence` lane, each node shows by then what is still on
   * its way (`PayoutNode.count`).
   * @param expiryMs `PayoutNodeOptions.expiryMs`
   */
  settleMs?: ((expiryMs: number | undefined) => number) | undefined;
  /**
   * The wallet that pays the fee of an intent and whose sequence numbers it uses. A refund or gas wallet without an
   * index is the one that pays now.
   */
  payer(intent: Intent): Wallet;
  /** How many deposit addresses one sweep may empty. */
  sweepOwnersMax: number;
  /** Decimals of the native coin, in which fees are paid. */
  nativeDecimals: number;
  /** Whether an account on the chain marks each refund as paid (`WalletKeys.refundLock`). */
  hasLocks?: true;
}>;

/** The network as the signer's own policy has it; never taken from the request. */
export type SpendNetwork = Readonly<{
  chainId: string;
  tokens: readonly Token[];
  /** Address key of the treasury: where sweeps pay to. */
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

/** `tx` is the transaction's id on the chain. */
export type SignedSpend = Readonly<{ tx: string; bytes: Uint8Array }>;

/** Effect of signed bytes, read from the bytes alone. */
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
  /** The most that it can cost, in base units of the native coin. */
  feeUnitsMax: bigint;
}>;

/** The keys of our own wallets. Pure. */
export interface WalletKeys {
  /**
   * Derives the key pair of a wallet from a BIP-39 seed (64 bytes). Deposit addresses have the paths at which they are
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

/** The signer's half. Pure, except that it loads the chain's library. */
export interface Spending extends WalletKeys {
  /**
   * Returns the wallets whose keys `sign` needs, the fee payer first: those that sign, then any whose address alone is
   * needed (a deposit address that receives gas).
   */
  signers(intent: Intent): readonly Wallet[];
  /**
   * Builds and signs a transaction.
   * @param keys those of `signers`, in that order
   * @throws Fault permanent `spend_terms_invalid` (missing, malformed, above `feeUnitsMax`) or `spend_intent_invalid`
   */
  sign(order: SpendOrder, keys: readonly SpendKey[]): SignedSpend;
  /**
   * Reads a transaction back from its bytes.
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

/** A node's answer to a broadcast. None of them proves anything; `known` is as good as `accepted`. */
export type Broadcast =
  | Readonly<{ kind: 'accepted' | 'known' }>
  | Readonly<{ kind: 'rejected'; code: string; message: string }>;

/** One attempt that may be on the chain. */
export type SentAttempt = Readonly<{ tx: string; terms: Terms; payer: string }>;

/** Cost of a final transaction, in base units of the native coin. */
export type PaidBy = Readonly<{ feeUnits: bigint; nonce: number | null }>;

/** Base units of each token. */
export type UnitsBySymbol = Readonly<Partial<Record<Currency, bigint>>>;

/** Returns units by their tokens' symbols. @param units in the order of the tokens; more of them do no harm */
export const bySymbol = (tokens: readonly Pick<Token, 'symbol'>[], units: readonly bigint[]): UnitsBySymbol =>
  Object.fromEntries(tokens.map(({ symbol }, at) => [symbol, units[at] ?? 0n]));

export type WalletBalance = Readonly<{ native: bigint; tokens: UnitsBySymbol }>;

/**
 * The indexer's half: a connection to one network's nodes, for payouts. Every call may fail with a transient Fault;
 * none is retried here.
 */
export interface PayoutNode {
  /** Returns what a wallet holds at the head; for planning, never as proof. */
  balance(key: string): Promise<WalletBalance>;
  /**
   * Returns the wallet's next free nonce, at finality, at the head, and after what any of the configured nodes has
   * received for the next blocks; every one of them must answer. `final` is null if the node no longer has the final
   * state. Null where attempts expire instead.
   */
  count(key: string): Promise<Readonly<{ final: number | null; head: number; pending: number }> | null>;
  /**
   * Returns what a transaction for the draft takes now. `nonce` is the sequence number to use, if the family has them.
   * @param outbid terms of earlier attempts with the same number, whose fees a replacement must exceed; empty for a
   * first
   */
  quote(draft: SpendDraft, nonce: number | null, outbid: readonly Terms[]): Promise<Quote>;
  broadcast(bytes: Uint8Array): Promise<Broadcast>;
  /**
   * Returns what a transaction cost that is final and did what the draft says, whoever had it signed; null unless it is
   * final on every configured node. `nonce`: the sequence number of the payer that it used, null where there are none.
   * @throws UnclearOutcome if it did something else
   */
  paidBy(draft: SpendDraft, tx: string): Promise<PaidBy | null>;
  /**
   * Asks every configured node; all must agree before anything is `dead`. Without attempts it is `waiting`.
   * @throws UnclearOutcome if a node shows that the draft was paid by none of the attempts
   */
  outcome(draft: SpendDraft, attempts: readonly SentAttempt[]): Promise<Outcome>;
  close(): Promise<void>;
}

/** A final, successful transaction of ours does not show the payment, or what else was paid is not known. */
export class UnclearOutcome extends Fault {
  /** Cost of the transaction; null if that is not known. */
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
  /** Blocks this deep count as final if the node does not report finality. */
  finalDepth: number;
  /** How long an attempt can be included, in ms, where its terms name a time; absent: the family's usual time. */
  expiryMs?: number;
  requestTimeoutMs: number;
  responseBytesMax: number;
}>;

/**
 * Returns the fee payer where wallets pay their own fees: the refund and gas wallets, and each deposit address that is
 * swept.
 */
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

/** Indices of refund and gas wallets are below it. */
export const HOT_INDEX_LIMIT = 1_000;

/** Returns the place of a refund or gas wallet below the path of both: refund wallets have the even numbers. */
export const hotChild = ({ role, index = 0 }: Extract<Wallet, { role: HotRole }>): number =>
  2 * index + (role === 'refund' ? 0 : 1);
