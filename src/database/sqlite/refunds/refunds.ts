/**
 * Refunds: creating, starting, paying and ending them. `core/refund` judges what may be refunded; a payout is planned
 * and settled in the transaction of the refund's own step.
 * @module
 */
import { eq } from 'drizzle-orm';
import { type RefundEventType, refundEventBody } from '../../../core/event.ts';
import { invariant } from '../../../core/fault.ts';
import { isCovered, isHeld, judgeRefund, nextRefundStep, receiptNumber } from '../../../core/refund.ts';
import { toSeconds } from '../../../lib/clock.ts';
import type { CreateRefundOutcome, DestinationCheck, NewRefund, RefundDatabase } from '../../refunds.ts';
import type { Db } from '../open.ts';
import type { Outbox } from '../outbox.ts';
import type { Addresses } from '../pool.ts';
import type { Replays } from '../replays.ts';
import type { FindSessionRow } from '../sessions.ts';
import type { Transfers } from '../transfers.ts';
import { createRefundDestinations, refundAddressCommands } from './destinations.ts';
import { createRefundLimits, refundPolicyCommands } from './limits.ts';
import { createRefundRows, type RefundRow, refundIdOf } from './row.ts';
import { receiptNumbers } from './schema.ts';

/** What a refund causes elsewhere in the database, in the same transaction. */
export type RefundEffects = Readonly<{
  /** Reserves the amount when the refund is made. */
  reserve(refund: RefundRow, nowMs: number): void;
  /** Releases it when the refund fails or is canceled. */
  release(refund: RefundRow, nowMs: number): void;
  /** Plans the payout of a refund that starts. */
  plan(refund: RefundRow, notBeforeMs: number, nowMs: number): void;
  /** Cancels the payout. @returns false once an attempt was allotted: from then on the money may be on its way */
  cancel(id: string, nowMs: number): boolean;
  /** Makes the payout due now if it waits for the approval that has come. */
  hasten(id: string, nowMs: number): void;
}>;

/** How a refund's payout ended. */
export type RefundEnd = Readonly<{ kind: 'completed'; tx: string }> | Readonly<{ kind: 'failed'; reason: string }>;

/** To be called within a transaction. */
export type Refunds = Readonly<{
  /** Ends a refund that is processing. */
  settle(id: string, end: RefundEnd, nowMs: number): void;
  find(id: string): RefundRow | undefined;
  /** Returns false for a refund whose session no longer has the money for it and its other refunds. */
  isCovered(id: string): boolean;
}>;

type Parts = Readonly<{
  secretKey: Uint8Array;
  addresses: Addresses;
  transfers: Transfers;
  replays: Replays;
  outbox: Outbox;
  findSession: FindSessionRow;
  effects: RefundEffects;
}>;

