/**
 * Rows of refunds: finding them, and their view for the port.
 */

import { createHash } from 'node:crypto';
import { and, asc, desc, eq, gte, inArray, isNotNull, isNull, lt, ne, or, type SQL, sql } from 'drizzle-orm';
import { invariant } from '../../core/fault.ts';
import type { IntentMac, PaybackIntent } from '../../core/intent.ts';
import type { EarlierRefund } from '../../core/refund.ts';
import type { Mode } from '../../core/transfer.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse, preparedInsert } from '../engine/prepared.ts';
import type { RowGuard } from '../row-macs.ts';
import type { FindSessionRow } from '../sessions.ts';
import { refunds, sessions } from '../tables.ts';
import type { FormatAddress } from '../text-formats.ts';
import type { FollowApproval } from './approval-alarms.ts';
import type { ClaimTokens } from './claim-tokens.ts';
import { macedDestination } from './destination-mac.ts';
import { createLostRefunds } from './lost.ts';
import { createRecentRefunds, type RecentOf } from './recent.ts';
import type { NewRefund, Refund, RefundFilter } from './refund.ts';

export type RefundRow = typeof refunds.$inferSelect;
export type RefundOwner = Pick<NewRefund, 'storeId' | 'mode' | 'refundId'>;

/** To be called within a transaction. */
export type RefundRows = Readonly<{
  insert(row: RefundRow): void;
  /** @returns the row with its changes */
  change(row: RefundRow, values: Partial<RefundRow>, nowMs: number): RefundRow;
  find(id: string): RefundRow | undefined;
  own(owner: RefundOwner): RefundRow | undefined;
  /** Whether another store has a refund of this id. */
  isForeign(owner: RefundOwner): boolean;
  claimed(token: string): RefundRow | undefined;
  /** Finds by our id, the merchant's, the receipt, or one of these spellings of the transaction, in this order. */
  named(at: Omit<RefundOwner, 'refundId'>, text: string, transactions: readonly string[]): RefundRow | undefined;
  /**
   * Returns the refunds that count against a session, with those that only the signer's journal knows.
   * @param exceptId one of these that is requested again
   */
  ofSession(sessionId: string, exceptId?: string): EarlierRefund[];
  /** Returns refunds that can start or whose claim link has expired, longest waiting first. */
  due(nowS: number, limit: number): RefundRow[];
  list(filter: RefundFilter): RefundRow[];
  /** Returns what the store's other refunds of the last 24 hours gave that count together with this one. */
  recent: RecentOf;
  /** Returns whether a refund that is not processing yet is to pay exactly this. */
  isPromised(paid: Pick<PaybackIntent, 'network' | 'currency' | 'to' | 'units'>): boolean;
  view(row: RefundRow): Refund;
  destinationOf(row: RefundRow): Refund['destination'];
  /** Returns the hash to store of a new claim token. */
  claimHashOf(id: string): string;
}>;

/** Derives the id from the merchant's, so that a refund repeated after a restored backup gets the same payout. */
export function refundIdOf({ storeId, mode, refundId }: RefundOwner): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([storeId, mode, refundId]))
    .digest('hex');
  return `rf_${hash.slice(0, 32)}`;
}

type Parts = Readonly<{
  macOf: IntentMac;
  claimTokens: ClaimTokens;
  guard: Pick<RowGuard, 'refuse'>;
  findSession: FindSessionRow;
  formatAddress: FormatAddress;
  followApproval: FollowApproval;
}>;

