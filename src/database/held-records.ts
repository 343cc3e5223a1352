/**
 * Held money: its records follow from the sums of sessions, in the transaction that changes them. A new record raises
 * an alarm that lasts until it is settled or gone, and sends an event to the endpoints that opted in.
 */
import { type PaymentEventType, paymentEventBody } from '../core/event.ts';
import {
  type HeldKind,
  heldAlarmCode,
  heldEvents,
  heldKinds,
  heldMoney,
  nextRecord,
  openPar,
} from '../core/held-money.ts';
import { formatUnits, MINOR_DECIMALS, PAR_DECIMALS, parToMinorFloor } from '../core/money.ts';
import type { Life, ReceiptSum } from '../core/session.ts';
import type { Currency, NetworkKey } from '../core/transfer.ts';
import { toSeconds } from '../lib/clock.ts';
import { sortableId } from '../lib/id.ts';
import { alarmKey, type EndAlarm, type RaiseAlarm } from './alarms.ts';
import type { Db } from './engine/open.ts';
import { changeBy, findBy, preparedInsert } from './engine/prepared.ts';
import type { Outbox } from './events.ts';
import { type SessionRow, termsOf } from './session.ts';
import { heldMoney as records } from './tables.ts';

export type HeldRow = typeof records.$inferSelect;

export type HeldReporting = 'alarm' | 'event';

const whatHappened: Readonly<Record<HeldKind, (amount: string) => string>> = {
  late: (amount) => `received ${amount} after its end`,
  short: (amount) => `ended with ${amount}, too little`,
  surplus: (amount) => `received ${amount} more than was due`,
  wrong_token: (amount) => `received ${amount}, a coin that it does not take`,
};

/** Returns an amount as people read it. */
export const amountText = (par: bigint, currency: Currency): string =>
  `${formatUnits(par, PAR_DECIMALS, MINOR_DECIMALS)} ${currency}`;

const keyOf = (heldId: string): string => alarmKey('held', heldId);

/** Returns functions that are called within a transaction. */
export function createHeldRecords(db: Db, raiseAlarm: RaiseAlarm, endAlarm: EndAlarm, outbox: Outbox) {
  const insert = preparedInsert(db, records);
  const ofSession = findBy(db, records, 'sessionId');
  const find = findBy(db, records, 'id');
  const changing = ['state', 'valuePar', 'settledPar', 'currency', 'openedAtMs', 'settledAtMs'] as const;
  const update = changeBy(db, records, changing, 'id');

  async function report(
    row: SessionRow,
    life: Life,
    held: HeldRow,
    cause: NetworkKey | null,
    hasAlarm: boolean,
  ): Promise<void> {
    const [par, atMs] = [openPar(held), held.openedAtMs];
    const type = heldEvents[held.kind];
    if (type) await postEvent(row, life, type, { amountMinor: parToMinorFloor(par), currency: held.currency }, atMs);
    if (!hasAlarm) return;
    await raiseAlarm({
      key: keyOf(held.id),
      atMs,
      code: heldAlarmCode(held.kind),
      message:
        `Order ${row.orderId} (session ${row.id}) ${whatHappened[held.kind](amountText(par, held.currency))}. It counts ` +
        `for nothing: look at it with \`quayside show ${held.id}\` and decide with \`quayside held accept\` or ` +
        '`quayside held return`.',
      network: cause,
      sessionId: row.id,
    });
  }

  async function postEvent(
    row: SessionRow,
    { status }: Life,
    type: PaymentEventType,
    received: Readonly<{ amountMinor: bigint; currency: Currency }>,
    nowMs: number,
  ): Promise<void> {
    const { id: sessionId, mode, orderId, terms } = row;
    const common = {
      type,
      createdAtS: toSeconds(nowMs),
      mode,
      sessionId,
      orderId,
      status,
      sum: received,
      exchangeRate: terms.conversion?.rate ?? null,
    };
    await outbox.post(row, type, nowMs, (id) => paymentEventBody({ id, ...common }));
  }

  return {
    /**
     * Brings a session's records up to date.
     * @param moment `cause`: the network whose block caused this; null for the clock or a person. `reporting`: `alarm`
     * for an alarm, and an event for the merchant; `event` if an operator decides now: what is newly held is known to
     * them, and settled at once
     */
    async follow(
      row: SessionRow,
      { life, sums }: Readonly<{ life: Life; sums: readonly ReceiptSum[] }>,
      moment: Readonly<{ nowMs: number; cause: NetworkKey | null; reporting: HeldReporting }>,
    ): Promise<void> {
      const { nowMs, cause, reporting } = moment;
      const known = await ofSession.all({ sessionId: row.id });
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
        if (before?.state === 'open' && saved.state !== 'open') await endAlarm(keyOf(before.id), nowMs);
        if (before) await update(saved);
        else await insert(saved);
        if (isNew) await report(row, life, held, cause, reporting === 'alarm');
      }
    },
    find: (id: string): Promise<HeldRow | undefined> => find.get({ id }),
    async settle(row: HeldRow, nowMs: number): Promise<void> {
      await update({ ...row, state: 'settled', settledPar: row.valuePar, settledAtMs: nowMs });
      await endAlarm(keyOf(row.id), nowMs);
    },
  };
}

export type HeldRecords = ReturnType<typeof createHeldRecords>;
