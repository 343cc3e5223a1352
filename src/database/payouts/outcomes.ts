/**
 * Ends of payouts and beginnings of their next generations. The engine decides them, or an operator's command with
 * proof from the nodes.
 */
import { invariant } from '../../core/fault.ts';
import { isPayback } from '../../core/intent.ts';
import { feeEntry, payoutEntry } from '../../core/ledger.ts';
import type { Attempt, Ended, PayoutState, Step } from '../../core/payout.ts';
import { type Exit, resumed } from '../../core/payout-exit.ts';
import { operatorRejected, paidAfterEnd, type Reason } from '../../core/reasons.ts';
import { type OperatorAct, recordAct } from '../audit-log.ts';
import type { AuditedState } from '../column-values.ts';
import type { Db } from '../engine/open.ts';
import { changeRows, findRow, insertRow } from '../engine/rows.ts';
import { ledgerOf } from '../ledger.ts';
import { lockNetworkOf } from '../networks.ts';
import { settleRefund } from '../refunds/refunds.ts';
import type { SealedDb } from '../sealing.ts';
import { findSession } from '../session.ts';
import { transitionsOf } from '../session-transitions.ts';
import { otherTransfers, outgoingTransfers, payoutAttempts } from '../tables.ts';
import { freezeByProgram } from './holds.ts';
import { noFault, noWait, type PayoutName, type PayoutRow, payoutStepsOf } from './payouts.ts';
import type { EqualTransfer } from './wallets.ts';

/**
 * An operator's conclusion about a payout.
 * - `paid`: an attempt of `generation` paid it, or the `learned` one, which is unknown here.
 * - `never`: nothing paid it. `ended` is the attempt that failed and cost its fee. The payout fails and its amount is
 *   freed, unless it `isRenewed`. It is renewed in the next generation if `proof` says how this one ended. `others`:
 *   equal transfers that a person has declared to be other payments.
 * - `look`: the engine looks again at a payout that was stuck.
 */
export type PayoutConclusion =
  | (Paid & Readonly<{ learned: Pick<Attempt, 'payer' | 'payerRole'> | null }>)
  | Never
  | Extract<Exit, { kind: 'look' }>;
type Paid = Extract<Exit, { kind: 'paid' }>;
type Never = Extract<Exit, { kind: 'never' }> & Readonly<{ isRenewed: boolean; others: readonly number[] }>;

/** A final transaction, unknown to this database, that paid a payout or failed to pay it. */
type Learned = Ended & Pick<Attempt, 'payer' | 'payerRole'>;

/** Updates a session's held money after a change of a return that only the signer's journal knew. */
export async function followLost(db: SealedDb, { intent, sessionId }: PayoutRow, nowMs: number): Promise<void> {
  if (intent.kind !== 'return' || sessionId !== null) return;
  const session = await findSession(db, intent.session.id);
  if (session) await transitionsOf(db).followReturn(session, nowMs);
}

/** The attempt number of a transaction that is known from the chain only. The signer's attempts begin with 0. */
const LEARNED_ATTEMPT = -1;

// Call these within a transaction.

/** Saves the cost of a final attempt with the attempt and in the ledger, only once. */
async function charge(db: SealedDb, row: PayoutRow, { tx, feeUnits }: Ended, nowMs: number): Promise<void> {
  const attempt = (await payoutStepsOf(db).attempts(row)).find((one) => one.tx === tx);
  invariant(attempt, `${tx} is an attempt of payout ${row.id}, generation ${row.generation}`);
  if (attempt.feeUnits !== null) return;
  await changeRows(db, payoutAttempts, { tx }, { feeUnits });
  await ledgerOf(db).post(feeEntry(row.id, row.network, attempt.payerRole, feeUnits, row.generation), nowMs);
}

async function succeed(db: SealedDb, row: PayoutRow, ended: Ended, nowMs: number): Promise<void> {
  const { tx, feeUnits } = ended;
  await charge(db, row, ended, nowMs);
  // After a restore, or during a freeze, a sweep may turn out to be paid that was never sent from here.
  await ledgerOf(db).transit(row.intent, true, nowMs);
  await ledgerOf(db).post(payoutEntry(row.intent, row.sessionId, 'succeeded', 0), nowMs);
  await payoutStepsOf(db).change(row, { state: 'succeeded', ...noWait, tx, feeUnits, settledAtMs: nowMs }, nowMs);
  if (row.sessionId !== null) await settleRefund(db, row.id, { kind: 'completed', tx }, nowMs);
}

/** Saves a learned attempt in the generation of the row. */
async function insertLearned(
  db: SealedDb,
  row: PayoutRow,
  { tx, feeUnits, payer, payerRole }: Learned,
  nowMs: number,
): Promise<void> {
  await insertRow(db, payoutAttempts, {
    payoutId: row.id,
    generation: row.generation,
    attempt: LEARNED_ATTEMPT,
    network: row.network,
    payer,
    payerRole,
    nonce: null,
    terms: {},
    feeUnitsMax: feeUnits,
    feeUnits: null,
    tx,
    bytes: Buffer.alloc(0),
    signedAtMs: nowMs,
    sentAtMs: nowMs,
    answerCode: 'learned',
    answer: 'learned from the chain',
  });
}