export function createRefundRows(db: Db, parts: Parts): RefundRows {
  const { macOf, claimTokens, guard, findSession, formatAddress, followApproval } = parts;
  const insert = preparedInsert(db, refunds);
  const lostOfSession = createLostRefunds(db);
  const hasId = eq(refunds.id, sql.placeholder('id'));
  const find = atFirstUse(db.orm.select().from(refunds).where(hasId));
  const ofSession = atFirstUse(
    db.orm
      .select({
        network: refunds.network,
        currency: refunds.currency,
        amountMinor: refunds.amountMinor,
        status: refunds.status,
      })
      .from(refunds)
      .where(eq(refunds.sessionId, sql.placeholder('sessionId'))),
  );
  const ready = atFirstUse(
    db.orm
      .select()
      .from(refunds)
      .where(
        and(
          eq(refunds.status, sql`'pending'`),
          isNotNull(refunds.destination),
          or(eq(refunds.needsApproval, sql`0`), eq(refunds.approvedDestination, refunds.destination)),
        ),
      )
      .orderBy(asc(refunds.createdAtMs))
      .limit(sql.placeholder('limit')),
  );
  const unclaimed = atFirstUse(
    db.orm
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
      .limit(sql.placeholder('limit')),
  );

  /** Returns null for one that was altered: the signer would not pay it. */
  function destinationOf(row: RefundRow): Refund['destination'] {
    const { id, network, destination: key, destinationFrom: from, mac } = row;
    if (key === null || from === null || mac === null) return null;
    if (macedDestination(macOf, row)) {
      return { key, address: formatAddress(network, key), from, isLinkSeen: row.linkSeen, mac };
    }
    guard.refuse(
      'refunds',
      `refund ${id}`,
      `ask the payer, and name the right one by \`quayside refund destination ${id}\``,
    );
    return null;
  }

  function view(row: RefundRow): Refund {
    const { claimHash: hash, claimUntilS, destination: _key, destinationFrom: _from, mac: _mac, ...own } = row;
    const { linkSeen: _isSeen, claimSeenAtMs: _seen, ...rest } = own;
    const session = findSession(row.sessionId);
    invariant(session, `refund ${row.id} belongs to a session`);
    const { bodyHash: _body, ...shown } = rest;
    const claim = hash === null ? null : claimTokens.find(row.id, hash);
    return {
      ...shown,
      orderId: session.orderId,
      destination: destinationOf(row),
      claim: claim !== null && claimUntilS !== null ? { token: claim, untilS: claimUntilS } : null,
    };
  }

  /** An order has as many sessions as it was tried. */
  const idsOfOrder = (storeId: string, mode: Mode, orderId: string) =>
    db.orm
      .select({ id: sessions.id })
      .from(sessions)
      .where(and(eq(sessions.storeId, storeId), eq(sessions.mode, mode), eq(sessions.orderId, orderId)));

  return {
    insert(row) {
      insert(row);
      followApproval(null, row, row.createdAtMs);
    },
    change(row, values, nowMs) {
      db.orm.update(refunds).set(values).where(eq(refunds.id, row.id)).run();
      const changed = { ...row, ...values };
      followApproval(row, changed, nowMs);
      return changed;
    },
    find: (id) => find.get({ id }),
    own: (owner) => find.get({ id: refundIdOf(owner) }),
    isForeign: ({ refundId, storeId }) =>
      db.orm
        .select({ id: refunds.id })
        .from(refunds)
        .where(and(eq(refunds.refundId, refundId), ne(refunds.storeId, storeId)))
        .limit(1)
        .get() !== undefined,
    claimed: (token) =>
      db.orm
        .select()
        .from(refunds)
        .where(eq(refunds.claimHash, claimTokens.hashOf(token)))
        .get(),
    named(at, text, transactions) {
      const { storeId, mode } = at;
      const own = and(eq(refunds.storeId, storeId), eq(refunds.mode, mode));
      const isOwn = (row: RefundRow | undefined) => row?.storeId === storeId && row.mode === mode;
      const byId = [find.get({ id: text }), find.get({ id: refundIdOf({ ...at, refundId: text }) })].find(isOwn);
      if (byId) return byId;
      const one = (where: SQL) => db.orm.select().from(refunds).where(and(own, where)).limit(1).get();
      return (
        one(eq(refunds.receiptNumber, text)) ?? transactions.map((tx) => one(eq(refunds.tx, tx))).find((row) => row)
      );
    },
    ofSession: (sessionId, exceptId = '') => [...ofSession.all({ sessionId }), ...lostOfSession(sessionId, exceptId)],
    due: (nowS, limit) => [...ready.all({ limit }), ...unclaimed.all({ limit, nowS })].slice(0, limit),
    list({ storeId, mode, sessionId, order, status, fromMs = null, toMs = null, before, after, limit }) {
      const { id, createdAtMs } = refunds;
      const where = and(
        storeId === undefined ? undefined : eq(refunds.storeId, storeId),
        mode === undefined ? undefined : eq(refunds.mode, mode),
        sessionId === undefined ? undefined : eq(refunds.sessionId, sessionId),
        status === undefined ? undefined : eq(refunds.status, status),
        fromMs === null ? undefined : gte(createdAtMs, fromMs),
        toMs === null ? undefined : lt(createdAtMs, toMs),
        before === undefined ? undefined : sql`(${createdAtMs}, ${id}) < (${before.createdAtMs}, ${before.id})`,
        after === undefined ? undefined : sql`(${createdAtMs}, ${id}) > (${after.createdAtMs}, ${after.id})`,
        order && inArray(refunds.sessionId, idsOfOrder(order.storeId, order.mode, order.orderId)),
      );
      const direction = after === undefined ? [desc(createdAtMs), desc(id)] : [asc(createdAtMs), asc(id)];
      return db.orm
        .select()
        .from(refunds)
        .where(where)
        .orderBy(...direction)
        .limit(limit)
        .all();
    },
    isPromised({ network, currency, to, units }) {
      const isPending = and(eq(refunds.status, 'pending'), eq(refunds.network, network), eq(refunds.destination, to));
      const isIt = and(isPending, eq(refunds.currency, currency), eq(refunds.units, units));
      return db.orm.select({ id: refunds.id }).from(refunds).where(isIt).limit(1).get() !== undefined;
    },
    recent: createRecentRefunds(db),
    view,
    destinationOf,
    claimHashOf: claimTokens.newHash,
  };
}
