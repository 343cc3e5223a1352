/** A session's row, and the parts of it that core reads. */

import { type SessionStatus, sessionStatuses } from '../core/event.ts';
import { invariant } from '../core/fault.ts';
import { deadline, type Life, type ReceiptSum, type Standing, type Terms } from '../core/session.ts';
import type { Mode } from '../core/transfer.ts';
import { toSeconds } from '../lib/clock.ts';
import { firstSessionId } from '../lib/id.ts';
import type { OrderDetails, SessionRequest } from './column-values.ts';
import { mapInOrder } from './engine/bodies.ts';
import type { Db } from './engine/open.ts';
import { findRow, findRows } from './engine/rows.ts';
import { sessions } from './tables.ts';
import type { transferRowsOf } from './transfers.ts';

/** A transfer to the session's address in its current state. */
export type Payment = Awaited<ReturnType<ReturnType<typeof transferRowsOf>['ofSession']>>[number];

/** Most payments that a session shows, because anybody can send any number of transfers to an address. */
export const PAYMENTS_MAX = 100;

/** A session as lists show it. `sums`: by network, coin and time. */
export type SessionSummary = Readonly<ReturnType<typeof summaryOf>>;

/**
 * A session with everything that the API shows. `addresses` maps families to address keys. `payments`: the newest
 * `PAYMENTS_MAX` transfers that are not dust, oldest first. `paymentCount`: the number of all of them.
 */
export type Session = SessionSummary &
  Readonly<{ addresses: Readonly<Record<string, string>>; payments: readonly Payment[] }>;

export type SessionRow = typeof sessions.$inferSelect;

/** Finds a session's row by its full id, within a transaction. */
export const findSession = (db: Db, id: string): Promise<SessionRow | undefined> => findRow(db, sessions, { id });

/** Returns the row of a session that another row names. */
export async function sessionOf(db: Db, id: string): Promise<SessionRow> {
  const row = await findSession(db, id);
  invariant(row, `session ${id} exists`);
  return row;
}

const lifeNames = ['status', 'endedAtS', 'paidAtS', 'canceledAtS', 'paidLate', 'takesAnyToken'] as const;
const standingNames = ['funded', 'firm', 'touched', 'late', 'seenPar', 'confirmedPar', 'latePar'] as const;
/** The columns that change during a session's life. */
export const stateColumnNames = [...lifeNames, ...standingNames, 'deadlineS', 'sums'] as const;

type SessionState = Pick<SessionRow, (typeof stateColumnNames)[number]>;

const pick = <T, Name extends keyof T>(row: T, names: readonly Name[]): Pick<T, Name> =>
  Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<T, Name>;

export function termsOf({ terms, createdAtMs, beforeNumbers }: SessionRow): Terms {
  const { duePar, tolerancePar, accepts, expiresAtS, inclusionGraceS, topUpGraceS, monitoringS, latePolicy } = terms;
  return {
    createdAtS: toSeconds(createdAtMs),
    beforeNumbers,
    duePar,
    tolerancePar,
    accepts,
    expiresAtS,
    inclusionGraceS,
    topUpGraceS,
    monitoringS,
    latePolicy,
  };
}

export const lifeOf = (state: SessionState): Life => pick(state, lifeNames);
export const standingOf = (state: SessionState): Standing => pick(state, standingNames);

/** Returns the state columns, including the deadline by which `settleDue` finds the session. */
export const stateOf = (terms: Terms, life: Life, standing: Standing, sums: readonly ReceiptSum[]): SessionState => ({
  ...life,
  ...standing,
  deadlineS: deadline(terms, life, standing),
  sums,
});

/** Returns the amount due, in the minor unit of the settlement currency. */
export const dueOf = ({ terms: { conversion, accepts }, amountMinor }: SessionRow) => ({
  amountMinor: conversion?.amountMinor ?? amountMinor,
  currency: conversion?.currency ?? accepts[0] ?? 'USDT',
});

const noDetails: OrderDetails = {
  description: null,
  lineItems: null,
  successUrl: null,
  cancelUrl: null,
  metadata: null,
};

