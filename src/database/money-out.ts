/**
 * The part of the port for payouts: intents, attempts, the wallets' sequence numbers, and the ledger. Each command is
 * one whole transaction, synced to disk when it returns. `core/payout.ts` decides what to do next.
 */

import type { HotRole, Intent, Wallet } from '../core/intent.ts';
import type { Asset, Difference } from '../core/ledger.ts';
import type { Attempt, Ended, Payout, PayoutState, PayoutWait, Proof } from '../core/payout.ts';
import type { Exit } from '../core/payout-exit.ts';
import type { NetworkKey } from '../core/transfer.ts';
import type { OperatorAct } from './audit-log.ts';
import type { SeenSignerFreeze } from './column-values.ts';
import type { EqualTransfer } from './outgoing.ts';

/** A payout to make. A refund's payout has the refund's id. */
export type NewPayout = Readonly<{
  intent: Intent;
  /** Of a refund: the session whose money is given back. */
  sessionId: string | null;
  /** The payout that this one makes possible. */
  servesId: string | null;
  notBeforeMs: number;
  nowMs: number;
}>;

/** An open payout with the attempts of its current generation in order, and the approvals of a refund. */
export type OpenPayout = Readonly<{
  payout: Payout;
  attempts: readonly Attempt[];
  approvals: readonly Readonly<{ approver: string; untilS: number; signature: string }>[];
}>;

export type PayoutName = Readonly<{ id: string; generation: number }>;
export type AttemptName = PayoutName & Readonly<{ attempt: number }>;

/** A wallet of which a node has counted more transactions than are known here, through `counted - 1`. */
export type ForeignNonces = Readonly<{ payer: string; nextNonce: number; counted: number }>;

/** The next nonce of a wallet, or why there is none. */
export type NonceOffer =
  | Readonly<{ kind: 'free'; nonce: number }>
  /** As many are open as a node accepts, the newest is not signed yet, or the network has just been frozen. */
  | Readonly<{ kind: 'busy' }>
  /** Nothing is known of the wallet, and the node has no final state that tells where it begins. */
  | Readonly<{ kind: 'unsettled' }>;

/**
 * `moved`: the payout changed, its number is taken, the payment that it refunds is gone, or money out is frozen; look
 * again.
 */
export type AllotOutcome = Readonly<{ kind: 'allotted'; attempt: Attempt }> | Readonly<{ kind: 'moved' }>;

/** A signature in the signer's journal. */
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

/** Whether this database and the signer's journal agree. `stray`: no attempt here was allotted on those terms. */
export type JournalOutcome =
  | Readonly<{ kind: 'recorded' }>
  | Readonly<{ kind: 'stray'; signature: JournaledSignature }>;

/** A journaled signature with the wallet that pays its fee. */
export type Adoption = JournaledSignature & Readonly<{ payer: string; payerRole: Wallet['role'] }>;

/** A network's journal, or a part of it. */
export type JournalPart = Readonly<{
  signatures: readonly Adoption[];
  /** True for every part but the first. */
  isContinued?: true;
  /** The highest fence that the signer has served, with the last part; null if another one follows. */
  servedFence: number | null;
  nowMs: number;
}>;

/**
 * How an operator ended a payout.
 * - `paid`: by an attempt of `generation`, or, if it is `learned`, by one that is not known here.
 * - `never`: nothing paid it. `ended` is the attempt that failed and cost its fee. It fails, and its amount is free; or
 *   it `isRenewed`, in the next generation if `proof` says how this one ended.
 *   `despite`: an acknowledged transfer equals it, and a person says that it was not this one.
 * - `look`: it was stuck, and the engine looks at it again.
 */
export type PayoutConclusion =
  | (Extract<Exit, { kind: 'paid' }> & Readonly<{ learned: Pick<Attempt, 'payer' | 'payerRole'> | null }>)
  | (Extract<Exit, { kind: 'never' }> & Readonly<{ isRenewed: boolean; despite?: EqualTransfer | null }>)
  | Extract<Exit, { kind: 'look' }>;

