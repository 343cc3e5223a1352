/**
 * Refunds: creating, starting, canceling and approving them. `core/refund` decides whether and how much can be
 * refunded. A payout is planned in the transaction of the refund's own step.
 */

import { type RefundEventType, refundFacts } from '../../core/event.ts';
import { invariant } from '../../core/fault.ts';
import { refundEntry } from '../../core/ledger.ts';
import { formatUnits, MINOR_DECIMALS } from '../../core/money.ts';
import { confirmedParts } from '../../core/received.ts';
import {
  type EarlierRefund,
  exceedsAutomatic,
  isApproved,
  isCovered,
  isCoveredByFinal,
  isHeld,
  judgeRefund,
  nextRefundStep,
  type RefundEnd,
  type RefundPolicy,
  receiptNumber,
  refundable,
} from '../../core/refund.ts';
import type { Mode } from '../../core/transfer.ts';
import { toSeconds } from '../../lib/clock.ts';
import { type OperatorAct, recordAct } from '../audit-log.ts';
import type { RefundApproval } from '../column-values.ts';
import { mapInOrder, writeOrTry } from '../engine/bodies.ts';
import { postEvent } from '../events.ts';
import { ledgerOf } from '../ledger.ts';
import { payoutStepsOf } from '../payouts/payouts.ts';
import { type Replay, replaysOf } from '../replays.ts';
import type { SealedDb } from '../sealing.ts';
import { findSession, sessionOf } from '../session.ts';
import { transitionsOf } from '../session-transitions.ts';
import { storeOf } from '../stores.ts';
import { transferRowsOf } from '../transfers.ts';
import {
  addressLeft,
  destinationColumns,
  intentOf,
  mayBePaid,
  readDestination,
  refundAddressCommands,
} from './destinations.ts';
import {
  type ApproveRefundOutcome,
  type Bound,
  type CancelRefundOutcome,
  type CreateRefundOutcome,
  type DestinationCheck,
  type FindRefundOutcome,
  isOperators,
  type NewRefund,
  newRefund,
  type Refund,
  type RefundFilter,
  type RefundOwner,
  type RefundRoom,
  type RefundRow,
  refundIdOf,
  refundRowsOf,
} from './refund.ts';

type NewDestination = Pick<RefundRow, 'destination' | 'destinationFrom' | 'mac'>;

/**
 * The fields that an approval changes, for the audit log: the address, and the approver whose signature approves it.
 */
const approvalState = ({ approvedAtMs, approvedDestination, approval }: RefundRow) => ({
  approvedAtMs,
  approvedDestination,
  approver: approval?.approver ?? null,
});

/** The fields of a new refund, for the audit log. */
const createdState = ({ amountMinor, currency, sessionId, network, destination, needsApproval }: RefundRow) => ({
  sessionId,
  amount: `${formatUnits(amountMinor, MINOR_DECIMALS, MINOR_DECIMALS)} ${currency}`,
  network,
  destination,
  needsApproval,
});

/**
 * Returns the destination of a new refund: the address that the request names, that the payer left, or, if the store
 * permits it, that has paid.
 */
async function destinationOf(
  db: SealedDb,
  input: NewRefund,
  bare: Bound,
  policy: RefundPolicy,
  check: DestinationCheck,
): Promise<NewDestination | Extract<CreateRefundOutcome, { kind: 'bad_destination' }>> {
  const { network, sessionId, currency } = bare;
  if (input.refundAddress !== null) {
    const named = await readDestination(db, network, input.mode, input.refundAddress, check);
    if (typeof named === 'object') return { kind: 'bad_destination', why: named.why };
    return destinationColumns(db, bare, named, 'merchant');
  }
  const left = await addressLeft(db, sessionId, network);
  if (left !== null) return destinationColumns(db, bare, left, 'payer');
  const sender = policy.refundToSender ? await transferRowsOf(db).largestSender(sessionId, network, currency) : null;
  // The sender may be a program or a contract that cannot be paid back. The payer is then asked for an address.
  const key = sender && (await readDestination(db, network, input.mode, db.formatAddress(network, sender), check));
  if (typeof key === 'string') return destinationColumns(db, bare, key, 'sender');
  return { destination: null, destinationFrom: null, mac: null };
}

