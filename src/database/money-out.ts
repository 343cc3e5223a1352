/**
 * The part of the port that keeps payouts: what is to leave our wallets, every attempt at it, the wallets' sequence numbers, and the books.
 * Each command is one whole transaction, on the disk when it returns. What to do next is decided in `core/payout.ts`.
 * @module
 */
import type { Intent, Wallet } from '../core/intent.ts';
import type { Asset, Difference } from '../core/ledger.ts';
import type { Attempt, Ended, Payout, PayoutState, Proof } from '../core/payout.ts';
import type { NetworkKey } from '../core/transfer.ts';

/** A payout that is to be made. A refund's has the refund's id. */
export type NewPayout = Readonly<{
  intent: Intent;
  /** Of a refund: the session whose money is given back. */
  sessionId: string | null;
  /** The payout that this one makes possible. */
  servesId: string | null;
  notBeforeMs: number;
  nowMs: number;
}>;

/** An open payout, with the attempts of its current generation in order, and an operator's approval if there is one. */
export type OpenPayout = Readonly<{
  payout: Payout;
  attempts: readonly Attempt[];
  approval: Readonly<{ approver: string; untilS: number; signature: string }> | null;
}>;

export type PayoutName = Readonly<{ id: string; generation: number }>;
export type AttemptName = PayoutName & Readonly<{ attempt: number }>;

/** A wallet of which no further number is given out, and why. */
export type HaltedLane = Readonly<{ network: NetworkKey; payer: string }> & EngineReason;

/** The next free number of a wallet, or why there is none now. */
export type NonceOffer =
  | Readonly<{ kind: 'free'; nonce: number }>
  /** `full`: so many are open as a node keeps. `unsigned`: the newest is not signed yet, and may be taken back. */
  | Readonly<{ kind: 'full' | 'unsigned' | 'halted' }>;

/** `moved`: the payout is no longer as it was, its number is taken, or the payment that it refunds is gone; look again. */
export type AllotOutcome = Readonly<{ kind: 'allotted'; attempt: Attempt }> | Readonly<{ kind: 'moved' }>;

/** A signature as the signer's journal has it. */
export type JournaledSignature = Readonly<{
  id: number;
  intent: Intent;
  generation: number;
  attempt: number;
  terms: Readonly<Record<string, string>>;
  tx: string;
  bytes: Uint8Array;
  signedAtMs: number;
}>;

/** How far this database and the signer's journal agree. `stray`: a signature that no attempt here was allotted for, on those terms. */
export type JournalOutcome =
  | Readonly<{ kind: 'recorded' }>
  | Readonly<{ kind: 'stray'; signature: JournaledSignature }>;

/** A journaled signature with the wallet that pays its fee. */
export type Adoption = JournaledSignature & Readonly<{ payer: string; payerRole: Wallet['role'] }>;

/** Why a network's engine does nothing. */
export type EngineReason = Readonly<{ code: string; message: string }>;

/** The payout engine of a network as it stands. */
export type PayoutEngine = Readonly<{
  network: NetworkKey;
  fence: number;
  journalId: number;
  reason: EngineReason | null;
  updatedAtMs: number;
}>;

/** What a wallet of the signer's holds, in base units; `low` names what it needs more of. */
export type WalletBalance = Readonly<{
  network: NetworkKey;
  role: 'refund' | 'gas';
  key: string;
  units: Readonly<Partial<Record<Asset, bigint>>>;
  low: readonly Asset[];
  readAtMs: number;
}>;

export type PayoutFilter = Readonly<{
  network?: NetworkKey;
  state?: PayoutState;
  kind?: Intent['kind'];
  limit: number;
}>;

/** How many payouts of a kind are in a state, and what keeps the oldest of them. */
export type PayoutStats = Readonly<{
  counts: readonly Readonly<{ kind: Intent['kind']; state: PayoutState; count: number }>[];
  /** Open payouts by network and reason, `code` null for those that nothing keeps. */
  waiting: readonly Readonly<{ network: NetworkKey; code: string | null; count: number; oldestAtMs: number }>[];
}>;

/** Refunds of a network that could be paid and for which nothing is known to wait. */
export type OverdueRefunds = Readonly<{ network: NetworkKey; count: number; oldestDueMs: number }>;

/** The books: what every account holds, and what is wrong in them; nothing in sound ones. */
export type LedgerReport = Readonly<{
  entries: number;
  balances: readonly Readonly<{ network: NetworkKey; asset: Asset; account: string; units: bigint }>[];
  /** Entries that do not add up to zero. */
  unbalanced: readonly string[];
  /** Where the journal and the facts (transfers, payouts, attempts) do not say the same. */
  differences: readonly Difference[];
  /** Sessions of which more was promised or paid back than they brought. */
  overdrawn: readonly Readonly<{ sessionId: string; network: NetworkKey; asset: Asset; units: bigint }>[];
}>;

/**
 * Commands that move a payout on name its generation, and answer false, having changed nothing, when it is no longer open in that one: a merchant
 * has taken it back, or an operator has acted.
 */
export interface MoneyOutDatabase {
  /**
   * The engine's next turn on a network; null when the signer has served a higher one, which means that this database is older than what was
   * signed: it was put back to an earlier state, or another one is in use. Then nothing may be signed before `adopt`.
   * @param servedFence the highest that the signer has served
   */
  nextFence(network: NetworkKey, servedFence: number, nowMs: number): Promise<number | null>;
  reportEngine(network: NetworkKey, reason: EngineReason | null, nowMs: number): Promise<void>;
  listEngines(): Promise<readonly PayoutEngine[]>;