/** Why a network's engine does nothing. */
export type EngineReason = Readonly<{ code: string; message: string }>;

/** The payout engine of a network. */
export type PayoutEngine = Readonly<{
  network: NetworkKey;
  fence: number;
  journalId: number;
  reason: EngineReason | null;
  /** As the engine has last seen it; null if there is none, or it could not be asked yet. */
  signerFreeze: SeenSignerFreeze | null;
  /** When it left its last heartbeat; null: never. */
  beatAtMs: number | null;
  /** Until when it settles in, by the chain's time. 0: not known yet; null: it has. */
  settlingUntilMs: number | null;
  updatedAtMs: number;
}>;

/**
 * What a wallet of the signer holds, in base units; `low` lists the assets that it needs more of. `isFormer`: it paid
 * before another one of its role.
 */
export type WalletBalance = Readonly<{
  network: NetworkKey;
  role: HotRole;
  key: string;
  isFormer?: boolean | undefined;
  units: Readonly<Partial<Record<Asset, bigint>>>;
  low: readonly Asset[];
  readAtMs: number;
}>;

export type PayoutFilter = Readonly<{
  network?: NetworkKey;
  state?: PayoutState;
  kind?: Intent['kind'];
  /** Only those that are older than this one. */
  before?: Pick<Payout, 'id' | 'createdAtMs'>;
  limit: number;
}>;

/** How many payouts of each kind are in each state, and what they wait for. */
export type PayoutStats = Readonly<{
  counts: readonly Readonly<{ kind: Intent['kind']; state: PayoutState; count: number }>[];
  /** Open payouts by network and reason; `code` is null for those that wait for nothing. */
  waiting: readonly Readonly<{ network: NetworkKey; code: string | null; count: number; oldestAtMs: number }>[];
}>;

/** Open payouts of a network that a fault keeps from advancing. */
export type PayoutFaults = EngineReason & Readonly<{ network: NetworkKey; count: number }>;

/** Refunds of a network that are due, and for which no reason to wait is known. */
export type OverdueRefunds = Readonly<{ network: NetworkKey; count: number; oldestDueMs: number }>;

/** The ledger's balances and everything that is wrong in it: the three lists are empty in a sound one. */
export type LedgerReport = Readonly<{
  entries: number;
  balances: readonly Readonly<{ network: NetworkKey; asset: Asset; account: string; units: bigint }>[];
  /** Entries that do not add up to zero. */
  unbalanced: readonly string[];
  /** Where the ledger and the facts (transfers, payouts, attempts) disagree. */
  differences: readonly Difference[];
  /** Sessions of which more was promised or paid back than they received. */
  overdrawn: readonly Readonly<{ sessionId: string; network: NetworkKey; asset: Asset; units: bigint }>[];
  /** Running sums that differ from what they add up: of sessions, held money, and days. */
  sums: readonly string[];
}>;

/** A check of the ledger: how many entries were added up, and what is wrong, in words. */
type BooksCheck = Readonly<{ entries: number; problems: readonly string[] }>;

/** Says what a check of the ledger has found, such as "120 entries add up and match the facts". */
export const booksText = ({ entries, problems }: BooksCheck): string =>
  problems.length === 0
    ? `${entries} entries add up and match the facts`
    : `${entries} entries do NOT add up: ${problems.length} problems`;

/** Returns what is wrong in the ledger, in words; nothing if it is sound. */
export const ledgerProblems = ({ unbalanced, differences, overdrawn, sums }: LedgerReport): string[] => [
  ...unbalanced.map((what) => `unbalanced: ${what}`),
  ...differences.map(({ place, journal, facts }) => `${place}: the ledger has ${journal}, the facts say ${facts}`),
  ...overdrawn.map(
    ({ sessionId, network, asset, units }) =>
      `session ${sessionId}: refunds exceed what it received by ${units} units of ${asset} on ${network}`,
  ),
  ...sums,
];

/**
 * Commands that advance a payout name its generation. They return false, and change nothing, when the payout is no
 * longer open in that generation: a merchant canceled it, or an operator acted.
 */
