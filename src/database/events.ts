/**
 * Reading events, by key from either end.
 */

import { eq, sql } from 'drizzle-orm';
import type { EventType } from '../core/event.ts';
import type { Mode } from '../core/transfer.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse } from './engine/prepared.ts';
import { events } from './tables.ts';

/** `body` is the exact text that every endpoint gets. */
export type StoredEvent = Readonly<{
  id: string;
  storeId: string;
  sessionId: string;
  mode: Mode;
  type: EventType;
  body: string;
  createdAtMs: number;
}>;

/** Ids rise in the order of commits, so whoever reads on from the last id misses none. */
export type EventFilter = Readonly<{
  storeId: string;
  mode: Mode;
  /** Only these types; all if absent. */
  types?: readonly EventType[];
  /** Only ids from here on, and only ids below. */
  fromId: string;
  beforeId: string;
  /** Which of the matching events come first. */
  first: 'newest' | 'oldest';
  limit: number;
}>;

export function eventQueries(db: Db) {
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
    /** Returns at most `limit` events by their ids; the cost does not grow with what is stored. */
    async list(filter: EventFilter): Promise<readonly StoredEvent[]> {
      return db.read(() => {
        if (filter.types) return ofTypes(filter);
        const { first, ...range } = filter;
        return lists[first].all.all(range) as StoredEvent[];
      });
    },
    async find(id: string): Promise<StoredEvent | null> {
      return db.read(() => find.get({ id }) ?? null);
    },
  };
}
