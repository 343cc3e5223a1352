/**
 * Events and their deliveries, written in the transaction of the change that they report. An endpoint that is switched
 * off gets deliveries too: they wait until it is on.
 */

import { eq, sql } from 'drizzle-orm';
import { type EventType, isExtended } from '../core/event.ts';
import { invariant } from '../core/fault.ts';
import type { Mode } from '../core/transfer.ts';
import { sortableId } from '../lib/id.ts';
import { type EventEndpoint, prepareEndpointsOf, type RefreshDue } from './endpoints.ts';
import { mapInOrder } from './engine/each.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, preparedInsert } from './engine/prepared.ts';
import { createCounters } from './meta.ts';
import type { SessionRow } from './session.ts';
import { deliveries, events } from './tables.ts';

/** `body` is the exact text that every endpoint gets. */
export type StoredEvent = typeof events.$inferSelect;

/** A store's ids rise in the order of commits, so a merchant who reads on from the last id misses none. */
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

/** Returns the id before those of all events since then. */
export const firstEventId = (sinceMs: number): string => `evt_${BigInt(sinceMs) * 1_000_000n}`;

export type EventSession = Pick<SessionRow, 'id' | 'storeId' | 'mode' | 'terms'>;

type BodyOf = (eventId: string) => string;

export type Outbox = Readonly<{
  /**
   * Saves an event and one delivery, due at once, for each endpoint that receives its type, on or off.
   * @param body makes the exact text to send, given the event's id
   */
  post(session: EventSession, type: EventType, nowMs: number, body: BodyOf): Promise<void>;
}>;

/** Returns whether an endpoint receives events of a type. */
const receives = ({ extendedEvents }: EventEndpoint, type: EventType): boolean =>
  !isExtended(type) || extendedEvents.includes(type);

export function createOutbox(db: Db, refreshDue: RefreshDue): Outbox {
  const insertEvent = db.client.prepare(
    `INSERT INTO events (id, store_id, mode, session_id, type, body, created_at_ms)
     VALUES (:id, :storeId, :mode, :sessionId, :type, :body, :nowMs) ON CONFLICT (id) DO NOTHING`,
  );
  const nextNumber = createCounters(db);
  const insertDelivery = preparedInsert(db, deliveries);
  const endpointsOf = prepareEndpointsOf(db);

  /**
   * Saves an event with the store's next id: `evt_` and nanoseconds, 19 digits until 2286. The store's counter has the
   * microseconds; the last three digits tell apart what stores have in the same one.
   */
  async function save(
    event: Omit<StoredEvent, 'id' | 'body' | 'createdAtMs'>,
    nowMs: number,
    body: BodyOf,
  ): Promise<string> {
    const prefix = `evt_${await nextNumber(`events:${event.storeId}`, nowMs * 1000)}`;
    for (let at = 0; ; at++) {
      invariant(at < 1000, `fewer than a thousand stores have an event ${prefix}…`);
      const id = `${prefix}${String(at).padStart(3, '0')}`;
      if ((await insertEvent.run({ ...event, id, nowMs, body: body(id) })).changes === 1) return id;
    }
  }

  return {
    async post(session, type, nowMs, body) {
      const { id: sessionId, storeId, mode, terms } = session;
      const eventId = await save({ storeId, sessionId, mode, type }, nowMs, body);
      for (const endpoint of await endpointsOf({ storeId, mode, webhookUrl: terms.webhookUrl, nowMs })) {
        if (!receives(endpoint, type)) continue;
        await insertDelivery({
          ...{ id: `dlv_${sortableId(nowMs, eventId + endpoint.id)}`, eventId, endpointId: endpoint.id, sessionId },
          ...{ state: 'waiting', attempts: 0, dueAtMs: nowMs, leaseUntilMs: null, leaseHolder: null },
          ...{ lastStatus: null, lastError: null, createdAtMs: nowMs },
        });
        await refreshDue(endpoint.id);
      }
    },
  };
}

export function eventQueries(db: Db) {
  const list = (which: '' | 'AND type = :type', direction: 'ASC' | 'DESC') =>
    db.client.prepare(
      `SELECT id, store_id AS "storeId", session_id AS "sessionId", mode, type, body, created_at_ms AS "createdAtMs"
       FROM events WHERE store_id = :storeId AND mode = :mode ${which} AND id >= :fromId AND id < :beforeId
       ORDER BY id ${direction} LIMIT :limit`,
    );
  const lists = {
    newest: { all: list('', 'DESC'), ofType: list('AND type = :type', 'DESC') },
    oldest: { all: list('', 'ASC'), ofType: list('AND type = :type', 'ASC') },
  };
  const find = atFirstUse(
    db.orm
      .select()
      .from(events)
      .where(eq(events.id, sql.placeholder('id'))),
  );

  /** Reads up to `limit` of each type, so that a rare type is not searched among all the others. */
  async function ofTypes({ types = [], first, limit, ...range }: EventFilter): Promise<StoredEvent[]> {
    const found = (
      await mapInOrder(
        [...new Set(types)],
        async (type) => (await lists[first].ofType.all({ ...range, type, limit })) as StoredEvent[],
      )
    ).flat();
    const sign = first === 'newest' ? -1 : 1;
    return found.sort((a, b) => (a.id < b.id ? -sign : sign)).slice(0, limit);
  }

  return {
    /** Returns at most `limit` events by their ids; the cost does not grow with what is stored. */
    async list(filter: EventFilter): Promise<readonly StoredEvent[]> {
      return db.read(async () => {
        if (filter.types) return ofTypes(filter);
        const { first, ...range } = filter;
        return (await lists[first].all.all(range)) as StoredEvent[];
      });
    },
    async find(id: string): Promise<StoredEvent | null> {
      return db.read(async () => (await find.get({ id })) ?? null);
    },
  };
}