export interface MoneyOutDatabase {
  /**
   * Returns the engine's next fence on a network; null when the signer has served a higher one. Then this database was
   * restored from a backup, or another one is in use, and nothing may be signed before `adopt`.
   * @param servedFence the highest fence that the signer has served
   */
  nextFence(network: NetworkKey, servedFence: number, nowMs: number): Promise<number | null>;
  reportEngine(network: NetworkKey, reason: EngineReason | null, nowMs: number): Promise<void>;
  /**
   * Saves the heartbeat of a network's engine. If the last one is older than two minutes, the network settles in from
   * now on: nothing is signed, canceled, rejected or ended as never paid.
   * @returns `PayoutEngine.settlingUntilMs`
   */
  beatEngine(network: NetworkKey, nowMs: number): Promise<number | null>;
  /** Saves until when a network settles in, by the chain's time; null: it has. */
  settleEngine(network: NetworkKey, untilMs: number | null, nowMs: number): Promise<void>;
  /** Records whether a network's engine sees the signer frozen. */
  reportSignerFreeze(network: NetworkKey, freeze: SeenSignerFreeze | null, nowMs: number): Promise<void>;
  listEngines(): Promise<readonly PayoutEngine[]>;

  /** Plans payouts, all or none. An existing one with the same intent stays as it is. */
  planPayouts(payouts: readonly NewPayout[]): Promise<void>;
  /** Cancels a payout; false once an attempt is allotted, it has ended, or the database must adopt signatures first. */
  cancelPayout(id: string, nowMs: number): Promise<boolean>;
  /**
   * Returns why a payout may have been paid by what is not known here, so that it is neither canceled nor rejected, nor
   * ended as never paid; null if that is excluded, or if a single transfer is the reason.
   */
  payoutDoubt(id: string): Promise<EngineReason | null>;
  findPayout(id: string): Promise<Payout | null>;
  listPayouts(filter: PayoutFilter): Promise<readonly Payout[]>;
  /** Returns every attempt ever made, in order. */
  listPayoutAttempts(payoutId: string): Promise<readonly Attempt[]>;
  /**
   * Returns what an engine should look at: first what was sent, longest untouched first, then what waits and is due. A
   * payout that depends on another is listed only once that one has ended.
   */
  openPayouts(network: NetworkKey, nowMs: number, limit: number): Promise<readonly OpenPayout[]>;

