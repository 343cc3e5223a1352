/**
 * Refunds: asked for, given an address, started, paid or not. What may be refunded is judged in `core/refund`; a payout is planned and
 * settled in the transaction of the refund's own step.
 * @module
 */
import { createHash, createHmac } from 'node:crypto';
import { and, asc, desc, eq, isNotNull, isNull, lt, ne, or, sql } from 'drizzle-orm';
import { toSeconds } from '../../clock.ts';
import { type RefundEventType, refundEventBody } from '../../core/event.ts';
import { invariant } from '../../core/fault.ts';
import { intentMac, intentMacKey } from '../../core/intent.ts';
import {
  defaultRefundPolicy,
  isHeld,
  judgeRefund,
  nextRefundStep,
  type ReceivedPart,
  type RefundPolicy,
  type RefundStatus,
  receiptNumber,
} from '../../core/refund.ts';
import { isOlder } from '../../core/session.ts';
import type { Mode, NetworkKey } from '../../core/transfer.ts';
import type {
  CreateRefundOutcome,
  DestinationCheck,
  DestinationFault,
  DestinationFrom,
  NewRefund,
  Refund,
  RefundStore,
} from '../refunds.ts';
import type { Db } from './open.ts';
import type { Outbox } from './outbox.ts';
import type { Addresses } from './pool.ts';
import { preparedInsert } from './prepared.ts';
import { receiptNumbers, refundAddresses, refundDays, refundPolicies, refunds } from './refund-schema.ts';
import type { Replays } from './replays.ts';
import { termsOf } from './session-row.ts';
import type { FindSessionRow } from './sessions.ts';
import type { Transfers } from './transfers.ts';

export type RefundRow = typeof refunds.$inferSelect;

const DAY_MS = 24 * 3600 * 1000;

/** What a refund sets in motion elsewhere in the file, in the same transaction. */
export type RefundEffects = Readonly<{
  /** Sets the amount aside, when the refund is made. */
  reserve(refund: RefundRow, nowMs: number): void;
  /** Gives it back, when the refund fails or is canceled. */
  release(refund: RefundRow, nowMs: number): void;
  /** Plans the payout of a refund that starts. */
  plan(refund: RefundRow, notBeforeMs: number, nowMs: number): void;
  /** Takes the plan back. @returns false once an attempt was allotted: from then on the money may be on its way */
  cancel(id: string, nowMs: number): boolean;
}>;

/** How a payout ended, for its refund. */
export type RefundEnd = Readonly<{ kind: 'completed'; tx: string }> | Readonly<{ kind: 'failed'; reason: string }>;

/** Steps of a larger transaction. */
export type Refunds = Readonly<{
  /** Ends a refund that is processing. */
  settle(id: string, end: RefundEnd, nowMs: number): void;
  find(id: string): RefundRow | undefined;
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

/** The id follows from the merchant's: whoever repeats a refund after the database was put back gets the same payout again, not another. */
function refundIdOf({ storeId, mode, refundId }: Pick<NewRefund, 'storeId' | 'mode' | 'refundId'>): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([storeId, mode, refundId]))
    .digest('hex');
  return `rf_${hash.slice(0, 32)}`;
}

