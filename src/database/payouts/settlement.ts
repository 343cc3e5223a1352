/**
 * How payouts end: with an attempt of theirs, with one that is learned from the chain, or without any.
 */
import { and, eq, isNull, sql } from 'drizzle-orm';
import { invariant } from '../../core/fault.ts';
import { isPayback } from '../../core/intent.ts';
import { feeEntry, payoutEntry } from '../../core/ledger.ts';
import { type Ended, nextLookAtMs } from '../../core/payout.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse, laterValues, preparedInsert } from '../engine/prepared.ts';
import type { Ledger } from '../ledger.ts';
import { outgoingTransfers, payoutAttempts } from '../tables.ts';
import {
  type FollowLost,
  type FollowRefund,
  type Learned,
  noFault,
  noWait,
  type PayoutSettlement,
  type Payouts,
} from './payouts.ts';
import { holdRefund } from './refund-holds.ts';
import type { PayoutRow } from './rows.ts';
import { LEARNED } from './rows.ts';

type Parts = Readonly<{
  steps: Payouts;
  ledger: Ledger;
  followRefund: FollowRefund;
  followLost: FollowLost;
}>;

export function createPayoutSettlement(db: Db, { steps, ledger, followRefund, followLost }: Parts): PayoutSettlement {
  const { orm } = db;
  const setFee = atFirstUse(
    orm
      .update(payoutAttempts)
      .set(laterValues(payoutAttempts, ['feeUnits']))
      .where(eq(payoutAttempts.tx, sql.placeholder('tx'))),
  );
  const insertAttempt = preparedInsert(db, payoutAttempts);
  const { network, tx, state } = outgoingTransfers;
  const isNamed = and(eq(network, sql.placeholder('network')), eq(tx, sql.placeholder('tx')));
  const knownTransfers = atFirstUse(
    orm
      .select()
      .from(outgoingTransfers)
      .where(and(isNamed, sql`${state} = 'known'`)),
  );
  function charge(row: PayoutRow, { tx, feeUnits }: Ended, nowMs: number): void {
    const attempt = steps.attempts(row).find((one) => one.tx === tx);
    invariant(attempt, `${tx} is an attempt of payout ${row.id}, generation ${row.generation}`);
    if (attempt.feeUnits !== null) return;
    setFee.run({ tx, feeUnits });
    ledger.post(feeEntry(row.id, row.network, attempt.payerRole, feeUnits, row.generation), nowMs);
  }

  function succeed(row: PayoutRow, ended: Ended, nowMs: number): void {
    const { tx, feeUnits } = ended;
    charge(row, ended, nowMs);
    // After a restore, and while payouts are frozen, a sweep may be found paid that was never sent from here.
    ledger.transit(row.intent, true, nowMs);
    ledger.post(payoutEntry(row.intent, row.sessionId, 'succeeded', 0), nowMs);
    steps.change(row, { state: 'succeeded', ...noWait, tx, feeUnits, settledAtMs: nowMs }, nowMs);
    if (row.sessionId !== null) followRefund(row.id, { kind: 'completed', tx }, nowMs);
  }

  /** Deletes an attempt that was never signed: the fence and the settled payout keep it from being signed later. */
  function deleteUnsigned({ id, generation }: PayoutRow): void {
    const { payoutId, generation: of, tx } = payoutAttempts;
    orm
      .delete(payoutAttempts)
      .where(and(eq(payoutId, id), eq(of, generation), isNull(tx)))
      .run();
  }

  /** Saves a learned attempt in the generation of the row. */
  function insertLearned(row: PayoutRow, { tx, feeUnits, payer, payerRole }: Learned, nowMs: number): void {
    const { id: payoutId, generation, network } = row;
    const attempt = (steps.attempts(row).at(-1)?.attempt ?? -1) + 1;
    const times = { allottedAtMs: nowMs, signedAtMs: nowMs, sentAtMs: nowMs };
    const sent = {
      tx,
      bytes: Buffer.alloc(0),
      ...times,
      answerCode: LEARNED,
      answer: 'learned from the chain',
      feeUnits: null,
    };
    const name = { payoutId, generation, attempt, network };
    insertAttempt({ ...name, payer, payerRole, nonce: null, terms: {}, feeUnitsMax: feeUnits, ...sent });
  }

  /** An operator has said before that this transaction was something else. */
  function takeBack({ network, intent }: PayoutRow, { tx }: Learned, nowMs: number): void {
    if (!isPayback(intent)) return;
    const known = knownTransfers
      .all({ network, tx })
      .filter(({ toKey, units }) => toKey === intent.to && units === intent.units);
    const moved = known.slice(0, 1).map(({ currency, units }) => ({ asset: currency, units }));
    ledger.adjust(network, moved, `transaction ${tx} paid ${intent.id}`, nowMs, true);
  }

  return {
    charge,
    succeed,
    succeedLearned(row, learned, nowMs) {
      takeBack(row, learned, nowMs);
      deleteUnsigned(row);
      insertLearned(row, learned, nowMs);
      succeed(row, learned, nowMs);
    },
    fail(row, why, nowMs) {
      invariant(row.state === 'waiting', `payout ${row.id} fails while none of its attempts can be on the chain`);
      const { code: waitCode, message: waitMessage } = why;
      const hold = steps.unexplainedHold(row);
      if (hold) {
        const message = `${hold.message}. It cannot be paid now: ${waitMessage}`;
        return holdRefund(steps, row, { ...hold, message }, nowMs);
      }
      if (isPayback(row.intent) && steps.doubtOf(row) !== null)
        return steps.waitFor(row, why, { notBeforeMs: Math.round(nextLookAtMs(row, nowMs)) }, nowMs);
      const failed = steps.change(
        row,
        { state: 'failed', waitCode, waitMessage, ...noFault, settledAtMs: nowMs },
        nowMs,
      );
      steps.report(row, why, nowMs);
      followLost(failed, nowMs);
      if (row.sessionId !== null) followRefund(row.id, { kind: 'failed', reason: waitCode }, nowMs);
    },
  };
}
