/**
 * How a session changes: add what is new to its sums, let core decide, save the result and its events.
 */
import { sql } from 'drizzle-orm';
import { type PaymentEventType, paymentEventBody } from '../core/event.ts';
import { accept, type HeldKind, heldMoney } from '../core/held-money.ts';
import { parToMinorFloor } from '../core/money.ts';
import {
  advance,
  type CancelRefusal,
  cancel,
  changes,
  type Life,
  type Moment,
  type ReceiptSum,
  type Recount,
  received,
  type Standing,
  standing,
} from '../core/session.ts';
import { isStablecoin, type NetworkKey } from '../core/transfer.ts';
import { toSeconds } from '../lib/clock.ts';
import type { RaiseAlarm } from './alarms.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, changeBy, given } from './engine/prepared.ts';
import type { Outbox } from './events.ts';
import type { HeldRecords, HeldReporting } from './held-records.ts';
import type { NetworkRows } from './networks.ts';
import { dueOf, lifeOf, type SessionRow, standingOf, stateColumnNames, stateOf, termsOf } from './session.ts';
import { type CountingSums, sumsAfter } from './session-sums.ts';
import { sessions } from './tables.ts';

type Parts = Readonly<{
  networks: NetworkRows;
  countingSums: CountingSums;
  outbox: Outbox;
  raiseAlarm: RaiseAlarm;
  heldRecords: HeldRecords;
}>;

/** Events that say what was due where nothing was received. */
const endsUnpaid: readonly PaymentEventType[] = ['payment.expired', 'payment.cancelled'];

/**
 * Returns functions that are called within a transaction.
 * @param outageWaitS how long after a deadline an unread network may hold a session open
 */
export function createSessionTransitions(
  db: Db,
  { networks, countingSums, outbox, raiseAlarm, heldRecords }: Parts,
  outageWaitS: number,
) {
  const update = changeBy(db, sessions, stateColumnNames, 'id');
  const countPayment = atFirstUse(
    db.orm
      .update(sessions)
      .set({ paymentCount: sql`${sessions.paymentCount} + 1` })
      .where(given(sessions, 'id')),
  );

  const momentOf = async (row: SessionRow, nowMs: number): Promise<Moment> => ({
    nowS: toSeconds(nowMs),
    ...(await networks.reading(row.networks)),
    outageWaitS,
  });

  async function save(
    row: SessionRow,
    kept: readonly ReceiptSum[],
    after: Readonly<{ life: Life; standing: Standing }>,
    nowMs: number,
    cause: NetworkKey | null,
    reporting: HeldReporting = 'alarm',
  ): Promise<void> {
    const terms = termsOf(row);
    const state = stateOf(terms, after.life, after.standing, kept);
    const held = await countingSums(row, kept);
    if (stateColumnNames.every((name) => row[name] === state[name])) return;
    await update({ id: row.id, ...state });
    for (const type of changes({ life: lifeOf(row), standing: standingOf(row) }, after)) {
      const sum = received(terms, after.life, held, type);
      await outbox.post(row, type, nowMs, (id) =>
        paymentEventBody({
          id,
          type,
          createdAtS: toSeconds(nowMs),
          mode: row.mode,
          sessionId: row.id,
          orderId: row.orderId,
          status: after.life.status,
          sum: sum
            ? { amountMinor: parToMinorFloor(sum.valuePar), currency: sum.currency }
            : endsUnpaid.includes(type)
              ? dueOf(row)
              : null,
          exchangeRate: row.terms.conversion?.rate ?? null,
        }),
      );
      if (type !== 'payment.reversed') continue;
      await raiseAlarm({
        atMs: nowMs,
        code: 'payment_reversed',
        message:
          `A reorg took back confirmed money of order ${row.orderId} (session ${row.id}), which was paid. Look up its ` +
          'transactions in an explorer before you deliver the goods.',
        network: cause,
        sessionId: row.id,
      });
    }
    // Records follow from the sums: where nothing is held before or after, there is none to change.
    const isHeld = (life: Life, of: readonly ReceiptSum[]) => heldMoney(terms, life, of).length > 0;
    if (!isHeld(lifeOf(row), row.sums) && !isHeld(after.life, held)) return;
    await heldRecords.follow(row, { life: after.life, sums: held }, { nowMs, cause, reporting });
  }

  return {
    /**
     * Advances a session as far as its transfers and the clock allow.
     * @param cause the network whose block caused this; null for the clock
     * @param changed what `recount` found for the session
     * @returns whether its status changed
     */
    async advance(
      row: SessionRow,
      nowMs: number,
      cause: NetworkKey | null,
      changed: readonly Recount[],
    ): Promise<boolean> {
      const kept = sumsAfter(row, changed);
      const after = advance(termsOf(row), lifeOf(row), await countingSums(row, kept), await momentOf(row, nowMs));
      await save(row, kept, after, nowMs, cause);
      return after.life.status !== row.status;
    },
    async cancel(row: SessionRow, nowMs: number): Promise<CancelRefusal | null> {
      const kept = row.sums;
      const after = cancel(termsOf(row), lifeOf(row), await countingSums(row, kept), await momentOf(row, nowMs));
      await save(row, kept, after, nowMs, null);
      return after.refusal;
    },
    /** Applies an operator's decision about held money, or only tells what it would do. */
    async accept(row: SessionRow, kind: HeldKind, nowMs: number, isDryRun: boolean) {
      const kept = row.sums;
      const counting = await countingSums(row, kept);
      const after = accept(
        termsOf(row),
        lifeOf(row),
        counting,
        kind,
        isStablecoin(row.currency),
        await momentOf(row, nowMs),
      );
      if (!isDryRun) await save(row, kept, after, nowMs, null, 'event');
      return after;
    },
    /** Updates what counts, after a return of held money began or failed. No event reports that. */
    async followReturn(row: SessionRow, nowMs: number): Promise<void> {
      const [terms, life, kept] = [termsOf(row), lifeOf(row), row.sums];
      const counting = await countingSums(row, kept);
      await update({ id: row.id, ...stateOf(terms, life, standing(terms, life, counting), kept) });
      await heldRecords.follow(row, { life, sums: counting }, { nowMs, cause: null, reporting: 'alarm' });
    },
    /** Counts a transfer that the session shows. */
    countPayment: async (id: string) => {
      await countPayment.run({ id });
    },
  };
}

export type SessionTransitions = ReturnType<typeof createSessionTransitions>;
