/** Changes of a session. New transfers are added to its sums, core decides, and the result is saved with its events. */

import { type PaymentEvent, type PaymentEventType, paymentFacts } from '../core/event.ts';
import {
  accept,
  type HeldKind,
  heldAlarmCode,
  heldEvents,
  heldKinds,
  heldMoney,
  nextRecord,
  openPar,
  withoutReturned,
} from '../core/held-money.ts';
import { formatUnits, MINOR_DECIMALS, PAR_DECIMALS, parToMinorFloor } from '../core/money.ts';
import { isHeld } from '../core/refund.ts';
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
  recount,
  type Standing,
  standing,
} from '../core/session.ts';
import { type Currency, isStablecoin, type NetworkKey } from '../core/transfer.ts';
import { toSeconds } from '../lib/clock.ts';
import { sortableId } from '../lib/id.ts';
import { alarmKey, endAlarm, raiseAlarm } from './alarms.ts';
import type { Db } from './engine/open.ts';
import { changeRows, findRows, insertRow, perDatabase } from './engine/rows.ts';
import { postEvent } from './events.ts';
import { readingOf } from './networks.ts';
import { returnsOf } from './refunds/refund.ts';
import type { SealedDb } from './sealing.ts';
import { dueOf, lifeOf, type SessionRow, standingOf, stateColumnNames, stateOf, termsOf } from './session.ts';
import { heldMoney as records, sessions } from './tables.ts';

type PaymentOf = Pick<PaymentEvent, 'status' | 'sum'>;

/** Saves an event about a session's money, with its deliveries. */
function postPayment(
  db: Db,
  row: SessionRow,
  type: PaymentEventType,
  payment: PaymentOf,
  nowMs: number,
): Promise<void> {
  const { orderId, terms } = row;
  const exchangeRate = terms.conversion?.rate ?? null;
  return postEvent(db, row, type, nowMs, paymentFacts({ ...payment, orderId, exchangeRate }));
}

/** Events that report the amount due, if nothing was received. */
const endsUnpaid: readonly PaymentEventType[] = ['payment.expired', 'payment.cancelled'];

