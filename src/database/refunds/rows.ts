/**
 * Rows of refunds: finding them, changing them, their destination's MAC, and their view.
 */

import { createHash } from 'node:crypto';
import { and, asc, desc, eq, gte, inArray, isNotNull, isNull, lt, ne, or, type SQL, sql } from 'drizzle-orm';
import { invariant } from '../../core/fault.ts';
import type { IntentMac, MacedRefund } from '../../core/intent.ts';
import { formatUnits, MINOR_DECIMALS } from '../../core/money.ts';
import { type EarlierRefund, isHeld, RECENT_MS, type RecentRefunds, recentRefunds } from '../../core/refund.ts';
import type { Mode } from '../../core/transfer.ts';
import { DAY_MS, dayOf } from '../../lib/clock.ts';
import { mapInOrder } from '../engine/bodies.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse, findBy, given, preparedInsert } from '../engine/prepared.ts';
import type { RowGuard, Tokens } from '../sealing.ts';
import type { FindSessionRow } from '../sessions.ts';
import { refunds, sessions } from '../tables.ts';
import type { FormatAddress } from '../text-formats.ts';
import { createLostRefunds, type NewRefund, type Refund, type RefundFilter } from './refund.ts';

export type RefundRow = typeof refunds.$inferSelect;
export type RefundOwner = Pick<NewRefund, 'storeId' | 'mode' | 'refundId'>;

/** First values of a new refund's columns. */
export const newRefund = {
  ...{ reason: null, description: null, metadata: null, requestedBy: null, requestedKey: null, heldKind: null },
  ...{ destination: null, destinationFrom: null, mac: null, linkSeen: false },
  ...{ claimHash: null, claimUntilS: null, claimSeenAtMs: null },
  ...{ status: 'pending', needsApproval: false, approvedAtMs: null, approvedDestination: null, approvals: [] },
  ...{ failureReason: null, tx: null, receiptNumber: null },
  ...{ processingAtMs: null, processedAtMs: null, canceledAtMs: null },
} as const satisfies Partial<RefundRow>;

/** Derives the id from the merchant's, so that a refund repeated after a restored backup gets the same payout. */
export function refundIdOf({ storeId, mode, refundId }: RefundOwner): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([storeId, mode, refundId]))
    .digest('hex');
  return `rf_${hash.slice(0, 32)}`;
}

/** Fields that a destination's MAC covers besides the destination. */
export type Bound = Pick<RefundRow, 'id' | 'network' | 'currency' | 'units' | 'sessionId' | 'amountMinor' | 'heldKind'>;

export const boundTo = ({ id, network, currency, units, sessionId, amountMinor, heldKind }: Bound, to: string) => {
  const session = { id: sessionId, amount: formatUnits(amountMinor, MINOR_DECIMALS, MINOR_DECIMALS) };
  return { id, network, currency, to, units, session, held: heldKind ?? undefined };
};

/** Returns what a destination's MAC covers; null if the destination is not the one that was set. */
export function macedDestination(macOf: IntentMac, row: RefundRow): MacedRefund | null {
  const { destination, mac } = row;
  if (destination === null || mac === null) return null;
  const bound = boundTo(row, destination);
  return macOf(bound) === mac ? bound : null;
}

/** Returns whether the operator ordered a refund, a return of held money, rather than its store. */
export const isOperators = ({ heldKind, requestedBy }: Pick<RefundRow, 'heldKind' | 'requestedBy'>): boolean =>
  heldKind !== null && requestedBy === null;

type Parts = Readonly<{
  macOf: IntentMac;
  tokens: Tokens;
  guard: Pick<RowGuard, 'refuse'>;
  findSession: FindSessionRow;
  formatAddress: FormatAddress;
}>;

/** Returns functions that are called within a transaction. */
export function createRefundRows(db: Db, parts: Parts) {
  const insert = preparedInsert(db, refunds);
  return {
    ...findingRefunds(db, parts.tokens),
    ...listingRefunds(db),
    ...viewingRefunds(parts),
    async insert(row: RefundRow): Promise<void> {
      await insert(row);
    },
    /** @returns the row with its changes */
    async change(row: RefundRow, values: Partial<RefundRow>): Promise<RefundRow> {
      await db.orm.update(refunds).set(values).where(eq(refunds.id, row.id)).run();
      return { ...row, ...values };
    },
    /** Returns the hash to store of a new claim token. */
    claimHashOf: (id: string): string => parts.tokens.hashOf(parts.tokens.of('refund claim', id)),
  };
}

