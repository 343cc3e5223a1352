/**
 * How payouts end, or begin their next generation: as the engine has seen it, or on an operator's command and as the
 * nodes show it.
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
import { outgoingTransfers, payoutAttempts } from '../tables.ts';
import { freezeByProgram } from './holds.ts';
import { noFault, noWait, type PayoutName, type PayoutRow, payoutStepsOf } from './payouts.ts';
import { type EqualTransfer, outgoingRowsOf } from './wallets.ts';

/**
 * How an operator ended a payout.
 * - `paid`: by an attempt of `generation`, or, if it is `learned`, by one that is not known here.
 * - `never`: nothing paid it. `ended` is the attempt that failed and cost its fee. It fails, and its amount is free; or
 *   it `isRenewed`, in the next generation if `proof` says how this one ended.
 *   `others`: acknowledged transfers that equal it, and that were another payment, as a person says.
 * - `look`: it was stuck, and the engine looks at it again.
 */
export type PayoutConclusion =
  | (Paid & Readonly<{ learned: Pick<Attempt, 'payer' | 'payerRole'> | null }>)
  | Never
  | Extract<Exit, { kind: 'look' }>;
type Paid = Extract<Exit, { kind: 'paid' }>;
type Never = Extract<Exit, { kind: 'never' }> & Readonly<{ isRenewed: boolean; others: readonly number[] }>;

/** A final transaction that paid a payout or failed to, and of which this database has no attempt. */
type Learned = Ended & Pick<Attempt, 'payer' | 'payerRole'>;

/** Updates what a session holds after a return changed that only the signer's journal knew. */
export async function followLost(db: SealedDb, { intent, sessionId }: PayoutRow, nowMs: number): Promise<void> {
  if (intent.kind !== 'return' || sessionId !== null) return;
  const session = await findSession(db, intent.session.id);
  if (session) await transitionsOf(db).followReturn(session, nowMs);
}

/** The attempt of a transaction that only the chain has shown. The signer's attempts begin with 0. */
const LEARNED_ATTEMPT = -1;

// To be called within a transaction.

/** Saves what a final attempt cost, with the attempt and in the ledger, only once. */
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
  // After a restore, and while payouts are frozen, a sweep may be found paid that was never sent from here.
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

/** An operator has said before that this transaction was something else. */
async function takeBack(db: SealedDb, { network, intent }: PayoutRow, { tx }: Learned, nowMs: number): Promise<void> {
  if (!isPayback(intent)) return;
  const { to: toKey, units } = intent;
  const known = await findRow(db, outgoingTransfers, { network, tx, state: 'known', toKey, units });
  const back = known ? [{ asset: known.currency, units }] : [];
  await ledgerOf(db).adjust(network, back, `transaction ${tx} paid ${intent.id}`, nowMs, true);
}

/**
 * Settles a payout none of whose known attempts can take effect, with one that is learned from the chain: a
 * database that was restored from a backup does not know its newest ones.
 */
async function succeedLearned(db: SealedDb, row: PayoutRow, learned: Learned, nowMs: number): Promise<void> {
  await takeBack(db, row, learned, nowMs);
  // The fence and the settled payout keep an attempt that was never signed from being signed later.
  const unsigned = 'DELETE FROM payout_attempts WHERE payout_id = :id AND generation = :generation AND tx IS NULL';
  await db.client.prepare(unsigned).run({ id: row.id, generation: row.generation });
  await insertLearned(db, row, learned, nowMs);
  await succeed(db, row, learned, nowMs);
}

/** Fails a payout. A payout that may have been paid waits instead: its amount, once freed, could be paid again. */
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
     * Ends a payout, with everything that follows for its refund and the ledger. A refund that would fail waits instead
     * while it may have been paid by what is not known here: its amount is not freed.
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
     * Begins the next generation, with nothing signed yet, or stuck until an operator resumes it. `ended` is the
     * attempt that failed and cost its fee, `why` what it waits for.
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
    /** Marks a payout as stuck, with an alarm. `freezes`: its network, too, because other payouts are in danger. */
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
     * Ends a payout, or begins its next generation, on an operator's command and as the nodes show it
     * (`core/payout-exit.ts`).
     * @param input.seen what the payout was when the nodes were asked
     * @returns false, with nothing changed, if it is not that any more, or if something unexplained may have paid it
     */
    async conclude({
      id,
      seen,
      conclusion,
      act,
      nowMs,
    }: Readonly<{
      id: string;
      seen: Readonly<{ state: PayoutState; generation: number; attemptCount: number }>;
      conclusion: PayoutConclusion;
      act: OperatorAct;
      nowMs: number;
    }>): Promise<boolean> {
      return write(async () => {
        await lockNetworkOf(db, id);
        const row = await steps.find(id);
        const isSeen = row?.state === seen.state && row.generation === seen.generation;
        if (!row || !isSeen || (await steps.everyAttempt(id)).length !== seen.attemptCount) return false;
        if (!(await carryOut(db, row, conclusion, nowMs))) return false;
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

/** A refund that has ended here stays ended: what was paid for it is paid out of `unclaimed`. */
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
    // One attempt of a generation has a cost in the books.
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
    await outgoingRowsOf(db).dismiss(row.id, others);
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