/** Takes back an operator's earlier explanation of this transaction. */
async function takeBackExplanation(
  db: SealedDb,
  { network, intent }: PayoutRow,
  { tx }: Learned,
  nowMs: number,
): Promise<void> {
  if (!isPayback(intent)) return;
  const { to: toKey, units } = intent;
  const known = await findRow(db, outgoingTransfers, { network, tx, state: 'known', toKey, units });
  const back = known ? [{ asset: known.currency, units }] : [];
  await ledgerOf(db).adjust(network, back, `transaction ${tx} paid ${intent.id}`, nowMs, true);
}

/**
 * Settles a payout with an attempt that is learned from the chain, because a restored database lacks its newest ones.
 * No known attempt of the payout can take effect.
 */
async function succeedLearned(db: SealedDb, row: PayoutRow, learned: Learned, nowMs: number): Promise<void> {
  await takeBackExplanation(db, row, learned, nowMs);
  // The fence and the payout's state prevent a later signature of an unsigned attempt.
  const unsigned = 'DELETE FROM payout_attempts WHERE payout_id = :id AND generation = :generation AND tx IS NULL';
  await db.client.prepare(unsigned).run({ id: row.id, generation: row.generation });
  await insertLearned(db, row, learned, nowMs);
  await succeed(db, row, learned, nowMs);
}

/** Fails a payout. If it may have been paid, it waits instead, because its freed amount could be paid again. */
async function fail(db: SealedDb, row: PayoutRow, why: Reason, nowMs: number): Promise<void> {
  invariant(row.state === 'waiting', `payout ${row.id} fails while none of its attempts can be on the chain`);
  const { code: waitCode, message: waitMessage } = why;
  const hold = await payoutStepsOf(db).unexplainedHold(row);
  if (hold || (await payoutStepsOf(db).doubtOf(row)) !== null) {
    await payoutStepsOf(db).hold(row, hold ?? why, nowMs);
    return;
  }
  const ended = { state: 'failed', waitCode, waitMessage, ...noFault, settledAtMs: nowMs } as const;
  const failed = await payoutStepsOf(db).change(row, ended, nowMs);
  await payoutStepsOf(db).report(row, why, nowMs);
  await followLost(db, failed, nowMs);
  if (row.sessionId !== null) await settleRefund(db, row.id, { kind: 'failed', reason: waitCode }, nowMs);
}

export function outcomeCommands(db: SealedDb) {
  const { read, write } = db;
  const steps = payoutStepsOf(db);

  return {
    /**
     * Ends a payout, with the consequences for its refund and the ledger. A refund that would fail waits instead, with
     * its amount, while an unknown transaction may have paid it.
     */
    async settle({
      outcome,
      nowMs,
      ...name
    }: PayoutName &
      Readonly<{
        outcome: Readonly<{ kind: 'succeeded'; ended: Ended }> | (Readonly<{ kind: 'failed' }> & Reason);
        nowMs: number;
      }>): Promise<boolean> {
      const settle = async (row: PayoutRow): Promise<void> => {
        if (outcome.kind === 'succeeded') await succeed(db, row, outcome.ended, nowMs);
        else await fail(db, row, outcome, nowMs);
      };
      return write(() => steps.ifOpen(name, settle));
    },
    /**
     * Begins the next generation, waiting for `why`, or stuck until an operator resumes it. `ended` is the attempt that
     * failed and cost its fee.
     */
    async renew({ id, generation, proof, ended, notBeforeMs, isStuck, why, nowMs }: Renewal): Promise<boolean> {
      const renew = async (row: PayoutRow): Promise<void> => {
        if (ended) await charge(db, row, ended, nowMs);
        await ledgerOf(db).transit(row.intent, false, nowMs);
        const state = isStuck ? 'stuck' : 'waiting';
        await steps.waitFor(row, why, { state, generation: generation + 1, proof, ...noFault, notBeforeMs }, nowMs);
      };
      return write(() => steps.ifOpen({ id, generation }, renew));
    },
    /**
     * Marks a payout as stuck, with an alarm. `freezes` also freezes its network, because other payouts are in danger.
     */
    async stick({
      why,
      freezes,
      nowMs,
      ...name
    }: PayoutName & Readonly<{ why: Reason; freezes: boolean; nowMs: number }>): Promise<boolean> {
      const stick = async (row: PayoutRow): Promise<void> => {
        await steps.change(row, { state: 'stuck', waitCode: why.code, waitMessage: why.message, ...noFault }, nowMs);
        if (freezes) await freezeByProgram(db, { network: row.network, code: why.code, reason: why.message, nowMs });
        await steps.report(row, why, nowMs);
      };
      return write(() => steps.ifOpen(name, stick));
    },
    /** Returns the payout that has an attempt with this transaction. */
    async ownerOf(tx: string): Promise<string | null> {
      return read(async () => (await findRow(db, payoutAttempts, { tx }))?.payoutId ?? null);
    },
    /**
     * Ends a payout, or begins its next generation, on an operator's command with proof from the nodes
     * (`core/payout-exit.ts`).
     * @param input.seen the payout's state when the nodes were asked
     * @returns false, with nothing changed, if that state has changed, or if an unexplained transfer may have paid it
     */
    async conclude({
      id,
      seen,
      conclusion,
      act,
    }: Readonly<{
      id: string;
      seen: Readonly<{ state: PayoutState; generation: number; attemptCount: number }>;
      conclusion: PayoutConclusion;
      act: OperatorAct;
    }>): Promise<boolean> {
      return write(async () => {
        await lockNetworkOf(db, id);
        const row = await steps.find(id);
        const isSeen = row?.state === seen.state && row.generation === seen.generation;
        if (!row || !isSeen || (await steps.everyAttempt(id)).length !== seen.attemptCount) return false;
        if (!(await carryOut(db, row, conclusion, act.atMs))) return false;
        await recordAct(db, act, {
          target: id,
          before: audited(row),
          after: audited((await steps.find(id)) ?? row),
        });
        return true;
      });
    },
  };
}