export const transitionsOf = perDatabase((db: SealedDb) => {
  const held = heldRecordsOf(db);

  const momentOf = async (row: SessionRow, nowMs: number): Promise<Moment> => ({
    nowS: toSeconds(nowMs),
    ...(await readingOf(db, row.networks)),
    outageWaitS: db.outageWaitS,
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
    const counting = await countingSums(db, row, kept);
    if (stateColumnNames.every((name) => row[name] === state[name])) return;
    await changeRows(db, sessions, { id: row.id }, state);
    for (const type of changes({ life: lifeOf(row), standing: standingOf(row) }, after)) {
      const got = received(terms, after.life, counting, type);
      const sum = got ? { amountMinor: parToMinorFloor(got.valuePar), currency: got.currency } : null;
      const due = sum === null && endsUnpaid.includes(type) ? dueOf(row) : sum;
      await postPayment(db, row, type, { status: after.life.status, sum: due }, nowMs);
      if (type !== 'payment.reversed') continue;
      await raiseAlarm(db, {
        atMs: nowMs,
        code: 'payment_reversed',
        message:
          `A reorg took back confirmed money of order ${row.orderId} (session ${row.id}), which was paid. Look up its ` +
          'transactions in an explorer before you deliver the goods.',
        network: cause,
        sessionId: row.id,
      });
    }
    // Records of held money follow from the sums. If nothing is held before or after, there is no record to change.
    const isHeld = (life: Life, of: readonly ReceiptSum[]) => heldMoney(terms, life, of).length > 0;
    if (!isHeld(lifeOf(row), row.sums) && !isHeld(after.life, counting)) return;
    await held.follow(row, { life: after.life, sums: counting }, { nowMs, cause, reporting });
  }

  return {
    /**
     * Advances a session as far as its transfers and the clock allow.
     * @param cause the network whose block caused the change; null for the clock
     * @param changed the session's differences from `recount`
     * @returns whether its status changed
     */
    async advance(
      row: SessionRow,
      nowMs: number,
      cause: NetworkKey | null,
      changed: readonly Recount[],
    ): Promise<boolean> {
      const kept = changed.length === 0 ? row.sums : recount(row.sums, changed);
      const after = advance(termsOf(row), lifeOf(row), await countingSums(db, row, kept), await momentOf(row, nowMs));
      await save(row, kept, after, nowMs, cause);
      return after.life.status !== row.status;
    },
    async cancel(row: SessionRow, nowMs: number): Promise<CancelRefusal | null> {
      const kept = row.sums;
      const after = cancel(termsOf(row), lifeOf(row), await countingSums(db, row, kept), await momentOf(row, nowMs));
      await save(row, kept, after, nowMs, null);
      return after.refusal;
    },
    /** Applies an operator's decision about held money. */
    async accept(row: SessionRow, kind: HeldKind, nowMs: number) {
      const [counting, moment] = [await countingSums(db, row, row.sums), await momentOf(row, nowMs)];
      const after = accept(termsOf(row), lifeOf(row), counting, kind, isStablecoin(row.currency), moment);
      await save(row, row.sums, after, nowMs, null, 'event');
      return after;
    },
    /** Updates the counted money after a return of held money began or failed. No event reports that. */
    async followReturn(row: SessionRow, nowMs: number): Promise<void> {
      const [terms, life, kept] = [termsOf(row), lifeOf(row), row.sums];
      const counting = await countingSums(db, row, kept);
      const state = stateOf(terms, life, standing(terms, life, counting), kept);
      await changeRows(db, sessions, { id: row.id }, state);
      await held.follow(row, { life, sums: counting }, { nowMs, cause: null, reporting: 'alarm' });
    },
  };
});

/** Returns the sums by which a session is judged, without returned held money. Call it within a transaction. */
export const countingSums = async (
  db: Db,
  row: Pick<SessionRow, 'id'>,
  sums: readonly ReceiptSum[],
): Promise<readonly ReceiptSum[]> =>
  // A session without money has no returns. Most sessions have none, and are spared the query.
  sums.length === 0 ? sums : withoutReturned(sums, (await returnsOf(db, row.id)).filter(isHeld));

// ── Records of held money ────────────────────────────────────────────────────────────────────────────────────────────
// Records of held money follow from the sums of sessions, and are saved in the same transaction. A new record raises an
// alarm that lasts until it is settled or gone. It also sends an event to the endpoints that opted in.

export type HeldRow = typeof records.$inferSelect;

export type HeldReporting = 'alarm' | 'event';

const whatHappened: Readonly<Record<HeldKind, (amount: string) => string>> = {
  late: (amount) => `received ${amount} after its end`,
  short: (amount) => `ended with ${amount}, too little`,
  surplus: (amount) => `received ${amount} more than was due`,
  wrong_token: (amount) => `received ${amount}, a coin that it does not take`,
};

/** Returns an amount as readable text. */
export const amountText = (par: bigint, currency: Currency): string =>
  `${formatUnits(par, PAR_DECIMALS, MINOR_DECIMALS)} ${currency}`;

const keyOf = (heldId: string): string => alarmKey('held', heldId);

export const heldRecordsOf = perDatabase((db: Db) => {
  async function report(
    row: SessionRow,
    life: Life,
    held: HeldRow,
    cause: NetworkKey | null,
    hasAlarm: boolean,
  ): Promise<void> {
    const [par, atMs] = [openPar(held), held.openedAtMs];
    const type = heldEvents[held.kind];
    const sum = { amountMinor: parToMinorFloor(par), currency: held.currency };
    if (type) await postPayment(db, row, type, { status: life.status, sum }, atMs);
    if (!hasAlarm) return;
    await raiseAlarm(db, {
      key: keyOf(held.id),
      atMs,
      code: heldAlarmCode(held.kind),
      message:
        `Order ${row.orderId} (session ${row.id}) ${whatHappened[held.kind](amountText(par, held.currency))}. It counts ` +
        `for nothing. Look at it with \`quayside show ${held.id}\`, and decide with \`quayside held accept\` or ` +
        '`quayside held return`.',
      network: cause,
      sessionId: row.id,
    });
  }

  return {
    /**
     * Brings a session's records up to date.
     * @param moment `cause`: the network whose block caused the change; null for the clock or a person. `reporting`:
     * `alarm` for an alarm and an event to the merchant. `event` for an event only, while an operator decides, who
     * knows newly held money and settles it at once
     */
    async follow(
      row: SessionRow,
      { life, sums }: Readonly<{ life: Life; sums: readonly ReceiptSum[] }>,
      moment: Readonly<{ nowMs: number; cause: NetworkKey | null; reporting: HeldReporting }>,
    ): Promise<void> {
      const { nowMs, cause, reporting } = moment;
      const known = await findRows(db, records, { sessionId: row.id });
      const amounts = heldMoney(termsOf(row), life, sums);
      for (const kind of heldKinds) {
        const before = known.find((one) => one.kind === kind);
        const amount = amounts.find((one) => one.kind === kind);
        const next = nextRecord(before ?? null, amount?.valuePar ?? 0n);
        if (!next || (before?.state === next.state && before.valuePar === next.valuePar)) continue;
        const isNew = next.state === 'open' && before?.state !== 'open';
        const held: HeldRow = {
          id: before?.id ?? `held_${sortableId(nowMs, row.id + kind)}`,
          sessionId: row.id,
          kind,
          currency: amount?.currency ?? before?.currency ?? 'USDT',
          openedAtMs: isNew ? nowMs : (before?.openedAtMs ?? nowMs),
          settledAtMs: before?.settledAtMs ?? null,
          ...next,
        };
        const saved: HeldRow =
          isNew && reporting === 'event'
            ? { ...held, state: 'settled', settledPar: held.valuePar, settledAtMs: nowMs }
            : held;
        if (before?.state === 'open' && saved.state !== 'open') await endAlarm(db, keyOf(before.id), nowMs);
        if (before) await changeRows(db, records, { id: saved.id }, saved);
        else await insertRow(db, records, saved);
        if (isNew) await report(row, life, held, cause, reporting === 'alarm');
      }
    },
    async settle(row: HeldRow, nowMs: number): Promise<void> {
      const settled = { state: 'settled', settledPar: row.valuePar, settledAtMs: nowMs } as const;
      await changeRows(db, records, { id: row.id }, settled);
      await endAlarm(db, keyOf(row.id), nowMs);
    },
  };
});
