/**
 * How refunds end: with their payout, by a decision, or because time ran out. Each ending also updates the ledger and
 * sends the merchant an event.
 * @module
 */
import { eq } from 'drizzle-orm';
import { type RefundEventType, refundEventBody } from '../../../core/event.ts';
import { invariant } from '../../../core/fault.ts';
import { refundEntry } from '../../../core/ledger.ts';
import { isCovered, isHeld, type RefundEnd, receiptNumber } from '../../../core/refund.ts';
import { toSeconds } from '../../../lib/clock.ts';
import type { Ledger } from '../ledger.ts';
import type { Db } from '../open.ts';
import type { Outbox } from '../outbox.ts';
import type { FindSessionRow } from '../sessions.ts';
import type { RefundLimits } from './limits.ts';
import type { RefundRow, RefundRows } from './row.ts';
import { receiptNumbers } from './schema.ts';

/** To be called within a transaction. */
export type RefundSettlement = Readonly<{
  /** Ends a refund that is processing. */
  settle(id: string, end: RefundEnd, nowMs: number): void;
  fail(row: RefundRow, reason: string, nowMs: number): void;
  /** Ends a refund and frees its amount. @returns the row with its changes */
  giveBack(row: RefundRow, values: Partial<RefundRow>, nowMs: number): RefundRow;
  postEvent(row: RefundRow, type: RefundEventType, nowMs: number): void;
  /** Returns false for a refund whose session no longer has the money for it and its other refunds. */
  isCovered(id: string): boolean;
}>;

type Parts = Readonly<{
  rows: RefundRows;
  limits: RefundLimits;
  outbox: Outbox;
  ledger: Ledger;
  findSession: FindSessionRow;
}>;

export function createRefundSettlement(db: Db, parts: Parts): RefundSettlement {
  const { rows, limits, outbox, ledger, findSession } = parts;

  function postEvent(row: RefundRow, type: RefundEventType, nowMs: number): void {
    const session = findSession(row.sessionId);
    invariant(session, `refund ${row.id} belongs to a session`);
    outbox.post(session, type, nowMs, (id) =>
      refundEventBody({
        id,
        type,
        createdAtS: toSeconds(nowMs),
        mode: session.mode,
        sessionId: row.sessionId,
        orderId: session.orderId,
        refundId: row.refundId,
        amountMinor: row.amountMinor,
        currency: row.currency,
      }),
    );
  }

  function giveBack(row: RefundRow, values: Partial<RefundRow>, nowMs: number): RefundRow {
    invariant(isHeld(row), `refund ${row.id} holds its amount`);
    const ended = rows.change(row, values);
    limits.countDay(row, -1n);
    ledger.post(refundEntry(ended, 'released'), nowMs);
    return ended;
  }

  function fail(row: RefundRow, reason: string, nowMs: number): void {
    const failed = giveBack(row, { status: 'failed', failureReason: reason, processedAtMs: nowMs }, nowMs);
    postEvent(failed, 'refund.failed', nowMs);
  }

  function complete(row: RefundRow, tx: string, nowMs: number): void {
    const next = db.orm.select().from(receiptNumbers).where(eq(receiptNumbers.storeId, row.storeId)).get()?.next ?? 1;
    db.orm
      .insert(receiptNumbers)
      .values({ storeId: row.storeId, next: next + 1 })
      .onConflictDoUpdate({ target: receiptNumbers.storeId, set: { next: next + 1 } })
      .run();
    const receipt = receiptNumber(next, new Date(nowMs).getUTCFullYear());
    const done = rows.change(row, { status: 'completed', tx, receiptNumber: receipt, processedAtMs: nowMs });
    postEvent(done, 'refund.succeeded', nowMs);
  }

  return {
    giveBack,
    fail,
    postEvent,
    settle(id, end, nowMs) {
      const row = rows.find(id);
      invariant(row?.status === 'processing', `refund ${id} is processing when its payout ends`);
      if (end.kind === 'completed') complete(row, end.tx, nowMs);
      else fail(row, end.reason, nowMs);
    },
    isCovered(id) {
      const row = rows.find(id);
      const session = row && findSession(row.sessionId);
      return !session || isCovered(row.currency, limits.received(session), rows.ofSession(row.sessionId));
    },
  };
}