type Renewal = PayoutName & Omit<Extract<Step, { kind: 'renew' }>, 'kind'> & Readonly<{ nowMs: number }>;

const audited = ({ state, generation, tx }: PayoutRow): AuditedState => ({ state, generation, transaction: tx });

// ── Conclusions of an operator ─────────────────────────────────────────────────────────────────────────────────────

/** Returns false, with nothing changed, if the conclusion does not hold here. */
async function carryOut(db: SealedDb, row: PayoutRow, conclusion: PayoutConclusion, nowMs: number): Promise<boolean> {
  const steps = payoutStepsOf(db);
  switch (conclusion.kind) {
    case 'paid':
      await pay(db, row, conclusion, nowMs);
      return true;
    case 'look':
      return lookAgain(db, row, nowMs);
    case 'never':
      if ((await steps.doubtOf(row)) || !(await steps.equalTo(row)).every((one) => isDismissed(one, conclusion)))
        return false;
      await endUnpaid(db, row, conclusion, nowMs);
      return true;
  }
}

/** Reopens a payout for a payment. Its refund stays ended if it has ended, and the payment is booked to `unclaimed`. */
async function reopen(db: Db, row: PayoutRow, nowMs: number): Promise<PayoutRow> {
  if (row.state !== 'failed' && row.state !== 'canceled') return row;
  await payoutStepsOf(db).report(row, paidAfterEnd(row), nowMs);
  return { ...row, sessionId: null };
}

async function pay(
  db: SealedDb,
  row: PayoutRow,
  conclusion: Extract<PayoutConclusion, { kind: 'paid' }>,
  nowMs: number,
): Promise<void> {
  const { tx, feeUnits, learned } = conclusion;
  const reopened = await reopen(db, row, nowMs);
  await ledgerOf(db).transit(row.intent, true, nowMs);
  if (learned) {
    // Only one attempt of a generation can have a cost in the books.
    const hasFailed = (await payoutStepsOf(db).attempts(row)).some((one) => one.feeUnits !== null);
    const next = hasFailed ? ({ generation: row.generation + 1, proof: 'failed' } as const) : {};
    await succeedLearned(db, { ...reopened, ...next }, { ...learned, tx, feeUnits }, nowMs);
  } else {
    const at = conclusion.generation ?? row.generation;
    await succeed(db, { ...reopened, generation: at, proof: at === 0 ? null : row.proof }, { tx, feeUnits }, nowMs);
  }
}

async function endUnpaid(
  db: SealedDb,
  row: PayoutRow,
  { ended, proof, isRenewed, others }: Never,
  nowMs: number,
): Promise<void> {
  const steps = payoutStepsOf(db);
  if (ended) await charge(db, row, ended, nowMs);
  await ledgerOf(db).transit(row.intent, false, nowMs);
  if (isRenewed) {
    const generation = proof === null ? row.generation : row.generation + 1;
    const renewed = { state: 'waiting', generation, proof: proof ?? row.proof, notBeforeMs: nowMs } as const;
    await steps.change(row, { ...renewed, ...noWait }, nowMs);
    // A person has said that these transfers were other payments.
    for (const transferId of others) await insertRow(db, otherTransfers, { payoutId: row.id, transferId });
    return;
  }
  const { code, message } = operatorRejected;
  const why = { waitCode: code, waitMessage: message };
  await steps.change(row, { state: 'failed', ...why, ...noFault, settledAtMs: nowMs }, nowMs);
  if (row.sessionId !== null) await settleRefund(db, row.id, { kind: 'failed', reason: code }, nowMs);
}

const isDismissed = ({ id, state }: EqualTransfer, { others }: Never): boolean =>
  state === 'known' && others.includes(id);

async function lookAgain(db: Db, row: PayoutRow, nowMs: number): Promise<boolean> {
  const steps = payoutStepsOf(db);
  const state = resumed(row.state, (await steps.attempts(row)).length);
  if (state !== null) await steps.change(row, { state, ...noWait, notBeforeMs: nowMs }, nowMs);
  return state !== null;
}
