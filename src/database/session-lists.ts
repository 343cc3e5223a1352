/**
 * Lists of sessions. Each reads an index from where the list goes on, so a page costs the same however many there are.
 */

import { and, asc, desc, eq, gt, gte, inArray, lt, type SQL, sql } from 'drizzle-orm';
import type { SessionStatus } from '../core/event.ts';
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';
import { firstSessionId } from '../lib/id.ts';
import { filterInOrder, mapInOrder } from './engine/each.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, findBy, given } from './engine/prepared.ts';
import type { StoredEvent } from './events.ts';
import { type SessionRow, type SessionSummary, toSession } from './session.ts';
import { addresses, events, sessions, transfers } from './tables.ts';

/** A currency on a network. */
export type PaidIn = Readonly<{ network: NetworkKey; currency: Currency }>;

/** Oddities of a session: late, too much or too little money, or money that waits for a decision. */
export const sessionFlags = ['late', 'over', 'under', 'held'] as const;
export type SessionFlag = (typeof sessionFlags)[number];

export type SessionFilter = Readonly<{
  storeId: string;
  mode: Mode;
  status: SessionStatus | null;
  flag?: SessionFlag | null;
  /** Only sessions that were credited in one of these; null: all. */
  paidIn: readonly PaidIn[] | null;
  /** Created from this time on, and before that one (Unix ms); null: no bound. */
  fromMs: number | null;
  toMs: number | null;
}>;

/** A page of a list, newest first. Ids sort by time, so `beforeId` goes on where a page ended. */
export type SessionList = SessionFilter & Readonly<{ beforeId: string | null; limit: number }>;

/**
 * A page of whole sessions, as their merchant reads them back. `first`: which of those that match come first. Null: no
 * filter.
 */
export type SessionPaging = Readonly<{
  storeId: string;
  mode: Mode;
  orderId: string | null;
  status: SessionStatus | null;
  /** Only ids from here on, and only ids below. */
  fromId: string;
  beforeId: string;
  first: 'newest' | 'oldest';
  limit: number;
}>;

/** `goOnId` is the `beforeId` of the next page, which may be shorter than `limit`, or empty; null at the end. */
export type SessionPage<Summary> = Readonly<{ sessions: readonly Summary[]; goOnId: string | null }>;

/**
 * A search: the beginning of an order id, a transaction in any of its spellings, an address's key, or an
 * amount that was asked for in one of the currencies, or that came.
 */
export type SessionSearch =
  | Readonly<{ kind: 'order'; orderId: string }>
  | Readonly<{ kind: 'transaction'; spellings: readonly string[] }>
  | Readonly<{ kind: 'address'; family: string; key: string }>
  | Readonly<{
      kind: 'amount';
      asked: readonly Readonly<{ amountMinor: bigint; currencies: readonly string[] }>[];
      receivedPar: bigint | null;
    }>;

/** Above every character that an order id may hold. */
const LAST_CHARACTER = '\u{10ffff}';
/** One address's transaction may pay others of ours; more than these are not shown. */
const FOUND_MAX = 100;

/** More than there are currency codes. */
const CURRENCIES_MAX = 1_000;

/** A page of a list by more than one of flag, coins and status looks at this many sessions at most. */
const NARROWED_MAX = 300;
/** Sessions with payments that a page by coins looks at. */
const CREDITED_LOOKED_AT = 1_000;

/** As the index has it. */
const isOdd = sql`(${sessions.funded} IN ('over', 'part') OR ${sessions.late} + ${sessions.paidLate} > 0)`;
const odd: Readonly<Record<Exclude<SessionFlag, 'held'>, SQL | undefined>> = {
  over: and(isOdd, eq(sessions.funded, 'over')),
  under: and(isOdd, eq(sessions.funded, 'part')),
  late: and(isOdd, sql`${sessions.late} + ${sessions.paidLate} > 0`),
};

const isNotZero = sql`${sessions.confirmedPar} <> '0'`;

type At = Readonly<{ storeId: string; mode: Mode }>;
/** Sessions to look at for a page, and where the next one goes on if these were not all. */
type Narrowed = Readonly<{ ids: readonly string[]; goOnId: string | null }>;
type IdRange = readonly [fromId: string, beforeId: string];
type Asked = Extract<SessionSearch, { kind: 'amount' }>['asked'][number];

const summaryOf = (row: SessionRow): SessionSummary => {
  const { addresses: _addresses, payments: _payments, ...summary } = toSession(row, {}, []);
  return summary;
};