export function refundCommands(db: SealedDb) {
  const rows = refundRowsOf(db);
  const payouts = payoutStepsOf(db);
  const ledger = ledgerOf(db);
  const replays = replaysOf(db);

  async function create(input: NewRefund, check: DestinationCheck): Promise<CreateRefundOutcome> {
    const { storeId, mode, sessionId, nowMs } = input;
    const session = await findSession(db, sessionId);
    if (!session) return { kind: 'session_not_found' };
    if (session.storeId !== storeId || session.mode !== mode) return { kind: 'session_access_denied' };
    const { policy } = await storeOf(db, storeId);
    const id = refundIdOf(input);
    const judgement = judgeRefund(
      input,
      session,
      confirmedParts(session.sums),
      await rows.ofSession(sessionId, id),
      policy,
      {
        nowS: toSeconds(nowMs),
        todayMinor: await rows.todayMinor(storeId, mode, nowMs),
      },
    );
    if (judgement.kind === 'refused') return judgement;
    const { part, units } = judgement;
    const { currency, amountMinor } = input;
    const bare = { id, network: part.network, currency, units, sessionId, amountMinor, heldKind: null };
    const destination = await destinationOf(db, input, bare, policy, check);
    if ('why' in destination) return destination;
    const asker = { requestedBy: input.requestedBy ?? null, requestedKey: input.requestedKey ?? null };
    const recent = await rows.recent({ ...bare, ...destination, ...asker, storeId, mode }, nowMs);
    const isAsked = destination.destination === null;
    const { refundId, reason, description, metadata } = input;
    const row: RefundRow = {
      ...newRefund,
      ...bare,
      ...destination,
      ...asker,
      storeId,
      mode,
      refundId,
      bodyHash: input.replay.bodyHash,
      reason,
      description,
      metadata,
      ...(isAsked && { claimHash: rows.claimHashOf(id), claimUntilS: toSeconds(nowMs) + policy.refundClaimS }),
      needsApproval: exceedsAutomatic(amountMinor, recent, policy),
      createdAtMs: nowMs,
    };
    await rows.insert(row);
    await ledger.post(refundEntry(row, 'reserved'), nowMs);
    await recordAct(db, input.act, { target: id, before: null, after: createdState(row) });
    return { kind: 'created', refund: await rows.view(row) };
  }

  async function start(row: RefundRow, nowMs: number): Promise<void> {
    const started = await rows.change(row, { status: 'processing', processingAtMs: nowMs });
    // The event comes first, because a payout that was made before a restore ends the refund at once.
    await report(db, started, 'refund.processing', nowMs);
    await plan(started, nowMs + (await storeOf(db, row.storeId)).policy.refundCancelWindowS * 1000, nowMs);
  }

  /** Plans the payout of a refund that starts. */
  async function plan(row: RefundRow, notBeforeMs: number, nowMs: number): Promise<void> {
    const { id, sessionId } = row;
    const intent = intentOf(row);
    const planned = await payouts.plan({ intent, sessionId, servesId: null, notBeforeMs, nowMs });
    // The id was signed before a restore, for the same intent or another.
    const isOther = planned.kind === 'other';
    const { state, tx, waitCode } = planned.payout;
    if (isOther || state === 'failed') {
      const reason = (isOther ? null : waitCode) ?? 'signed_otherwise';
      await settleRefund(db, id, { kind: 'failed', reason }, nowMs);
    } else if (state === 'succeeded' && tx !== null) {
      await ledger.post(refundEntry(row, 'matched'), nowMs);
      await settleRefund(db, id, { kind: 'completed', tx }, nowMs);
    }
  }

  return {
    ...refundAddressCommands(db),
    /**
     * Judges, reserves and saves a refund in one transaction, so that concurrent calls never exceed the received
     * amount.
     */
    async create(input: NewRefund, check: DestinationCheck): Promise<CreateRefundOutcome> {
      return writeOrTry(db, input.isDryRun === true, async (): Promise<CreateRefundOutcome> => {
        const past = await replays.recall(input);
        if (past.kind === 'other_body') return { kind: 'idempotency_key_conflict' };
        const known = await rows.own(input);
        if (known && known.bodyHash !== input.replay.bodyHash) return { kind: 'duplicate_refund_id' };
        if (known) {
          if (past.kind === 'new') await replays.remember(input, known.sessionId);
          return { kind: 'replayed', refund: await rows.view(known) };
        }
        if ((await storeOf(db, input.storeId)).isSuspended()) return { kind: 'store_suspended' };
        const outcome = await create(input, check);
        if (outcome.kind === 'created') await replays.remember(input, input.sessionId);
        return outcome;
      });
    },
    async find(owner: RefundOwner): Promise<FindRefundOutcome> {
      return db.read(async () => {
        const row = await rows.own(owner);
        if (row) return { kind: 'found', refund: await rows.view(row) };
        return { kind: (await rows.isForeign(owner)) ? 'foreign' : 'not_found' };
      });
    },
    /** Returns the refund with this id or claim link; null when there is none. */
    async findBy(name: Readonly<{ id: string }> | Readonly<{ claimToken: string }>): Promise<Refund | null> {
      return db.read(async () => {
        const row = 'id' in name ? await rows.find(name.id) : await rows.claimed(name.claimToken);
        return row ? await rows.view(row) : null;
      });
    },
    /** Returns the amounts that can still be refunded of a session; null when there is no such session. */
    async room(sessionId: string, nowMs: number): Promise<RefundRoom | null> {
      return db.read(async () => {
        const session = await findSession(db, sessionId);
        if (!session) return null;
        const { storeId, mode } = session;
        const left =
          BigInt((await storeOf(db, storeId)).policy.refundDailyMinor) - (await rows.todayMinor(storeId, mode, nowMs));
        const coins = refundable(confirmedParts(session.sums), await rows.ofSession(sessionId));
        return { coins, dayLeftMinor: left > 0n ? left : 0n };
      });
    },
    /** Returns the refunds that count against sessions, by session. */
    async ofSession(sessionIds: readonly string[]): Promise<ReadonlyMap<string, readonly EarlierRefund[]>> {
      return db.read(
        async () => new Map(await mapInOrder(sessionIds, async (id) => [id, await rows.ofSession(id)] as const)),
      );
    },
    /**
     * Returns the refund of a store that a text names by our id, the merchant's, the receipt, or the transaction.
     * @param transactions the spellings under which the text can be stored, if it is a hash
     */
    async findNamed(
      at: Readonly<{ storeId: string; mode: Mode }>,
      text: string,
      transactions: readonly string[],
    ): Promise<Refund | null> {
      return db.read(async () => {
        const row = await rows.named(at, text, transactions);
        return row ? await rows.view(row) : null;
      });
    },
    /** Cancels a processing refund for the merchant, until a signature is requested. */
    async cancel(
      input: RefundOwner & Readonly<{ replay: Replay; nowMs: number; act?: OperatorAct }>,
    ): Promise<CancelRefundOutcome> {
      return db.write(async () => {
        const row = await rows.own(input);
        if (!row) return { kind: (await rows.isForeign(input)) ? 'foreign' : 'not_found' };
        const past = await replays.recall(input);
        if (past.kind === 'other_body') return { kind: 'idempotency_key_conflict' };
        if (past.kind === 'same_body') return { kind: 'replayed', refund: await rows.view(row) };
        if (row.status !== 'processing') return { kind: 'not_cancelable' };
        if (!(await payouts.cancel(row.id, input.nowMs, 0)))
          return { kind: (await payouts.isInDoubt(row.id, 0)) ? 'in_doubt' : 'not_cancelable' };
        const canceled = await giveBack(db, row, { status: 'canceled', canceledAtMs: input.nowMs }, input.nowMs);
        await replays.remember(input, row.sessionId);
        const after = { status: canceled.status };
        await recordAct(db, input.act, { target: row.id, before: { status: row.status }, after });
        return { kind: 'done', refund: await rows.view(canceled) };
      });
    },
    /**
     * Starts refunds that are ready and fails those whose claim link expired.
     * @returns their number, at most `limit`
     */
    async advance(nowMs: number, limit: number): Promise<number> {
      const nowS = toSeconds(nowMs);
      const due = () => rows.due(nowS, limit);
      // The write lock is taken only when there is something to do.
      if ((await db.read(due)).length === 0) return 0;
      return db.write(async () => {
        const found = await due();
        for (const row of found) {
          const step = nextRefundStep(row, nowS);
          if (step === 'start') await start(row, nowMs);
          if (step === 'expire') await fail(db, row, 'claim_expired', nowMs);
        }
        return found.length;
      });
    },
    /**
     * Approves the destination of a refund, with an approver's signature if the signer requires one. It replaces an
     * earlier approval, and counts for this destination only.
     * @param seen the key of the destination that the approver saw
     */
    async approve(
      id: string,
      approval: RefundApproval | null,
      nowMs: number,
      seen: string | null,
      act?: OperatorAct,
    ): Promise<ApproveRefundOutcome> {
      return db.write(async () => {
        const row = await rows.find(id);
        if (!row) return 'not_found';
        if (row.status !== 'pending' && row.status !== 'processing') return 'ended';
        if (row.destination === null) return 'no_destination';
        if (row.destination !== seen) return 'changed';
        const named = { approvedAtMs: row.approvedAtMs ?? nowMs, approvedDestination: row.destination };
        const after = await rows.change(row, { ...named, ...(approval && { approval }) });
        await recordAct(db, act, { target: id, before: approvalState(row), after: approvalState(after) });
        await payouts.hasten(id, nowMs);
        return 'done';
      });
    },
    /** Rejects a refund for the operator. It fails with this reason, unless something is signed or may have paid it. */
    async reject(id: string, reason: string, nowMs: number, act?: OperatorAct): Promise<boolean | null> {
      return db.write(async () => {
        const row = await rows.find(id);
        if (!row) return null;
        const isFree = row.status === 'pending' ? !(await mayBePaid(db, row, null)) : row.status === 'processing';
        if (!isFree || (row.status === 'processing' && !(await payouts.cancel(id, nowMs)))) return false;
        await fail(db, row, reason, nowMs);
        const after = { status: 'failed', failureReason: reason };
        await recordAct(db, act, { target: id, before: { status: row.status, failureReason: null }, after });
        return true;
      });
    },
    /** Returns refunds, newest first, or oldest first with `after`. */
    async list(filter: RefundFilter): Promise<readonly Refund[]> {
      return db.read(async () => mapInOrder(await rows.list(filter), rows.view));
    },
  };
}

