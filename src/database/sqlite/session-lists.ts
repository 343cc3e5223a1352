/**
 * Lists of sessions. Each reads an index from where the list goes on, so a page costs the same however many there are.
 * @module
 */
import { and, desc, eq, gte, inArray, lt, type SQL } from 'drizzle-orm';
import type { SessionSummary } from '../database.ts';
import type { SessionListDatabase, SessionSearch } from '../session-lists.ts';
import type { Db } from './open.ts';
import { addresses, events, sessions, transfers } from './schema.ts';
import { toSession } from './session-row.ts';

/** Above every character that an order id may hold. */
const LAST_CHARACTER = '\u{10ffff}';
/** One address's transaction may pay others of ours; more than these are not shown. */
const FOUND_MAX = 100;

const summaryOf = (row: typeof sessions.$inferSelect): SessionSummary => {
  const { addresses: _addresses, payments: _payments, ...summary } = toSession(row, {}, []);
  return summary;
};

export function sessionListQueries(db: Db): SessionListDatabase<SessionSummary> {
  const { orm } = db;
  const select = (where: SQL | undefined, limit: number) =>
    orm.select().from(sessions).where(where).orderBy(desc(sessions.id)).limit(limit).all().map(summaryOf);

  /** Returns the ids of the sessions whose addresses a search is about. */
  function idsOf(search: Exclude<SessionSearch, { kind: 'order' }>): string[] {
    const rows =
      search.kind === 'address'
        ? orm
            .select({ id: addresses.sessionId })
            .from(addresses)
            .where(and(eq(addresses.family, search.family), eq(addresses.key, search.key)))
            .limit(FOUND_MAX)
            .all()
        : orm
            .selectDistinct({ id: addresses.sessionId })
            .from(transfers)
            .innerJoin(addresses, eq(addresses.id, transfers.addressId))
            .where(inArray(transfers.tx, [...search.spellings]))
            .limit(FOUND_MAX)
            .all();
    return rows.flatMap(({ id }) => id ?? []);
  }

  return {
    async listSessions({ storeId, mode, status, beforeId, limit }) {
      return db.read(() =>
        select(
          and(
            eq(sessions.storeId, storeId),
            eq(sessions.mode, mode),
            status === null ? undefined : eq(sessions.status, status),
            beforeId === null ? undefined : lt(sessions.id, beforeId),
          ),
          limit,
        ),
      );
    },
    async listSessionEvents(sessionId, limit) {
      return db.read(() =>
        orm.select().from(events).where(eq(events.sessionId, sessionId)).orderBy(events.id).limit(limit).all(),
      );
    },
    async searchSessions(search, { storeId, mode, limit }) {
      const own = and(eq(sessions.storeId, storeId), eq(sessions.mode, mode));
      return db.read(() => {
        if (search.kind !== 'order') return select(and(own, inArray(sessions.id, idsOf(search))), limit);
        const { orderId } = search;
        const whole = select(and(own, eq(sessions.orderId, orderId)), 1);
        const longer = orm
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