export type RefundRows = ReturnType<typeof createRefundRows>;

function findingRefunds(db: Db, tokens: Tokens) {
  const byId = findBy(db, refunds, 'id');
  const byClaim = findBy(db, refunds, 'claimHash');
  const find = (id: string): Promise<RefundRow | undefined> => byId.get({ id });
  return {
    find,
    own: (owner: RefundOwner): Promise<RefundRow | undefined> => find(refundIdOf(owner)),
    /** Whether another store has a refund of this id. */
    async isForeign({ refundId, storeId }: RefundOwner): Promise<boolean> {
      const isOthers = and(eq(refunds.refundId, refundId), ne(refunds.storeId, storeId));
      return (await db.orm.select({ id: refunds.id }).from(refunds).where(isOthers).limit(1).get()) !== undefined;
    },
    claimed: (token: string): Promise<RefundRow | undefined> => byClaim.get({ claimHash: tokens.hashOf(token) }),
    /** Finds by our id, the merchant's, the receipt, or one of these spellings of the transaction, in this order. */
    async named(
      at: Omit<RefundOwner, 'refundId'>,
      text: string,
      transactions: readonly string[],
    ): Promise<RefundRow | undefined> {
      const { storeId, mode } = at;
      const isOwn = (row: RefundRow | undefined) => row?.storeId === storeId && row.mode === mode;
      const known = [await find(text), await find(refundIdOf({ ...at, refundId: text }))].find(isOwn);
      if (known) return known;
      const own = and(eq(refunds.storeId, storeId), eq(refunds.mode, mode));
      const one = (where: SQL) => db.orm.select().from(refunds).where(and(own, where)).limit(1).get();
      return (
        (await one(eq(refunds.receiptNumber, text))) ??
        (await mapInOrder(transactions, (tx) => one(eq(refunds.tx, tx)))).find((row) => row)
      );
    },
  };
}

function listingRefunds(db: Db) {
  const ofSession = findBy(db, refunds, 'sessionId');
  const lostOfSession = createLostRefunds(db);
  const isPending = eq(refunds.status, sql`'pending'`);
  const isApproved = or(eq(refunds.needsApproval, sql`0`), eq(refunds.approvedDestination, refunds.destination));
  const first = (where: SQL | undefined, order: SQL) =>
    atFirstUse(db.orm.select().from(refunds).where(where).orderBy(order).limit(sql.placeholder('limit')));
  const ready = first(and(isPending, isNotNull(refunds.destination), isApproved), asc(refunds.createdAtMs));
  const isOver = lt(refunds.claimUntilS, sql.placeholder('nowS'));
  const unclaimed = first(and(isPending, isNull(refunds.destination), isOver), asc(refunds.claimUntilS));
  const isLater = gte(refunds.createdAtMs, sql.placeholder('sinceMs'));
  const since = atFirstUse(
    db.orm
      .select()
      .from(refunds)
      .where(and(given(refunds, 'storeId', 'mode'), isLater)),
  );

  /** Returns the refunds that a store ordered since a time and that count against its limits. */
  const ofStore = async (storeId: string, mode: Mode, sinceMs: number): Promise<RefundRow[]> =>
    (await since.all({ storeId, mode, sinceMs })).filter((row) => isHeld(row) && !isOperators(row));

  return {
    /**
     * Returns the refunds that count against a session, with those that only the signer's journal knows.
     * @param exceptId one of these that is requested again
     */
    ofSession: async (sessionId: string, exceptId = ''): Promise<EarlierRefund[]> => [
      ...(await ofSession.all({ sessionId })),
      ...(await lostOfSession(sessionId, exceptId)),
    ],
    /** Returns refunds that can start or whose claim link has expired, longest waiting first. */
    due: async (nowS: number, limit: number): Promise<RefundRow[]> =>
      [...(await ready.all({ limit })), ...(await unclaimed.all({ limit, nowS }))].slice(0, limit),
    list: (filter: RefundFilter): Promise<RefundRow[]> => listed(db, filter),
    /** Returns what the store's other refunds of the last 24 hours gave that count together with this one. */
    recent: async (row: Parameters<typeof recentRefunds>[0] & Pick<RefundRow, 'storeId' | 'mode'>, nowMs: number) =>
      recentRefunds(row, await ofStore(row.storeId, row.mode, nowMs - RECENT_MS)) satisfies RecentRefunds,
    /** Returns what a store has refunded on the UTC day of `nowMs`, in minor units. */
    async todayMinor(storeId: string, mode: Mode, nowMs: number): Promise<bigint> {
      const fromMs = dayOf(nowMs) * DAY_MS;
      const ofDay = (await ofStore(storeId, mode, fromMs)).filter(({ createdAtMs }) => createdAtMs < fromMs + DAY_MS);
      return ofDay.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
    },
  };
}