// ── Endings ──────────────────────────────────────────────────────────────────────────────────────────────────────────
// A refund ends with its payout, by a decision, or when its time runs out. Each ending also updates the ledger and
// sends the merchant an event.

// Call these within a transaction.

async function report(db: SealedDb, row: RefundRow, type: RefundEventType, nowMs: number): Promise<void> {
  // The merchant did not request a return, and does not know its id.
  if (row.heldKind !== null) return;
  const session = await sessionOf(db, row.sessionId);
  const { refundId, network, amountMinor, currency } = row;
  const [orderId, destination] = [session.orderId, refundRowsOf(db).destinationOf(row)];
  const facts = refundFacts({ type, orderId, refundId, network, destination, amountMinor, currency });
  await postEvent(db, session, type, nowMs, facts);
}

/** Ends a refund and frees its amount. @returns the row with its changes */
async function giveBack(db: SealedDb, row: RefundRow, values: Partial<RefundRow>, nowMs: number): Promise<RefundRow> {
  invariant(isHeld(row), `refund ${row.id} holds its amount`);
  const ended = await refundRowsOf(db).change(row, values);
  await ledgerOf(db).post(refundEntry(ended, 'released'), nowMs);
  if (row.heldKind !== null) await holdAgain(db, row.sessionId, nowMs);
  return ended;
}

