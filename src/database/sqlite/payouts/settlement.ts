/**
 * How payouts end: with an attempt of theirs, with one that is learned from the chain, or without any.
 */
import { and, eq, isNull, ne, sql } from 'drizzle-orm';
import { invariant } from '../../../core/fault.ts';
import { isPayback } from '../../../core/intent.ts';
import { feeEntry, payoutEntry } from '../../../core/ledger.ts';
import { type Ended, nextLookAtMs } from '../../../core/payout.ts';
import type { NetworkKey } from '../../../core/transfer.ts';
import type { RaiseAlarm } from '../alarms.ts';
import type { Ledger } from '../ledger.ts';
import type { Db } from '../open.ts';
import { atFirstUse, laterValues, preparedInsert } from '../prepared.ts';
import { lanes, payoutAttempts, payouts } from '../tables.ts';
import { NONCE_FOREIGN, type NumberFreeze } from './freezes.ts';
import {
  alarmOf,
  type FollowLost,
  type FollowRefund,
  type Learned,
  noFault,
  noWait,
  type PayoutSettlement,
  type Payouts,
  unhalted,
} from './payouts.ts';
import { holdRefund } from './refund-holds.ts';
import type { PayoutRow } from './rows.ts';
import { LEARNED } from './rows.ts';

type Parts = Readonly<{
  steps: Payouts;
  ledger: Ledger;
  raiseAlarm: RaiseAlarm;
  followRefund: FollowRefund;
  followLost: FollowLost;
  numberFreeze: NumberFreeze;
}>;

export function createPayoutSettlement(
  db: Db,
  { steps, ledger, raiseAlarm, followRefund, followLost, numberFreeze }: Parts,
): PayoutSettlement {
  const { orm } = db;
  const setFee = atFirstUse(
    orm
      .update(payoutAttempts)
      .set(laterValues(payoutAttempts, ['feeUnits']))
      .where(eq(payoutAttempts.tx, sql.placeholder('tx'))),
  );
  const insertAttempt = preparedInsert(db, payoutAttempts);
  /** Another payout whose number of this wallet was used by a transaction that is not known here. */
  const stuckOf = atFirstUse(
    orm
      .select({ id: payouts.id })
      .from(payouts)
      .innerJoin(payoutAttempts, eq(payoutAttempts.payoutId, payouts.id))
      .where(
        and(
          eq(payouts.network, sql.placeholder('network')),
          eq(payouts.state, sql`'stuck'`),
          eq(payouts.waitCode, sql`${NONCE_FOREIGN}`),
          eq(payoutAttempts.payer, sql.placeholder('payer')),
          ne(payouts.id, sql.placeholder('id')),
        ),
      )
      .limit(1),
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

  /** Gives out no number that a known attempt has used; what halted the wallet because of them is over. */
  function passNumbers(network: NetworkKey, payer: string, nowMs: number): void {
    const isLane = and(eq(lanes.network, network), eq(lanes.payer, payer));
    const lane = orm.select().from(lanes).where(isLane).get();
    if (!lane) return;
    let nextNonce = lane.nextNonce;
    while (steps.numberedAttempt(network, payer, nextNonce) !== undefined) nextNonce++;
    if (nextNonce === lane.nextNonce) return;
    const halt = lane.haltedCode === NONCE_FOREIGN ? unhalted : {};
    orm
      .update(lanes)
      .set({ nextNonce, ...halt })
      .where(isLane)
      .run();
    numberFreeze.end(network, nowMs);
  }

  /** Lets a wallet go on that was halted because this payout's number was used, where nothing else of it is unclear. */
  function endHalt({ id, network, waitCode }: PayoutRow, payer: string, nowMs: number): void {
    if (waitCode !== NONCE_FOREIGN || stuckOf.get({ network, payer, id })) return;
    const isHalt = and(eq(lanes.haltedCode, NONCE_FOREIGN), eq(lanes.haltedByPayout, id));
    const isLane = and(eq(lanes.network, network), eq(lanes.payer, payer));
    const ended = orm.update(lanes).set(unhalted).where(and(isLane, isHalt)).run();
    if (ended.changes > 0) numberFreeze.end(network, nowMs);
  }

  /**
   * Takes a number that was used from the first attempt which has it here: one that was never signed is deleted, and
   * its payout waits for another number.
   * @returns null if the attempt is signed: it keeps the number, which others cannot use either
   */
  function takeNumber(network: NetworkKey, payer: string, nonce: number | null, nowMs: number): number | null {
    if (nonce === null) return null;
    const { network: of, payer: by, nonce: number, attempt } = payoutAttempts;
    const isFirst = and(eq(of, network), eq(by, payer), eq(number, nonce), eq(attempt, 0));
    const holder = orm.select().from(payoutAttempts).where(isFirst).get();
    if (!holder) return nonce;
    const row = steps.find(holder.payoutId);
    if (holder.tx !== null || !row) return null;
    deleteUnsigned(row);
    steps.change(row, { state: 'waiting', ...noWait, notBeforeMs: nowMs }, nowMs);
    return nonce;
  }

  /** Saves a learned attempt in the generation of the row. */
  function insertLearned(row: PayoutRow, { tx, feeUnits, payer, payerRole, nonce }: Learned, nowMs: number): void {
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
    const free = takeNumber(network, payer, nonce, nowMs);
    insertAttempt({ ...name, payer, payerRole, nonce: free, terms: {}, feeUnitsMax: feeUnits, ...sent });
    if (free !== null) passNumbers(network, payer, nowMs);
  }

  return {
    charge,
    succeed,
    succeedLearned(row, learned, nowMs) {
      deleteUnsigned(row);
      insertLearned(row, learned, nowMs);
      endHalt(row, learned.payer, nowMs);
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
      raiseAlarm(alarmOf(row, why, nowMs));
      followLost(failed, nowMs);
      if (row.sessionId !== null) followRefund(row.id, { kind: 'failed', reason: waitCode }, nowMs);
    },
  };
}
