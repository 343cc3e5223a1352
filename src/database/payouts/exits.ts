/**
 * Ends payouts, or begins their next generation, on an operator's command and on evidence from the nodes.
 */
import { count, eq } from 'drizzle-orm';
import { type Intent, isPayback } from '../../core/intent.ts';
import { judgeAnswer, resumed } from '../../core/payout-exit.ts';
import type { RecordAct } from '../audit-log.ts';
import type { AuditedState } from '../column-values.ts';
import type { Db } from '../engine/open.ts';
import type { Ledger } from '../ledger.ts';
import type { MoneyOutDatabase, PayoutConclusion } from '../money-out.ts';
import { payoutAttempts } from '../tables.ts';
import type { Outgoing } from './outgoing.ts';
import { type FollowRefund, noFault, noWait, type PayoutSettlement, type Payouts } from './payouts.ts';
import { EQUALS_TRANSFER, equalTransfer } from './refund-holds.ts';
import type { PayoutRow } from './rows.ts';

type Never = Extract<PayoutConclusion, { kind: 'never' }>;

type Parts = Readonly<{
  steps: Payouts;
  ledger: Ledger;
  settlement: PayoutSettlement;
  outgoing: Pick<Outgoing, 'mayHavePaid'>;
  followRefund: FollowRefund;
  recordAct: RecordAct;
}>;

/** What the merchant sees when a refund is ended without a payment. */
const REJECTED = 'rejected_by_operator';

export function exitCommands(db: Db, parts: Parts): Pick<MoneyOutDatabase, 'findAttemptOwner' | 'concludePayout'> {
  const { steps, ledger, settlement, outgoing, followRefund, recordAct } = parts;
  const { orm } = db;

  const attemptCount = (id: string): number =>
    orm.select({ found: count() }).from(payoutAttempts).where(eq(payoutAttempts.payoutId, id)).get()?.found ?? 0;

  /** A refund that has ended here stays ended: what was paid for it is paid out of `unclaimed`. */
  function reopen(row: PayoutRow, nowMs: number): PayoutRow {
    if (row.state !== 'failed' && row.state !== 'canceled') return row;
    const { id, state } = row;
    const message =
      `it is ${state} here, but the chain shows that it was paid. The refund stays as it is: look at it with ` +
      `\`quayside show ${id}\` and tell the merchant.`;
    steps.report(row, { code: 'payout_paid_after_end', message }, nowMs);
    return { ...row, sessionId: null };
  }

  function pay(row: PayoutRow, conclusion: Extract<PayoutConclusion, { kind: 'paid' }>, nowMs: number): void {
    const { tx, feeUnits, learned } = conclusion;
    const reopened = reopen(row, nowMs);
    ledger.transit(row.intent, true, nowMs);
    if (learned) {
      // One attempt of a generation has a cost in the books.
      const hasFailed = steps.attempts(row).some((one) => one.feeUnits !== null);
      const next = hasFailed ? ({ generation: row.generation + 1, proof: 'failed' } as const) : {};
      settlement.succeedLearned({ ...reopened, ...next }, { ...learned, tx, feeUnits }, nowMs);
    } else {
      const at = conclusion.generation ?? row.generation;
      settlement.succeed({ ...reopened, generation: at, proof: at === 0 ? null : row.proof }, { tx, feeUnits }, nowMs);
    }
  }

  function endUnpaid(row: PayoutRow, conclusion: Never, nowMs: number): void {
    const { ended, proof, isRenewed, despite } = conclusion;
    if (ended) settlement.charge(row, ended, nowMs);
    ledger.transit(row.intent, false, nowMs);
    if (isRenewed) {
      const generation = proof === null ? row.generation : row.generation + 1;
      const renewed = { state: 'waiting', generation, proof: proof ?? row.proof, notBeforeMs: nowMs } as const;
      const notPaidThrough = despite?.id ?? row.notPaidThrough;
      steps.change(row, { ...renewed, ...noWait, notPaidThrough }, nowMs);
      return;
    }
    const why = { waitCode: REJECTED, waitMessage: 'an operator ended it: nothing had paid it, and nothing could' };
    steps.change(row, { state: 'failed', ...why, ...noFault, settledAtMs: nowMs }, nowMs);
    if (row.sessionId !== null) followRefund(row.id, { kind: 'failed', reason: REJECTED }, nowMs);
  }

  /** Returns whether a person has answered for each transfer that equals a payout; a renewed one waits for the next. */
  function isAnswered(row: PayoutRow, { despite, isRenewed }: Never, nowMs: number): boolean {
    const equal = steps.findEqual(row);
    if (!equal) return true;
    const isAsked = row.waitCode === EQUALS_TRANSFER;
    const waitsFor = isAsked ? row.shownTransferId : null;
    const wasAsked = isAsked || row.notPaidThrough !== null;
    const answer = judgeAnswer({ equal: equal.id, agreed: despite?.id ?? null, waitsFor, wasAsked });
    if (answer === 'show') steps.waitFor(row, equalTransfer(row.id, equal), { shownTransferId: equal.id }, nowMs);
    return answer === 'answered' && (isRenewed || !steps.findEqual({ ...row, notPaidThrough: equal.id }));
  }

  function lookAgain(row: PayoutRow, nowMs: number): boolean {
    const state = resumed(row.state, steps.attempts(row).length);
    if (state !== null) steps.change(row, { state, ...noWait, notBeforeMs: nowMs }, nowMs);
    return state !== null;
  }

  function mayHavePaid(intent: Intent): boolean {
    return isPayback(intent) && outgoing.mayHavePaid(intent);
  }

  /** Returns false, with nothing changed, if the conclusion does not hold here. */
  function carryOut(row: PayoutRow, conclusion: PayoutConclusion, nowMs: number): boolean {
    switch (conclusion.kind) {
      case 'paid':
        pay(row, conclusion, nowMs);
        return true;
      case 'look':
        return lookAgain(row, nowMs);
      case 'never':
        if (steps.doubtOf(row) || mayHavePaid(row.intent) || !isAnswered(row, conclusion, nowMs)) return false;
        endUnpaid(row, conclusion, nowMs);
        return true;
    }
  }

  return {
    async findAttemptOwner(tx) {
      const owner = orm.select({ id: payoutAttempts.payoutId }).from(payoutAttempts).where(eq(payoutAttempts.tx, tx));
      return db.read(() => owner.get()?.id ?? null);
    },
    async concludePayout({ id, seen, conclusion, act, nowMs }) {
      return db.write(() => {
        const row = steps.find(id);
        const isSeen = row?.state === seen.state && row.generation === seen.generation;
        if (!row || !isSeen || attemptCount(id) !== seen.attemptCount) return false;
        if (!carryOut(row, conclusion, nowMs)) return false;
        recordAct(act, { target: id, before: audited(row), after: audited(steps.find(id) ?? row) });
        return true;
      });
    },
  };
}

const audited = ({ state, generation, tx }: PayoutRow): AuditedState => ({ state, generation, transaction: tx });