export function createRefunds(db: Db, parts: Parts): { steps: Refunds; commands: RefundStore } {
  const { secretKey, addresses, transfers, replays, outbox, findSession, effects } = parts;
  const macKey = intentMacKey(secretKey);
  const insert = preparedInsert(db, refunds);
  const find = db.orm
    .select()
    .from(refunds)
    .where(eq(refunds.id, sql.placeholder('id')))
    .prepare();
  const ofSession = db.orm
    .select({
      network: refunds.network,
      currency: refunds.currency,
      amountMinor: refunds.amountMinor,
      status: refunds.status,
    })
    .from(refunds)
    .where(eq(refunds.sessionId, sql.placeholder('sessionId')))
    .prepare();
  const ready = db.orm
    .select()
    .from(refunds)
    .where(
      and(
        eq(refunds.status, sql`'pending'`),
        isNotNull(refunds.destination),
        or(eq(refunds.needsApproval, sql`0`), isNotNull(refunds.approvedAtMs)),
      ),
    )
    .orderBy(asc(refunds.createdAtMs))
    .limit(sql.placeholder('limit'))
    .prepare();
  const unclaimed = db.orm
    .select()
    .from(refunds)
    .where(
      and(
        eq(refunds.status, sql`'pending'`),
        isNull(refunds.destination),
        lt(refunds.claimUntilS, sql.placeholder('nowS')),
      ),
    )
    .orderBy(asc(refunds.claimUntilS))
    .limit(sql.placeholder('limit'))
    .prepare();

  /** What stands in a claim link: 128 bits that only the holder of the secret key can make. */
  const claimToken = (id: string): string =>
    createHmac('sha256', secretKey).update(`quayside refund claim v1 ${id}`).digest('hex').slice(0, 32);
  const claimHash = (token: string): string => createHash('sha256').update(token).digest('hex');

  function view(row: RefundRow): Refund {
    const { claimHash: hash, claimUntilS, destination, destinationFrom, mac, ...rest } = row;
    const session = findSession(row.sessionId);
    invariant(session, `refund ${row.id} belongs to a session`);
    const { bodyHash: _body, approval: _approval, ...shown } = rest;
    return {
      ...shown,
      orderId: session.orderId,
      destination:
        destination !== null && destinationFrom !== null && mac !== null
          ? { key: destination, from: destinationFrom, mac }
          : null,
      claim: hash !== null && claimUntilS !== null ? { token: claimToken(row.id), untilS: claimUntilS } : null,
    };
  }

  function change(row: RefundRow, values: Partial<RefundRow>): RefundRow {
    db.orm.update(refunds).set(values).where(eq(refunds.id, row.id)).run();
    return { ...row, ...values };
  }

  function tell(row: RefundRow, type: RefundEventType, nowMs: number): void {
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

  // ── What may be refunded ───────────────────────────────────────────────────────────────────────────────────────────

  /** Confirmed money of a session, by network and token. What came before the session is somebody else's. */
  function received(session: NonNullable<ReturnType<FindSessionRow>>): ReceivedPart[] {
    const found = new Map<string, ReceivedPart & { largest: bigint }>();
    for (const transfer of transfers.ofSession(session.id)) {
      if (!transfer.canonical || !transfer.confirmed || isOlder(termsOf(session), transfer.timeS)) continue;
      const { network, currency, decimals, units, from } = transfer;
      const place = `${network} ${currency} ${decimals}`;
      const part = found.get(place) ?? { network, currency, decimals, units: 0n, sender: from, largest: 0n };
      const isLargest = units > part.largest;
      found.set(place, {
        ...part,
        units: part.units + units,
        sender: isLargest ? from : part.sender,
        largest: isLargest ? units : part.largest,
      });
    }
    return [...found.values()];
  }

  function policyOf(storeId: string): RefundPolicy {
    const row = db.orm.select().from(refundPolicies).where(eq(refundPolicies.storeId, storeId)).get();
    if (!row) return defaultRefundPolicy;
    const { storeId: _of, ...policy } = row;
    return policy;
  }

  const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);

  function dayMinor(storeId: string, mode: Mode, day: number): bigint {
    const where = and(eq(refundDays.storeId, storeId), eq(refundDays.mode, mode), eq(refundDays.day, day));
    return db.orm.select().from(refundDays).where(where).get()?.amountMinor ?? 0n;
  }

  /** Counts a refund towards the day it was made on, or takes it out again. */
  function countDay({ storeId, mode, createdAtMs, amountMinor }: RefundRow, sign: 1n | -1n): void {
    const day = dayOf(createdAtMs);
    const sum = dayMinor(storeId, mode, day) + sign * amountMinor;
    invariant(sum >= 0n, `the refunds of store ${storeId} on day ${day} add up`);
    const row = { storeId, mode, day, amountMinor: sum };
    db.orm
      .insert(refundDays)
      .values(row)
      .onConflictDoUpdate({
        target: [refundDays.storeId, refundDays.mode, refundDays.day],
        set: { amountMinor: sum },
      })
      .run();
  }

  // ── Where it goes ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** The key of an address that somebody typed, or what is wrong with it. */
  function readAddress(
    network: NetworkKey,
    mode: Mode,
    text: string,
    check: DestinationCheck,
  ): string | { why: DestinationFault } {
    const verdict = check(network, text);
    if (verdict.kind === 'bad') return { why: verdict.why };
    const isOurs = addresses.find({ family: verdict.family, mode }, verdict.key) !== null;
    return isOurs ? { why: 'own_address' } : verdict.key;
  }

  const leftAddress = (sessionId: string, network: NetworkKey): string | null =>
    db.orm
      .select()
      .from(refundAddresses)
      .where(and(eq(refundAddresses.sessionId, sessionId), eq(refundAddresses.network, network)))
      .get()?.key ?? null;

  /** The columns of a destination, its MAC among them. */
  function destinationColumns(
    refund: Pick<RefundRow, 'id' | 'network' | 'currency' | 'units'>,
    key: string,
    from: DestinationFrom,
  ): Pick<RefundRow, 'destination' | 'destinationFrom' | 'mac'> {
    return { destination: key, destinationFrom: from, mac: intentMac(macKey, { ...refund, to: key }) };
  }

  // ── The steps ──────────────────────────────────────────────────────────────────────────────────────────────────────

  function create(input: NewRefund, check: DestinationCheck): CreateRefundOutcome {
    const { storeId, mode, sessionId, nowMs } = input;
    const session = findSession(sessionId);
    if (!session) return { kind: 'session_not_found' };
    if (session.storeId !== storeId || session.mode !== mode) return { kind: 'session_access_denied' };
    const policy = policyOf(storeId);
    const judgement = judgeRefund(input, session, received(session), ofSession.all({ sessionId }), policy, {
      nowS: toSeconds(nowMs),
      todayMinor: dayMinor(storeId, mode, dayOf(nowMs)),
    });
    if (judgement.kind === 'refused') return judgement;
    const { part, units, needsApproval } = judgement;
    const named = input.refundAddress === null ? null : readAddress(part.network, mode, input.refundAddress, check);
    if (typeof named === 'object' && named !== null) return { kind: 'bad_destination', why: named.why };

    const id = refundIdOf(input);
    const { network } = part;
    const left = leftAddress(sessionId, network);
    const bare = { id, network, currency: input.currency, units };
    const destination =
      left !== null
        ? destinationColumns(bare, left, 'payer')
        : named !== null
          ? destinationColumns(bare, named, 'merchant')
          : policy.refundToSender
            ? destinationColumns(bare, part.sender, 'sender')
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
      claimHash: isAsked ? claimHash(claimToken(id)) : null,
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
    insert(row);
    countDay(row, 1n);
    effects.reserve(row, nowMs);
    return { kind: 'created', refund: view(row) };
  }

  function start(row: RefundRow, nowMs: number): void {
    const started = change(row, { status: 'processing', processingAtMs: nowMs });
    effects.plan(started, nowMs + policyOf(row.storeId).refundCancelWindowS * 1000, nowMs);
    tell(started, 'refund.processing', nowMs);
  }

  /** The amount is free again. */
  function giveBack(row: RefundRow, values: Partial<RefundRow>, nowMs: number): RefundRow {
    invariant(isHeld(row), `refund ${row.id} holds its amount`);
    const ended = change(row, values);
    countDay(row, -1n);
    effects.release(ended, nowMs);
    return ended;
  }

  function fail(row: RefundRow, reason: string, nowMs: number): void {
    const failed = giveBack(row, { status: 'failed', failureReason: reason, processedAtMs: nowMs }, nowMs);
    tell(failed, 'refund.failed', nowMs);
  }

  function complete(row: RefundRow, tx: string, nowMs: number): void {
    const next = db.orm.select().from(receiptNumbers).where(eq(receiptNumbers.storeId, row.storeId)).get()?.next ?? 1;
    db.orm
      .insert(receiptNumbers)
      .values({ storeId: row.storeId, next: next + 1 })
      .onConflictDoUpdate({ target: receiptNumbers.storeId, set: { next: next + 1 } })
      .run();
    const receipt = receiptNumber(next, new Date(nowMs).getUTCFullYear());
    const done = change(row, { status: 'completed', tx, receiptNumber: receipt, processedAtMs: nowMs });
    tell(done, 'refund.succeeded', nowMs);
  }

  const own = ({ storeId, mode, refundId }: Pick<NewRefund, 'storeId' | 'mode' | 'refundId'>): RefundRow | undefined =>
    find.get({ id: refundIdOf({ storeId, mode, refundId }) });

  const isForeign = (refundId: string, storeId: string): boolean =>
    db.orm
      .select({ id: refunds.id })
      .from(refunds)
      .where(and(eq(refunds.refundId, refundId), ne(refunds.storeId, storeId)))
      .limit(1)
      .get() !== undefined;

  const steps: Refunds = {
    settle(id, end, nowMs) {
      const row = find.get({ id });
      invariant(row?.status === 'processing', `refund ${id} is processing when its payout ends`);
      if (end.kind === 'completed') complete(row, end.tx, nowMs);
      else fail(row, end.reason, nowMs);
    },
    find: (id) => find.get({ id }),
  };

  const commands: RefundStore = {
    async createRefund(input, check) {
      return db.write(() => {
        const past = replays.recall(input);
        if (past.kind === 'other_body') return { kind: 'idempotency_key_conflict' };
        const known = own(input);
        if (known && known.bodyHash !== input.replay.bodyHash) return { kind: 'duplicate_refund_id' };
        if (known) {
          replays.remember(input, known.sessionId);
          return { kind: 'replayed', refund: view(known) };
        }
        const outcome = create(input, check);
        if (outcome.kind === 'created') replays.remember(input, input.sessionId);
        return outcome;
      });
    },
    async findRefund(owner) {
      return db.read(() => {
        const row = own(owner);
        if (row) return { kind: 'found', refund: view(row) };
        return { kind: isForeign(owner.refundId, owner.storeId) ? 'foreign' : 'not_found' };
      });
    },
    async findRefundBy(name) {
      return db.read(() => {
        const row =
          'id' in name
            ? find.get({ id: name.id })
            : db.orm
                .select()
                .from(refunds)
                .where(eq(refunds.claimHash, claimHash(name.claimToken)))
                .get();
        return row ? view(row) : null;
      });
    },
    async cancelRefund(input) {
      return db.write(() => {
        const row = own(input);
        if (!row) return { kind: isForeign(input.refundId, input.storeId) ? 'foreign' : 'not_found' };
        const past = replays.recall(input);
        if (past.kind === 'other_body') return { kind: 'idempotency_key_conflict' };
        if (past.kind === 'same_body') return { kind: 'replayed', refund: view(row) };
        if (row.status !== 'processing' || !effects.cancel(row.id, input.nowMs)) return { kind: 'not_cancelable' };
        const canceled = giveBack(row, { status: 'canceled', canceledAtMs: input.nowMs }, input.nowMs);
        replays.remember(input, row.sessionId);
        return { kind: 'done', refund: view(canceled) };
      });
    },
    async claimRefund({ claimToken: token, address, nowMs }, check) {
      return db.write(() => {
        const row = db.orm
          .select()
          .from(refunds)
          .where(eq(refunds.claimHash, claimHash(token)))
          .get();
        if (!row) return 'not_found';
        if (row.status !== 'pending' || row.destination !== null) return 'fixed';
        if (row.claimUntilS !== null && toSeconds(nowMs) > row.claimUntilS) return 'fixed';
        const key = readAddress(row.network, row.mode, address, check);
        if (typeof key === 'object') return { kind: 'bad', why: key.why };
        change(row, destinationColumns(row, key, 'payer'));
        return 'done';
      });
    },
    async leaveRefundAddress({ sessionId, network, address, nowMs }, check) {
      return db.write(() => {
        const session = findSession(sessionId);
        if (!session?.networks.includes(network)) return 'not_found';
        if (leftAddress(sessionId, network) !== null) return 'fixed';
        const key = readAddress(network, session.mode, address, check);
        if (typeof key === 'object') return { kind: 'bad', why: key.why };
        db.orm.insert(refundAddresses).values({ sessionId, network, key, setAtMs: nowMs }).run();
        return 'done';
      });
    },
    async refundAddresses(sessionId) {
      const rows = db.read(() =>
        db.orm.select().from(refundAddresses).where(eq(refundAddresses.sessionId, sessionId)).all(),
      );
      return Object.fromEntries(rows.map(({ network, key }) => [network, key]));
    },
    async advanceRefunds(nowMs, limit) {
      const nowS = toSeconds(nowMs);
      const due = () => [...ready.all({ limit }), ...unclaimed.all({ limit, nowS })].slice(0, limit);
      // The write lock is asked for only when there is something to do.
      if (db.read(due).length === 0) return 0;
      return db.write(() => {
        const rows = due();
        for (const row of rows) {
          const isApproved = row.approvedAtMs !== null;
          const hasDestination = row.destination !== null;
          const step = nextRefundStep({ ...row, hasDestination, isApproved }, nowS);
          if (step === 'start') start(row, nowMs);
          if (step === 'expire') fail(row, 'claim_expired', nowMs);
        }
        return rows.length;
      });
    },
    async approveRefund(id, approval, nowMs) {
      return db.write(() => {
        const row = find.get({ id });
        if (!row) return null;
        if (row.status !== 'pending' && row.status !== 'processing') return false;
        change(row, { approvedAtMs: row.approvedAtMs ?? nowMs, ...(approval && { approval }) });
        return true;
      });
    },
    async rejectRefund(id, reason, nowMs) {
      return db.write(() => {
        const row = find.get({ id });
        if (!row) return null;
        if (row.status !== 'pending' && !(row.status === 'processing' && effects.cancel(id, nowMs))) return false;
        fail(row, reason, nowMs);
        return true;
      });
    },
    async listRefunds({ storeId, sessionId, status, limit }) {
      return db.read(() =>
        db.orm
          .select()
          .from(refunds)
          .where(
            and(
              storeId === undefined ? undefined : eq(refunds.storeId, storeId),
              sessionId === undefined ? undefined : eq(refunds.sessionId, sessionId),
              status === undefined ? undefined : eq(refunds.status, status satisfies RefundStatus),
            ),
          )
          .orderBy(desc(refunds.createdAtMs))
          .limit(limit)
          .all()
          .map(view),
      );
    },
    async setRefundPolicy(storeId, changes) {
      return db.write(() => {
        const policy = { ...policyOf(storeId), ...changes };
        db.orm
          .insert(refundPolicies)
          .values({ storeId, ...policy })
          .onConflictDoUpdate({ target: refundPolicies.storeId, set: policy })
          .run();
        return policy;
      });
    },
    async refundPolicy(storeId) {
      return db.read(() => policyOf(storeId));
    },
  };
  return { steps, commands };
}
