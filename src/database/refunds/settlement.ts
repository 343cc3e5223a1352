/**
 * How refunds end: with their payout, by a decision, or because time ran out. Each ending also updates the ledger and
 * sends the merchant an event.
 */
import { eq, sql } from 'drizzle-orm';
import { type RefundEventType, refundEventBody } from '../../core/event.ts';
import { invariant } from '../../core/fault.ts';
import type { RefundGate } from '../../core/gates.ts';
import { refundEntry } from '../../core/ledger.ts';
import { confirmedParts } from '../../core/received.ts';
import { isApproved, isCovered, isCoveredByFinal, isHeld, type RefundEnd, receiptNumber } from '../../core/refund.ts';
import { toSeconds } from '../../lib/clock.ts';
import type { Db } from '../engine/open.ts';
import type { Outbox } from '../events.ts';
import type { Ledger } from '../ledger.ts';
import type { SessionTransitions } from '../session-transitions.ts';
import type { FindSessionRow } from '../sessions.ts';
import type { StoreRows } from '../stores.ts';
import { stores as storeTable } from '../tables.ts';
import { isOperators, type RefundRow, type RefundRows } from './rows.ts';

/** Reads whether a gate of refunds is closed. */
export type RefundGates = Readonly<Record<RefundGate, () => Promise<boolean>>>;

type Parts = Readonly<{
  rows: RefundRows;
  stores: StoreRows;
  outbox: Outbox;
  ledger: Ledger;
  findSession: FindSessionRow;
  transitions: Pick<SessionTransitions, 'followReturn' | 'advance'>;
}>;

/** Returns functions that are called within a transaction. */
export function createRefundSettlement(db: Db, parts: Parts) {
  const { rows, stores, outbox, ledger, findSession, transitions } = parts;

  async function postEvent(row: RefundRow, type: RefundEventType, nowMs: number): Promise<void> {
    // The merchant asked for no return, and knows none by its id.
    if (row.heldKind !== null) return;
    const session = await findSession(row.sessionId);
    invariant(session, `refund ${row.id} belongs to a session`);
    await outbox.post(session, type, nowMs, (id) =>
      refundEventBody({
        id,
        type,
        createdAtS: toSeconds(nowMs),
        mode: session.mode,
        sessionId: row.sessionId,
        orderId: session.orderId,
        refundId: row.refundId,
        network: row.network,
        destination: rows.destinationOf(row),
        amountMinor: row.amountMinor,
        currency: row.currency,
      }),
    );
  }

  /** Ends a refund and frees its amount. @returns the row with its changes */
  async function giveBack(row: RefundRow, values: Partial<RefundRow>, nowMs: number): Promise<RefundRow> {
    invariant(isHeld(row), `refund ${row.id} holds its amount`);
    const ended = await rows.change(row, values, nowMs);
    await ledger.post(refundEntry(ended, 'released'), nowMs);
    if (row.heldKind !== null) await holdAgain(row.sessionId, nowMs);
    return ended;
  }

  /** The money of a return that failed is held again, or counts by now. */
  async function holdAgain(sessionId: string, nowMs: number): Promise<void> {
    const of = async () => {
      const session = await findSession(sessionId);
      invariant(session, `session ${sessionId} of a return exists`);
      return session;
    };
    await transitions.followReturn(await of(), nowMs);
    await transitions.advance(await of(), nowMs, null, []);
  }

  async function fail(row: RefundRow, reason: string, nowMs: number): Promise<void> {
    const failed = await giveBack(row, { status: 'failed', failureReason: reason, processedAtMs: nowMs }, nowMs);
    await postEvent(failed, 'refund.failed', nowMs);
  }

  async function complete(row: RefundRow, tx: string, nowMs: number): Promise<void> {
    const receipt = row.heldKind === null ? await nextReceipt(row, nowMs) : row.id;
    const done = await rows.change(
      row,
      { status: 'completed', tx, receiptNumber: receipt, processedAtMs: nowMs },
      nowMs,
    );
    await postEvent(done, 'refund.succeeded', nowMs);
  }

  /** Returns the receipt number of a refund. Returns have none: merchants see theirs without a gap. */
  async function nextReceipt(row: RefundRow, nowMs: number): Promise<string> {
    const after = await db.orm
      .update(storeTable)
      .set({ nextReceiptNumber: sql`${storeTable.nextReceiptNumber} + 1` })
      .where(eq(storeTable.id, row.storeId))
      .returning({ next: storeTable.nextReceiptNumber })
      .get();
    invariant(after, `store ${row.storeId} exists`);
    return receiptNumber(after.next - 1, new Date(nowMs).getUTCFullYear());
  }

  return {
    giveBack,
    fail,
    postEvent,
    /** Ends a refund that is processing. */
    async settle(id: string, end: RefundEnd, nowMs: number): Promise<void> {
      const row = await rows.find(id);
      invariant(row?.status === 'processing', `refund ${id} is processing when its payout ends`);
      if (end.kind === 'completed') await complete(row, end.tx, nowMs);
      else await fail(row, end.reason, nowMs);
    },
    /** Returns the gates that only refunds have; null where the session is not there. */
    async gatesOf(id: string): Promise<RefundGates | null> {
      const row = await rows.find(id);
      const session = row && (await findSession(row.sessionId));
      if (!session) return null;
      const { currency, storeId } = row;
      const all = () => rows.ofSession(row.sessionId);
      return {
        refund_store_suspended: async () => !isOperators(row) && (await stores.of(storeId)).isSuspended(),
        refund_uncovered: async () => !isCovered(currency, confirmedParts(session.sums), await all()),
        refund_unapproved: async () => !isApproved(row),
        refund_not_final: async () =>
          !isCoveredByFinal(
            currency,
            confirmedParts(session.sums, true),
            await all(),
            (await stores.of(storeId)).policy,
          ),
      };
    },
  };
}

export type RefundSettlement = ReturnType<typeof createRefundSettlement>;