/** Returns the columns of a merchant's request. The rest of the request is in the terms. */
export function requestColumns(request: SessionRequest) {
  const { orderId, amountMinor, currency, description, lineItems, successUrl, cancelUrl, metadata } = request;
  const details: OrderDetails = { description, lineItems, successUrl, cancelUrl, metadata };
  const isEmpty = Object.values(details).every((value) => value === null);
  return { orderId, amountMinor, currency, orderDetails: isEmpty ? null : details };
}

/** Returns the session as lists show it. */
function summaryOf(row: SessionRow) {
  const { id, storeId, mode, orderId, amountMinor, currency, orderDetails, sums, paymentCount } = row;
  const { taxMinor, shippingMinor, webhookUrl, conversion, options } = row.terms;
  const asked = { orderId, amountMinor, currency, taxMinor, shippingMinor, webhookUrl };
  const request: SessionRequest = { ...asked, ...(orderDetails ?? noDetails) };
  const [terms, life, standing] = [termsOf(row), lifeOf(row), standingOf(row)];
  const createdAtS = toSeconds(row.createdAtMs);
  return { id, storeId, mode, request, conversion, terms, life, standing, sums, options, paymentCount, createdAtS };
}

/** Returns the session as its own page shows it. */
export const toSession = (
  row: SessionRow,
  addresses: Readonly<Record<string, string>>,
  payments: readonly Payment[],
): Session => ({ ...summaryOf(row), addresses, payments });

// ── Lists ────────────────────────────────────────────────────────────────────────────────────────────────────────────
// Each list reads an index from the place where it goes on, so the cost of a page does not grow with the list.

/** A page of a store's rows whose ids rise with the time. */
export type IdPage = Readonly<{
  storeId: string;
  mode: Mode;
  /** The lowest id. */
  fromId: string;
  /** The id after the highest. */
  beforeId: string;
  /** The end from which the matches are listed. */
  first: 'newest' | 'oldest';
  limit: number;
}>;

/** A page of sessions. Null is no filter. `held`: sessions with open held money, newest first. */
export type SessionPaging = IdPage & Readonly<{ orderId: string | null; status: SessionStatus | 'held' | null }>;

/** A search for the beginning of an order id, a transaction in any of its spellings, or an address's key. */
export type SessionSearch =
  | Readonly<{ kind: 'order'; orderId: string }>
  | Readonly<{ kind: 'transaction'; spellings: readonly string[] }>
  | Readonly<{ kind: 'address'; family: string; key: string }>;

/** A character above every one that an order id may contain. */
const LAST_CHARACTER = '\u{10ffff}';
/** Most sessions that a search by transaction or address shows. One transaction can pay many addresses. */
const FOUND_MAX = 100;

/**
 * SQL for the ids of sessions with open held money. It is written so that the planner reads in the order of the list.
 */
const withHeldMoney = `
  SELECT DISTINCT h.session_id FROM held_money AS h
  WHERE h.state = 'open' AND h.session_id >= :fromId AND h.session_id < :beforeId
    AND EXISTS (SELECT 1 FROM sessions AS s WHERE s.id = h.session_id AND s.store_id = :storeId AND s.mode = :mode)
  ORDER BY h.session_id DESC LIMIT :limit`;

/** Returns the ids of a page, in its order. The index is by status, so each status is one seek. */
export async function idsOfPage({ client }: Db, { status, first, ...page }: SessionPaging): Promise<readonly string[]> {
  const isNewest = first === 'newest';
  const idsOf = (which: string) =>
    client.values<string>(
      `SELECT id FROM sessions
         WHERE store_id = :storeId AND mode = :mode AND ${which} AND id >= :fromId AND id < :beforeId
         ORDER BY id ${isNewest ? 'DESC' : 'ASC'} LIMIT :limit`,
    );
  if (status === 'held') return client.values<string>(withHeldMoney).all(page);
  const ofOrder = 'order_id = :orderId AND (CAST(:status AS TEXT) IS NULL OR status = :status)';
  if (page.orderId !== null) return idsOf(ofOrder).all({ ...page, status });
  const ofEach = await mapInOrder(status === null ? sessionStatuses : [status], (one) =>
    idsOf('status = :status').all({ ...page, status: one }),
  );
  const ids = ofEach.flat().sort();
  return (isNewest ? ids.reverse() : ids).slice(0, page.limit);
}