export function sessionListQueries(db: Db) {
  const { orm } = db;
  const select = async (where: SQL | undefined, limit: number) =>
    (await orm.select().from(sessions).where(where).orderBy(desc(sessions.id)).limit(limit).all()).map(summaryOf);

  // In the order of the list, whatever the planner makes of the join.
  const held = db.client
    .prepare(
      `SELECT h.session_id FROM held_money AS h
       WHERE h.state = 'open' AND h.session_id >= ? AND h.session_id < ?
         AND EXISTS (SELECT 1 FROM sessions AS s WHERE s.id = h.session_id AND s.store_id = ? AND s.mode = ?)
       ORDER BY h.session_id DESC LIMIT ?`,
    )
    .pluck();
  const withPayments = db.client
    .prepare(
      `SELECT id FROM sessions
       WHERE store_id = ? AND mode = ? AND payment_count > 0 AND id >= ? AND id < ? ORDER BY id DESC LIMIT ?`,
    )
    .pluck();
  const creditIn = db.client.prepare(
    `SELECT 1 FROM ledger_postings AS p
     JOIN ledger_entries AS e ON e.network = p.network AND e.seq = p.seq AND e.kind = 'payment'
     WHERE p.subject = ? AND p.subject <> '' AND p.account = 'received' AND p.network = ? AND p.asset = ? LIMIT 1`,
  );
  const addressesOf = findBy(db, addresses, 'sessionId');
  const isCredited = and(eq(transfers.dust, sql`0`), eq(transfers.confirmed, sql`1`));
  const paying = atFirstUse(
    orm
      .select({ tx: transfers.tx })
      .from(transfers)
      .where(and(given(transfers, 'addressId'), isCredited))
      .orderBy(asc(transfers.id))
      .limit(sql.placeholder('limit')),
  );

  const ofStore = ({ storeId, mode }: At) => and(eq(sessions.storeId, storeId), eq(sessions.mode, mode));

  /** Returns whether a session was ever credited in an asset of the filter. */
  async function isPaidIn({ paidIn }: SessionFilter, id: string): Promise<boolean> {
    if (paidIn === null) return true;
    for (const { network, currency } of paidIn) {
      if ((await creditIn.get(id, network, currency)) !== undefined) return true;
    }
    return false;
  }

  const narrowedTo = (ids: readonly string[]): Narrowed => ({
    ids,
    goOnId: ids.length === NARROWED_MAX ? (ids.at(-1) ?? null) : null,
  });

  /** Returns the newest sessions with money to decide about; one may be there twice. */
  async function heldIds(filter: SessionFilter, [fromId, beforeId]: IdRange): Promise<Narrowed> {
    const { ids, goOnId } = narrowedTo(
      (await held.all(fromId, beforeId, filter.storeId, filter.mode, NARROWED_MAX)) as string[],
    );
    return { ids: await filterInOrder(ids, (id) => isPaidIn(filter, id)), goOnId };
  }

  /** Returns the newest sessions credited in an asset of the filter, of any status. */
  async function creditedIds(filter: SessionFilter, [fromId, beforeId]: IdRange): Promise<Narrowed> {
    const looked = (await withPayments.all(
      filter.storeId,
      filter.mode,
      fromId,
      beforeId,
      CREDITED_LOOKED_AT,
    )) as string[];
    const ids: string[] = [];
    for (const id of looked) {
      if (await isPaidIn(filter, id)) ids.push(id);
      if (ids.length === NARROWED_MAX) return { ids, goOnId: id };
    }
    return { ids, goOnId: looked.length === CREDITED_LOOKED_AT ? (looked.at(-1) ?? null) : null };
  }

  const conditionsOf = ({ status, flag = null }: SessionFilter) => ({
    flag: flag === null || flag === 'held' ? undefined : odd[flag],
    status: status === null ? undefined : eq(sessions.status, status),
  });

  /**
   * Returns the newest sessions among which a page is looked for; null where one index has the whole filter. What is
   * rarer goes first.
   */
  async function narrowed(filter: SessionFilter, range: IdRange): Promise<Narrowed | null> {
    const { flag, paidIn } = filter;
    if (flag === 'held') return heldIds(filter, range);
    const { flag: flagged, status } = conditionsOf(filter);
    const [first, ...others] = [flagged, status].filter((one) => one !== undefined);
    if (paidIn) return creditedIds(filter, range);
    if (first === undefined || others.length === 0) return null;
    const isFirst = and(ofStore(filter), first, gte(sessions.id, range[0]), lt(sessions.id, range[1]));
    const ids = orm.select({ id: sessions.id }).from(sessions).where(isFirst).orderBy(desc(sessions.id));
    return narrowedTo((await ids.limit(NARROWED_MAX).all()).map(({ id }) => id));
  }

  /** Returns the currencies of the sessions that match, in order of their codes; each is found by one seek. */
  async function currenciesOf(where: SQL | undefined, limit: number): Promise<string[]> {
    const found: string[] = [];
    while (found.length < limit) {
      const isNext = and(where, gt(sessions.currency, found.at(-1) ?? ''));
      const one = orm.select({ currency: sessions.currency }).from(sessions).where(isNext);
      const next = await one.orderBy(asc(sessions.currency)).limit(1).get();
      if (!next) break;
      found.push(next.currency);
    }
    return found;
  }

  /** Returns the sessions of one price. */
  async function askedFor(at: At, { amountMinor, currencies }: Asked, limit: number): Promise<SessionSummary[]> {
    const priced = and(ofStore(at), eq(sessions.amountMinor, amountMinor));
    const fitting = (await currenciesOf(priced, CURRENCIES_MAX)).filter((currency) => currencies.includes(currency));
    return (
      await mapInOrder(fitting, (currency) => select(and(priced, eq(sessions.currency, currency)), limit))
    ).flat();
  }

  /** Returns the newest sessions that asked for an amount, or whose confirmed money is that amount. */
  async function ofAmount(at: At, { asked, receivedPar }: Extract<SessionSearch, { kind: 'amount' }>, limit: number) {
    // The literal says to SQLite that the index on what came, which leaves out zero, has all of them.
    const came = receivedPar !== null && and(ofStore(at), eq(sessions.confirmedPar, receivedPar), isNotZero);
    const found = [
      ...(await mapInOrder(asked, (one) => askedFor(at, one, limit))).flat(),
      ...(came ? await select(came, limit) : []),
    ];
    const byId = new Map(found.map((session) => [session.id, session]));
    return [...byId.values()].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, limit);
  }

  /** Returns the ids of the sessions whose addresses a search is about. */
  async function idsOf(search: Extract<SessionSearch, { kind: 'address' | 'transaction' }>): Promise<string[]> {
    const rows =
      search.kind === 'address'
        ? await orm
            .select({ id: addresses.sessionId })
            .from(addresses)
            .where(and(eq(addresses.family, search.family), eq(addresses.key, search.key)))
            .limit(FOUND_MAX)
            .all()
        : await orm
            .selectDistinct({ id: addresses.sessionId })
            .from(transfers)
            .innerJoin(addresses, eq(addresses.id, transfers.addressId))
            .where(inArray(transfers.tx, [...search.spellings]))
            .limit(FOUND_MAX)
            .all();
    return rows.flatMap(({ id }) => id ?? []);
  }

  return {
    async list({ beforeId, limit, ...filter }: SessionList): Promise<SessionPage<SessionSummary>> {
      const { fromMs, toMs } = filter;
      const until = [beforeId, toMs === null ? null : firstSessionId(toMs)].filter((id) => id !== null).sort();
      const range: IdRange = [fromMs === null ? '' : firstSessionId(fromMs), until[0] ?? LAST_CHARACTER];
      return db.read(async () => {
        const among = await narrowed(filter, range);
        const { flag, status } = conditionsOf(filter);
        const found = await select(
          and(
            ofStore(filter),
            ...[flag, status],
            among ? inArray(sessions.id, [...among.ids]) : and(gte(sessions.id, range[0]), lt(sessions.id, range[1])),
          ),
          limit + 1,
        );
        const shown = found.slice(0, limit);
        return { sessions: shown, goOnId: (found.length > limit ? shown.at(-1)?.id : among?.goOnId) ?? null };
      });
    },
    /** Returns the confirmed transactions to each session's addresses, at most `limit` for each. */
    async transactionsOf(
      sessionIds: readonly string[],
      limit: number,
    ): Promise<ReadonlyMap<string, readonly string[]>> {
      const ofSession = async (sessionId: string): Promise<string[]> => {
        const all = (
          await mapInOrder(await addressesOf.all({ sessionId }), ({ id: addressId }) =>
            paying.all({ addressId, limit }),
          )
        ).flat();
        return [...new Set(all.map(({ tx }) => tx))].slice(0, limit);
      };
      return db.read(
        async () => new Map(await mapInOrder(sessionIds, async (id) => [id, await ofSession(id)] as const)),
      );
    },
    /** Returns a session's events, oldest first. */
    async listEvents(sessionId: string, limit: number): Promise<readonly StoredEvent[]> {
      return db.read(() =>
        orm.select().from(events).where(eq(events.sessionId, sessionId)).orderBy(events.id).limit(limit).all(),
      );
    },
    /** Returns at most `limit` sessions of the store and mode, newest first; a whole order id comes first of all. */
    async search(
      search: SessionSearch,
      { limit, ...at }: Readonly<{ storeId: string; mode: Mode; limit: number }>,
    ): Promise<readonly SessionSummary[]> {
      const own = ofStore(at);
      return db.read(async () => {
        if (search.kind === 'amount') return ofAmount(at, search, limit);
        if (search.kind !== 'order') return select(and(own, inArray(sessions.id, await idsOf(search))), limit);
        const { orderId } = search;
        // An order that ended unpaid can be tried again, so it can have several.
        const whole = await select(and(own, eq(sessions.orderId, orderId)), limit);
        const longer = await orm
          .select()
          .from(sessions)
          .where(and(own, gte(sessions.orderId, `${orderId}\u0001`), lt(sessions.orderId, orderId + LAST_CHARACTER)))
          .orderBy(sessions.orderId)
          .limit(limit - whole.length)
          .all();
        return [...whole, ...longer.map(summaryOf)];
      });
    },
  };
}