export function createRefunds(db: Db, parts: Parts): { steps: Refunds; commands: RefundDatabase } {
  const { secretKey, addresses, transfers, replays, outbox, findSession, effects } = parts;
  const rows = createRefundRows(db, secretKey, findSession);
  const limits = createRefundLimits(db, transfers);
  const destinations = createRefundDestinations(db, addresses, secretKey);
  function postEvent(row: RefundRow, type: RefundEventType, nowMs: number): void {
    const session = findSession(row.sessionId);
    invariant(session, `refund ${row.id} belongs to a session`);
    outbox.post(session, type, nowMs, (id) =>
      refundEventBody({
        id,
        type,
        createdAtS: toSeconds(nowMs),
        sessionId: row.sessionId,
        orderId: session.orderId,
        refundId: row.refundId,
        amountMinor: row.amountMinor,
        currency: row.currency,
      }),
    );
  }

  function create(input: NewRefund, check: DestinationCheck): CreateRefundOutcome {
    const { storeId, mode, sessionId, nowMs } = input;
    const session = findSession(sessionId);
    if (!session) return { kind: 'session_not_found' };
    if (session.storeId !== storeId || session.mode !== mode) return { kind: 'session_access_denied' };
    const policy = limits.policyOf(storeId);
    const judgement = judgeRefund(input, session, limits.received(session), rows.ofSession(sessionId), policy, {
      nowS: toSeconds(nowMs),
      todayMinor: limits.todayMinor(storeId, mode, nowMs),
    });
    if (judgement.kind === 'refused') return judgement;
    const { part, units, needsApproval } = judgement;
    const named =
      input.refundAddress === null ? null : destinations.read(part.network, mode, input.refundAddress, check);
    if (typeof named === 'object' && named !== null) return { kind: 'bad_destination', why: named.why };

    const id = refundIdOf(input);
    const { network } = part;
    const left = destinations.left(sessionId, network);
    const bare = { id, network, currency: input.currency, units };
    const destination =
      left !== null
        ? destinations.columns(bare, left, 'payer')
        : named !== null
          ? destinations.columns(bare, named, 'merchant')
          : policy.refundToSender
            ? destinations.columns(bare, part.sender, 'sender')
            : { destination: null, destinationFrom: null, mac: null };
    const isAsked = destination.destination === null;
    const row: RefundRow = {
      ...bare,
      ...destination,
      storeId,
      mode,
      refundId: input.refundId,
      sessionId,
      bodyHash: input.replay.bodyHash,
      amountMinor: input.amountMinor,
      reason: input.reason,
      description: input.description,
      metadata: input.metadata,
      claimHash: isAsked ? rows.claimHashOf(id) : null,
      claimUntilS: isAsked ? toSeconds(nowMs) + policy.refundClaimS : null,
      status: 'pending',
      needsApproval,
      approvedAtMs: null,
      approval: null,
      failureReason: null,
      tx: null,
      receiptNumber: null,
      createdAtMs: nowMs,
      processingAtMs: null,
      processedAtMs: null,
      canceledAtMs: null,
    };
    rows.insert(row);
    limits.countDay(row, 1n);
    effects.reserve(row, nowMs);
    return { kind: 'created', refund: rows.view(row) };
  }

  function start(row: RefundRow, nowMs: number): void {
    const started = rows.change(row, { status: 'processing', processingAtMs: nowMs });
    // The event first: a payout that was made before the database was restored from a backup ends the refund at once.
    postEvent(started, 'refund.processing', nowMs);
    effects.plan(started, nowMs + limits.policyOf(row.storeId).refundCancelWindowS * 1000, nowMs);
  }

  /** Ends a refund and frees its amount. */
  function giveBack(row: RefundRow, values: Partial<RefundRow>, nowMs: number): RefundRow {
    invariant(isHeld(row), `refund ${row.id} holds its amount`);
    const ended = rows.change(row, values);
    limits.countDay(row, -1n);
    effects.release(ended, nowMs);
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

  const steps: Refunds = {
    settle(id, end, nowMs) {
      const row = rows.find(id);
      invariant(row?.status === 'processing', `refund ${id} is processing when its payout ends`);
      if (end.kind === 'completed') complete(row, end.tx, nowMs);
      else fail(row, end.reason, nowMs);
    },
    find: (id) => rows.find(id),
    isCovered(id) {
      const row = rows.find(id);
      const session = row && findSession(row.sessionId);
      return !session || isCovered(row.currency, limits.received(session), rows.ofSession(row.sessionId));
    },
  };

  const commands: RefundDatabase = {
    ...refundPolicyCommands(db, limits),
    ...refundAddressCommands(db, { rows, destinations, findSession }),
    async createRefund(input, check) {
      return db.write(() => {
        const past = replays.recall(input);
        if (past.kind === 'other_body') return { kind: 'idempotency_key_conflict' };
        const known = rows.own(input);
        if (known && known.bodyHash !== input.replay.bodyHash) return { kind: 'duplicate_refund_id' };
        if (known) {
          replays.remember(input, known.sessionId);
          return { kind: 'replayed', refund: rows.view(known) };
        }
        const outcome = create(input, check);
        if (outcome.kind === 'created') replays.remember(input, input.sessionId);
        return outcome;
      });
    },
    async findRefund(owner) {
      return db.read(() => {
        const row = rows.own(owner);
        if (row) return { kind: 'found', refund: rows.view(row) };
        return { kind: rows.isForeign(owner) ? 'foreign' : 'not_found' };
      });
    },
    async findRefundBy(name) {
      return db.read(() => {
        const row = 'id' in name ? rows.find(name.id) : rows.claimed(name.claimToken);
        return row ? rows.view(row) : null;
      });
    },
    async cancelRefund(input) {
      return db.write(() => {
        const row = rows.own(input);
        if (!row) return { kind: rows.isForeign(input) ? 'foreign' : 'not_found' };
        const past = replays.recall(input);
        if (past.kind === 'other_body') return { kind: 'idempotency_key_conflict' };
        if (past.kind === 'same_body') return { kind: 'replayed', refund: rows.view(row) };
        if (row.status !== 'processing' || !effects.cancel(row.id, input.nowMs)) return { kind: 'not_cancelable' };
        const canceled = giveBack(row, { status: 'canceled', canceledAtMs: input.nowMs }, input.nowMs);
        replays.remember(input, row.sessionId);
        return { kind: 'done', refund: rows.view(canceled) };
      });
    },
    async advanceRefunds(nowMs, limit) {
      const nowS = toSeconds(nowMs);
      const due = () => rows.due(nowS, limit);
      // The write lock is taken only when there is something to do.
      if (db.read(due).length === 0) return 0;
      return db.write(() => {
        const found = due();
        for (const row of found) {
          const isApproved = row.approvedAtMs !== null;
          const hasDestination = row.destination !== null;
          const step = nextRefundStep({ ...row, hasDestination, isApproved }, nowS);
          if (step === 'start') start(row, nowMs);
          if (step === 'expire') fail(row, 'claim_expired', nowMs);
        }
        return found.length;
      });
    },
    async approveRefund(id, approval, nowMs) {
      return db.write(() => {
        const row = rows.find(id);
        if (!row) return null;
        if (row.status !== 'pending' && row.status !== 'processing') return false;
        rows.change(row, { approvedAtMs: row.approvedAtMs ?? nowMs, ...(approval && { approval }) });
        effects.hasten(id, nowMs);
        return true;
      });
    },
    async rejectRefund(id, reason, nowMs) {
      return db.write(() => {
        const row = rows.find(id);
        if (!row) return null;
        if (row.status !== 'pending' && !(row.status === 'processing' && effects.cancel(id, nowMs))) return false;
        fail(row, reason, nowMs);
        return true;
      });
    },
    async listRefunds(filter) {
      return db.read(() => rows.list(filter).map(rows.view));
    },
  };
  return { steps, commands };
}