/** Waits for an approval. Without a destination there is nothing to approve yet. As the partial index has it. */
const whereUnapproved = and(
  sql`${refunds.needsApproval} = 1`,
  isNotNull(refunds.destination),
  isNull(refunds.approvedAtMs),
  sql`${refunds.status} IN ('pending', 'processing')`,
);

/** An order has as many sessions as it was tried. */
const idsOfOrder = ({ orm }: Db, { storeId, mode, orderId }: NonNullable<RefundFilter['order']>) =>
  orm
    .select({ id: sessions.id })
    .from(sessions)
    .where(and(eq(sessions.storeId, storeId), eq(sessions.mode, mode), eq(sessions.orderId, orderId)));

function listed(db: Db, filter: RefundFilter): Promise<RefundRow[]> {
  const { storeId, mode, sessionId, order, status, fromMs = null, toMs = null, before, after, limit } = filter;
  const { id, createdAtMs } = refunds;
  const where = and(
    storeId === undefined ? undefined : eq(refunds.storeId, storeId),
    mode === undefined ? undefined : eq(refunds.mode, mode),
    sessionId === undefined ? undefined : eq(refunds.sessionId, sessionId),
    status === undefined ? undefined : eq(refunds.status, status),
    filter.isUnapproved ? whereUnapproved : undefined,
    fromMs === null ? undefined : gte(createdAtMs, fromMs),
    toMs === null ? undefined : lt(createdAtMs, toMs),
    before && sql`(${createdAtMs}, ${id}) < (${before.createdAtMs}, ${before.id})`,
    after && sql`(${createdAtMs}, ${id}) > (${after.createdAtMs}, ${after.id})`,
    order && inArray(refunds.sessionId, idsOfOrder(db, order)),
  );
  const direction = after === undefined ? [desc(createdAtMs), desc(id)] : [asc(createdAtMs), asc(id)];
  const found = db.orm.select().from(refunds).where(where);
  return found
    .orderBy(...direction)
    .limit(limit)
    .all();
}

function viewingRefunds({ macOf, tokens, guard, findSession, formatAddress }: Parts) {
  /** Returns null for a destination that was altered: the signer would not pay it. */
  function destinationOf(row: RefundRow): Refund['destination'] {
    const { id, network, destination: key, destinationFrom: from, mac } = row;
    if (key === null || from === null || mac === null) return null;
    if (macedDestination(macOf, row))
      return { key, address: formatAddress(network, key), from, isLinkSeen: row.linkSeen, mac };
    const remedy = `ask the payer, and name the right one by \`quayside refund destination ${id}\``;
    guard.refuse('refunds', `refund ${id}`, remedy);
    return null;
  }
  return {
    destinationOf,
    async view(row: RefundRow): Promise<Refund> {
      const { claimHash, claimUntilS, destination: _key, destinationFrom: _from, mac: _mac, ...own } = row;
      const { linkSeen: _isSeen, claimSeenAtMs: _seen, bodyHash: _body, ...shown } = own;
      const session = await findSession(row.sessionId);
      invariant(session, `refund ${row.id} belongs to a session`);
      const token = tokens.of('refund claim', row.id);
      // Another secret key may have made the link.
      const isOurs = claimHash !== null && claimHash === tokens.hashOf(token);
      return {
        ...shown,
        orderId: session.orderId,
        destination: destinationOf(row),
        claim: isOurs && claimUntilS !== null ? { token, untilS: claimUntilS } : null,
      };
    },
  };
}