  /** Plans payouts, all or none. One that is there already, with the same intent, stays as it is. */
  planPayouts(payouts: readonly NewPayout[]): Promise<void>;
  /** Takes a payout back; false once an attempt of it is allotted, it has ended, or the database must first adopt what was signed. */
  cancelPayout(id: string, nowMs: number): Promise<boolean>;
  findPayout(id: string): Promise<Payout | null>;
  listPayouts(filter: PayoutFilter): Promise<readonly Payout[]>;
  /** Every attempt there ever was, in order. */
  listPayoutAttempts(payoutId: string): Promise<readonly Attempt[]>;
  /**
   * What an engine is to look at: what was sent, longest untouched first, and then what waits and is due. A payout that another one makes
   * possible comes only when that one has ended.
   */
  openPayouts(network: NetworkKey, nowMs: number, limit: number): Promise<readonly OpenPayout[]>;

  /**
   * The number that the wallet's next attempt must use.
   * @param finalNonce the first number that is free at finality, by the node. Above our own count, somebody else spends from the wallet: the
   * lane is halted and an alarm raised
   */
  offerNonce(network: NetworkKey, payer: string, finalNonce: number, nowMs: number): Promise<NonceOffer>;
  /**
   * Keeps an attempt and uses up its number; it is signed on these terms and no others. A refund whose payment a reorganisation took back waits
   * instead, with an alarm.
   */
  allotAttempt(
    input: AttemptName & Pick<Attempt, 'payer' | 'payerRole' | 'nonce' | 'terms' | 'feeUnitsMax'> & { nowMs: number },
  ): Promise<AllotOutcome>;
  /** Takes back an attempt that the signer has refused, with its number, and says why the payout waits. */
  withdrawAttempt(
    input: AttemptName & Readonly<{ wait: EngineReason; nextLookAtMs: number; nowMs: number }>,
  ): Promise<boolean>;
  /**
   * Follows the signer's journal: keeps bytes and transaction id of each signature at its attempt. Stops, and keeps nothing of it, at one that
   * was not asked for here.
   * @param signatures entries after `PayoutEngine.journalId`, oldest first
   */
  recordSigned(network: NetworkKey, signatures: readonly JournaledSignature[]): Promise<JournalOutcome>;
  /** Keeps that an attempt was handed to a node, and what that said; a refusal is an alarm when it is new, and what the payout waits for. */
  recordSent(
    input: AttemptName & Readonly<{ answer: string; refusal: EngineReason | null; nowMs: number }>,
  ): Promise<void>;
  /** Keeps what a payout waits for, and raises an alarm when that is new. */
  recordWait(
    input: PayoutName & Readonly<{ wait: EngineReason; nextLookAtMs: number; nowMs: number }>,
  ): Promise<boolean>;
  /** Ends a payout, with everything that follows for its refund and the books. */
  settlePayout(
    input: PayoutName &
      Readonly<{
        outcome: Readonly<{ kind: 'succeeded'; ended: Ended }> | (Readonly<{ kind: 'failed' }> & EngineReason);
        nowMs: number;
      }>,
  ): Promise<boolean>;
  /** Begins the next generation, of which nothing is signed yet. `ended` names the attempt that failed, which has cost its fee. */
  newGeneration(input: PayoutName & Readonly<{ proof: Proof; ended: Ended | null; nowMs: number }>): Promise<boolean>;
  /** Leaves a payout to a person, with an alarm; and halts its wallet, where other payouts of it are in danger too. */
  stickPayout(
    input: PayoutName & Readonly<{ why: EngineReason; ended: Ended | null; haltsPayer: string | null; nowMs: number }>,
  ): Promise<boolean>;

  /**
   * The operator's word that a stuck payout goes on: it is looked at again, or, `anew`, signed in a new generation.
   * @returns false when there is no such payout that is stuck
   */
  resumePayout(id: string, anew: boolean, nowMs: number): Promise<boolean>;
  /**
   * The operator's word that a halted wallet goes on, from the number that is free at finality or our own, whichever is higher.
   * @returns false when it is not halted
   */
  resumeLane(network: NetworkKey, payer: string, finalNonce: number): Promise<boolean>;
  haltedLanes(): Promise<readonly HaltedLane[]>;
  /**
   * Brings this database up to what the signer has signed: adds the attempts it lacks, forgets those that were never signed, and lifts the
   * fence above the highest that was served. `signatures` are the whole journal of the network.
   * @returns how many attempts were added
   */
  adopt(
    network: NetworkKey,
    input: Readonly<{ signatures: readonly Adoption[]; servedFence: number; nowMs: number }>,
  ): Promise<number>;

  recordHolding(holding: WalletBalance): Promise<void>;
  listBalances(): Promise<readonly WalletBalance[]>;
  payoutStats(): Promise<PayoutStats>;
  /** Open refunds that were due before this moment, and that no engine gave a reason for, by network. */
  overdueRefunds(dueBeforeMs: number): Promise<readonly OverdueRefunds[]>;
  /** Adds up the whole journal and compares it with the facts; takes time with the number of payments. */
  verifyLedger(): Promise<LedgerReport>;
}