/** Updates a session after a return failed, whose money is held again or counts by now. */
async function holdAgain(db: SealedDb, sessionId: string, nowMs: number): Promise<void> {
  await transitionsOf(db).followReturn(await sessionOf(db, sessionId), nowMs);
  await transitionsOf(db).advance(await sessionOf(db, sessionId), nowMs, null, []);
}

async function fail(db: SealedDb, row: RefundRow, reason: string, nowMs: number): Promise<void> {
  const failed = await giveBack(db, row, { status: 'failed', failureReason: reason, processedAtMs: nowMs }, nowMs);
  await report(db, failed, 'refund.failed', nowMs);
}

async function complete(db: SealedDb, row: RefundRow, tx: string, nowMs: number): Promise<void> {
  const receipt = row.heldKind === null ? await nextReceipt(db, row, nowMs) : row.id;
  const done = await refundRowsOf(db).change(row, {
    status: 'completed',
    tx,
    receiptNumber: receipt,
    processedAtMs: nowMs,
  });
  await report(db, done, 'refund.succeeded', nowMs);
}

/** Returns the receipt number of a refund. Returns get their id instead, so that a merchant's numbers have no gaps. */
async function nextReceipt(db: SealedDb, row: RefundRow, nowMs: number): Promise<string> {
  const count = db.client.values<number>(
    'UPDATE stores SET next_receipt_number = next_receipt_number + 1 WHERE id = ? RETURNING next_receipt_number',
  );
  const next = await count.get(row.storeId);
  invariant(next !== undefined, `store ${row.storeId} exists`);
  return receiptNumber(next - 1, new Date(nowMs).getUTCFullYear());
}

/** Ends a refund that is processing. */
export async function settleRefund(db: SealedDb, id: string, end: RefundEnd, nowMs: number): Promise<void> {
  const row = await refundRowsOf(db).find(id);
  invariant(row?.status === 'processing', `refund ${id} is processing when its payout ends`);
  if (end.kind === 'completed') await complete(db, row, end.tx, nowMs);
  else await fail(db, row, end.reason, nowMs);
}

/** Returns the first closed gate of those that only refunds have; null if all are open. */
export async function closedGate(db: SealedDb, id: string) {
  const row = await refundRowsOf(db).find(id);
  if (!row) return null;
  const session = await sessionOf(db, row.sessionId);
  const { currency, storeId, sessionId } = row;
  const { isSuspended, policy } = await storeOf(db, storeId);
  if (!isOperators(row) && isSuspended()) return 'refund_store_suspended';
  const all = await refundRowsOf(db).ofSession(sessionId);
  if (!isCovered(currency, confirmedParts(session.sums), all)) return 'refund_uncovered';
  if (!isApproved(row)) return 'refund_unapproved';
  const isFinal = isCoveredByFinal(currency, confirmedParts(session.sums, true), all, policy);
  return isFinal ? null : 'refund_not_final';
}