  /**
   * Returns the nonce of the wallet's next attempt. If a node counts more transactions than are known here, somebody
   * else spends from the wallet, or this database is older than the chain: money out is frozen, with an alarm.
   * @param seen the node's counts; `final` is null if it no longer has the final state
   */
  offerNonce(
    network: NetworkKey,
    payer: string,
    seen: Readonly<{ final: number | null; head: number; pending: number }>,
    nowMs: number,
  ): Promise<NonceOffer>;
  /** Returns the wallets of a network with transactions that are not known here. */
  listForeignNonces(network: NetworkKey): Promise<readonly ForeignNonces[]>;
  /** Makes a wallet go on from this nonce, or its own if that is higher: an operator knows those before it. */
  passNonces(network: NetworkKey, payer: string, nextNonce: number): Promise<void>;
  /**
   * Saves an attempt and uses up its number; it is signed for this intent, on these terms, and no others. A refund
   * waits instead while its payment is not final, and, with an alarm, if a reorg took the payment back.
   */
  allotAttempt(
    input: AttemptName &
      Pick<Attempt, 'payer' | 'payerRole' | 'nonce' | 'terms' | 'feeUnitsMax'> &
      Readonly<{ intent: Intent; nowMs: number }>,
  ): Promise<AllotOutcome>;
  /** Takes back an attempt that the signer refused, with its number, and saves why the payout waits. */
  withdrawAttempt(
    input: AttemptName & Readonly<{ wait: PayoutWait; nextLookAtMs: number; nowMs: number }>,
  ): Promise<boolean>;
  /**
   * Follows the signer's journal: saves the bytes and transaction id of each signature with its attempt. Stops at a
   * signature that this database did not ask for, and saves nothing of it.
   * @param signatures entries after `PayoutEngine.journalId`, oldest first
   */
  recordSigned(network: NetworkKey, signatures: readonly JournaledSignature[]): Promise<JournalOutcome>;
  /** Saves that an attempt was sent, and the node's answer. A new refusal becomes the reason to wait, with an alarm. */
  recordSent(
    input: AttemptName & Readonly<{ answerCode: string; answer: string; refusal: EngineReason | null; nowMs: number }>,
  ): Promise<void>;
  /** Saves what a payout waits for, and raises an alarm if that is new and may need a person; null: nothing. */
  recordWait(
    input: PayoutName & Readonly<{ wait: PayoutWait | null; nextLookAtMs: number; nowMs: number }>,
  ): Promise<boolean>;
  /**
   * Saves the fault that keeps the engine from advancing a payout now; null: nothing does any more. It changes neither
   * what the payout waits for nor when it is due. Whatever advances or ends the payout removes it.
   */
  recordFault(input: PayoutName & Readonly<{ fault: EngineReason | null; nowMs: number }>): Promise<boolean>;
  /**
   * Ends a payout, with everything that follows for its refund and the ledger. A refund that would fail waits instead
   * while it may have been paid by what is not known here: its amount is not freed.
   */
  settlePayout(
    input: PayoutName &
      Readonly<{
        outcome: Readonly<{ kind: 'succeeded'; ended: Ended }> | (Readonly<{ kind: 'failed' }> & EngineReason);
        nowMs: number;
      }>,
  ): Promise<boolean>;
  /**
   * Begins the next generation, with nothing signed yet, or stuck until an operator resumes it. `ended` is the attempt
   * that failed and cost its fee, `why` what it waits for.
   */
  newGeneration(
    input: PayoutName &
      Readonly<{
        proof: Proof;
        ended: Ended | null;
        notBeforeMs: number;
        isStuck: boolean;
        why: EngineReason | null;
        nowMs: number;
      }>,
  ): Promise<boolean>;
  /** Marks a payout as stuck, with an alarm. `freezes`: its network, too, because other payouts are in danger. */
  stickPayout(input: PayoutName & Readonly<{ why: EngineReason; freezes: boolean; nowMs: number }>): Promise<boolean>;

  /** Returns the payout that has an attempt with this transaction. */
  findAttemptOwner(tx: string): Promise<string | null>;
  /**
   * Ends a payout, or begins its next generation, on an operator's command and as the nodes show it
   * (`core/payout-exit.ts`).
   * @param input.seen what the payout was when the nodes were asked
   * @returns false, with nothing changed, if it is not that any more, or if something unexplained may have paid it
   */
  concludePayout(
    input: Readonly<{
      id: string;
      seen: Readonly<{ state: PayoutState; generation: number; attemptCount: number }>;
      conclusion: PayoutConclusion;
      act: OperatorAct;
      nowMs: number;
    }>,
  ): Promise<boolean>;
  /**
   * Brings this database up to date with a part of the signer's journal, in the journal's order: adds the attempts it
   * lacks. The first part deletes what was allotted and never signed. The last one raises the fence above the highest
   * served one, and only then may the engine sign again. After an interruption, start again with the first part.
   * @returns how many attempts were added
   */
  adopt(network: NetworkKey, input: JournalPart): Promise<number>;

  /** Saves what a wallet holds. Where another one of its role paid before, that is a former one from then on. */
  recordBalance(balance: WalletBalance): Promise<void>;
  listBalances(): Promise<readonly WalletBalance[]>;
  payoutStats(): Promise<PayoutStats>;
  /** Returns open refunds, by network, that were due before this time and for which no engine gave a reason. */
  overdueRefunds(dueBeforeMs: number): Promise<readonly OverdueRefunds[]>;
  /** Returns, for each network with open payouts that a fault keeps from advancing, how many, and one such fault. */
  payoutFaults(): Promise<readonly PayoutFaults[]>;
  /** Adds up the whole ledger and compares it with the facts. The time grows with the number of payments. */
  verifyLedger(): Promise<LedgerReport>;
}