/** Returns the sessions with these ids, in their order. */
export const sessionsById = async (db: Db, ids: readonly string[]): Promise<readonly SessionRow[]> =>
  (await mapInOrder(ids, (id) => findSession(db, id))).flatMap((row) => row ?? []);

export function sessionListQueries(db: Db) {
  const ofAddress = db.client.values<string | null>(
    'SELECT session_id FROM addresses WHERE family = :family AND mode = :mode AND key = :key',
  );
  const ofTransaction = db.client.values<string | null>(
    `SELECT DISTINCT a.session_id FROM transfers AS t JOIN addresses AS a ON a.id = t.address_id
       WHERE t.tx = ? LIMIT ${FOUND_MAX}`,
  );

  /** Returns the ids of the sessions whose addresses match a search. */
  async function idsOf(search: Extract<SessionSearch, { kind: 'address' | 'transaction' }>, mode: Mode) {
    const found =
      search.kind === 'address'
        ? await ofAddress.all({ family: search.family, mode, key: search.key })
        : (await mapInOrder(search.spellings, (tx) => ofTransaction.all(tx))).flat();
    return [...new Set(found.flatMap((id) => id ?? []))];
  }

  const ofOrder = db.client.values<string>(
    `SELECT id FROM sessions
       WHERE store_id IN (SELECT id FROM stores) AND mode IN ('live', 'test') AND order_id = ? ORDER BY id LIMIT ${FOUND_MAX}`,
  );

  const open = db.client.values<number>(
    `SELECT count(*) FROM sessions WHERE store_id = :storeId AND mode = :mode AND status = 'pending' AND id >= :fromId`,
  );

  return {
    /** Counts a store's open sessions that were created since a time. */
    async countOpen(at: Readonly<{ storeId: string; mode: Mode }>, sinceMs: number): Promise<number> {
      return (await db.read(() => open.get({ ...at, fromId: firstSessionId(sinceMs) }))) ?? 0;
    },
    /** Returns the ids of the sessions of an order, of every store and mode. */
    async idsOfOrder(orderId: string): Promise<readonly string[]> {
      return db.read(() => ofOrder.all(orderId));
    },
    /** Returns a page of sessions as lists show them. */
    async list(page: SessionPaging): Promise<readonly SessionSummary[]> {
      return db.read(async () => (await sessionsById(db, await idsOfPage(db, page))).map(summaryOf));
    },
    /**
     * Returns at most `limit` sessions of the store and mode, newest first. A match of a whole order id comes first.
     */
    async search(
      search: SessionSearch,
      { limit, ...at }: Readonly<{ storeId: string; mode: Mode; limit: number }>,
    ): Promise<readonly SessionSummary[]> {
      const own = 'WHERE store_id = :storeId AND mode = :mode';
      const find = (which: string, values: Readonly<Record<string, string | number>>) =>
        findRows(db, sessions, `${own} AND ${which} LIMIT :limit`, { ...at, limit, ...values });
      return db.read(async () => {
        if (search.kind !== 'order') {
          const found = await sessionsById(db, (await idsOf(search, at.mode)).sort().reverse());
          return found
            .filter((row) => row.storeId === at.storeId && row.mode === at.mode)
            .slice(0, limit)
            .map(summaryOf);
        }
        const { orderId } = search;
        // An order can have several sessions, because it can be tried again after one ended unpaid.
        const whole = await find('order_id = :orderId ORDER BY id DESC', { orderId });
        const longer = await find('order_id >= :fromOrder AND order_id < :below ORDER BY order_id', {
          fromOrder: `${orderId}\u0001`,
          below: orderId + LAST_CHARACTER,
          limit: limit - whole.length,
        });
        return [...whole, ...longer].map(summaryOf);
      });
    },
  };
}
