/**
 * Reading events, by key from either end.
 */
import { eq, sql } from 'drizzle-orm';
import type { EventDatabase, EventFilter, StoredEvent } from '../events.ts';
import type { Db } from './open.ts';
import { atFirstUse } from './prepared.ts';
import { events } from './tables.ts';

export function eventQueries(db: Db): Pick<EventDatabase, 'listEvents' | 'findEvent'> {
  // The indexes are named: by another one, a page could read past all events of the other mode.
  const list = (index: string, direction: 'ASC' | 'DESC') =>
    db.client.prepare(
      `SELECT id, store_id AS storeId, session_id AS sessionId, mode, type, body, created_at_ms AS createdAtMs
       FROM events INDEXED BY ${index}
       WHERE store_id = :storeId AND mode = :mode ${index === 'events_by_type' ? 'AND type = :type' : ''}
         AND id >= :fromId AND id < :beforeId
       ORDER BY id ${direction} LIMIT :limit`,
    );
  const lists = {
    newest: { all: list('events_by_mode', 'DESC'), ofType: list('events_by_type', 'DESC') },
    oldest: { all: list('events_by_mode', 'ASC'), ofType: list('events_by_type', 'ASC') },
  };
  const find = atFirstUse(
    db.orm
      .select()
      .from(events)
      .where(eq(events.id, sql.placeholder('id'))),
  );

  /** Reads up to `limit` of each type, so that a rare type is not searched among all the others. */
  function ofTypes({ types = [], first, limit, ...range }: EventFilter): StoredEvent[] {
    const found = [...new Set(types)].flatMap(
      (type) => lists[first].ofType.all({ ...range, type, limit }) as StoredEvent[],
    );
    const sign = first === 'newest' ? -1 : 1;
    return found.sort((a, b) => (a.id < b.id ? -sign : sign)).slice(0, limit);
  }

  return {
    async listEvents(filter) {
      return db.read(() => {
        if (filter.types) return ofTypes(filter);
        const { first, ...range } = filter;
        return lists[first].all.all(range) as StoredEvent[];
      });
    },
    async findEvent(id) {
      return db.read(() => find.get({ id }) ?? null);
    },
  };
}
