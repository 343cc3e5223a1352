/**
 * Deliveries: listing them, resending. Leasing is in `claims.ts`, recording attempts in `attempts.ts`.
 *
 * `next_attempt_at_ms` is the automatic schedule, `manual_at_ms` a requested resend; neither affects the other.
 */

import { and, desc, eq, type SQL, sql } from 'drizzle-orm';
import type { EventType } from '../core/event.ts';
import type { Mode } from '../core/transfer.ts';
import type { PastAttempt } from './attempts.ts';
import type { DueTimes } from './due.ts';
import type { Db } from './engine/open.ts';
import { attempts, deliveries, endpoints, events } from './tables.ts';

export type DeliveryState = 'waiting' | 'delivered' | 'failed';

/** One event on its way to one endpoint. `attempts` counts only automatic attempts. */
export type Delivery = Readonly<{
  id: string;
  endpointId: string;
  eventId: string;
  eventType: EventType;
  sessionId: string;
  state: DeliveryState;
  attempts: number;
  nextAttemptAtMs: number | null;
  createdAtMs: number;
  lastStatus: number | null;
  lastError: string | null;
}>;

/** `after`: only those that come after this one, in the order of the list. */
export type DeliveryFilter = Readonly<{
  id?: string;
  storeId?: string;
  sessionId?: string;
  state?: DeliveryState;
  limit: number;
}>;

/**
 * Which deliveries of a store a list shows; null: any. `answer`: by the status of the last answer, from
 * `from` to `to`, or `none` for what was tried and got none.
 */
export type DeliverySearch = Readonly<{
  endpointId: string | null;
  state: DeliveryState | null;
  answer: Readonly<{ from: number; to: number }> | 'none' | null;
}>;

/** The last delivery of a page of a store's list, the last that was looked at, or the next event with an empty `id`. */
export type DeliveryCursor = Pick<Delivery, 'id' | 'eventId'>;

const {
  id,
  endpointId,
  eventId,
  attempts: tries,
  nextAttemptAtMs,
  createdAtMs,
  lastStatus,
  lastError,
  state: stateColumn,
} = deliveries;

const shownColumns = {
  ...{ id, endpointId, eventId, eventType: events.type, sessionId: events.sessionId, state: stateColumn },
  ...{ attempts: tries, nextAttemptAtMs, createdAtMs, lastStatus, lastError },
};

function pastAttempt(row: typeof attempts.$inferSelect): PastAttempt {
  const { id: _, timestampS, nonce, signature, standardSignature, ...attempt } = row;
  const isSent = timestampS !== null && nonce !== null && signature !== null && standardSignature !== null;
  return { ...attempt, stamp: isSent ? { timestampS, nonce, signature, standardSignature } : null };
}

/** After the newest event: what ids begin with comes before it. */
const BEGINNING: DeliveryCursor = { eventId: '~', id: '' };

function isWanted({ state, lastStatus, lastError }: Delivery, wanted: Omit<DeliverySearch, 'endpointId'>): boolean {
  const { answer } = wanted;
  if (wanted.state !== null && state !== wanted.state) return false;
  if (answer === null) return true;
  if (answer === 'none') return lastStatus === null && lastError !== null;
  return lastStatus !== null && lastStatus >= answer.from && lastStatus <= answer.to;
}

export function deliveryCommands(db: Db, due: DueTimes) {
  const list = (where: SQL | undefined, byEvent: typeof deliveries.eventId | typeof events.id, limit: number) =>
    db.orm
      .select(shownColumns)
      .from(deliveries)
      .innerJoin(events, eq(events.id, eventId))
      .where(where)
      .orderBy(desc(byEvent), id)
      .limit(limit)
      .all();
  const firstOfRest = db.client
    .prepare(
      `SELECT id FROM events INDEXED BY events_by_mode WHERE store_id = :storeId AND mode = :mode AND id <= :fromId
       ORDER BY id DESC LIMIT 1 OFFSET :lookMax`,
    )
    .pluck();
  const looking = (isOne: string) =>
    db.client.prepare(
      `SELECT d.id, d.endpoint_id AS endpointId, d.event_id AS eventId, e.type AS eventType, e.session_id AS sessionId,
         d.state, d.attempts, d.next_attempt_at_ms AS nextAttemptAtMs, d.created_at_ms AS createdAtMs,
         d.last_status AS lastStatus, d.last_error AS lastError
       FROM events AS e INDEXED BY events_by_mode
         CROSS JOIN deliveries AS d INDEXED BY deliveries_of_event ON d.event_id = e.id ${isOne}
       WHERE e.store_id = :storeId AND e.mode = :mode AND e.id <= :fromId AND e.id > :nextId
         AND (e.id < :fromId OR d.id > :afterId)
       ORDER BY e.id DESC, d.id LIMIT :lookMax`,
    );
  const [ofAll, ofEndpoint] = [looking(''), looking('AND d.endpoint_id = :endpointId')];

  return {
    async list({ id: only, storeId, sessionId, state, limit }: DeliveryFilter): Promise<readonly Delivery[]> {
      // The order is the same; the column is chosen so that the filter's index provides it.
      const byEvent = storeId === undefined && sessionId === undefined && only === undefined ? eventId : events.id;
      const where = and(
        storeId === undefined ? undefined : eq(events.storeId, storeId),
        only === undefined ? undefined : eq(id, only),
        sessionId === undefined ? undefined : eq(events.sessionId, sessionId),
        state === undefined ? undefined : eq(stateColumn, state),
      );
      return db.read(() => list(where, byEvent, limit));
    },
    /**
     * Lists the deliveries of a store's events in one mode, newest event first.
     * @param page `lookMax`: so many events and deliveries are looked at; what is not found among them may be in the
     * next
     * @returns `goOn`: where older ones may be; null after the last event
     */
    async ofStore(
      at: Readonly<{ storeId: string; mode: Mode }>,
      { endpointId, ...wanted }: DeliverySearch,
      { after, limit, lookMax }: Readonly<{ after: DeliveryCursor | null; limit: number; lookMax: number }>,
    ): Promise<Readonly<{ deliveries: readonly Delivery[]; goOn: DeliveryCursor | null }>> {
      return db.read(() => {
        const from = after ?? BEGINNING;
        const next = firstOfRest.get({ ...at, fromId: from.eventId, lookMax }) as string | undefined;
        const range = { ...at, fromId: from.eventId, afterId: from.id, nextId: next ?? '', lookMax };
        const rows = endpointId === null ? ofAll.iterate(range) : ofEndpoint.iterate({ ...range, endpointId });
        const found: Delivery[] = [];
        let last: Delivery | null = null;
        let looked = 0;
        for (const delivery of rows as IterableIterator<Delivery>) {
          looked++;
          last = delivery;
          if (isWanted(delivery, wanted)) found.push(delivery);
          if (found.length > limit) break;
        }
        const shown = found.slice(0, limit);
        const rest = looked === lookMax ? last : next === undefined ? null : { eventId: next, id: '' };
        return { deliveries: shown, goOn: (found.length > limit ? shown.at(-1) : rest) ?? null };
      });
    },
    async attempts(deliveryId: string): Promise<readonly PastAttempt[]> {
      return db
        .read(() =>
          db.orm.select().from(attempts).where(eq(attempts.deliveryId, deliveryId)).orderBy(attempts.id).all(),
        )
        .map(pastAttempt);
    },
    /** Makes a delivery due at once, in any state. @returns false when there is none with this id */
    async resend(id: string, nowMs: number): Promise<boolean> {
      const isPresent = sql`EXISTS (SELECT 1 FROM ${endpoints} WHERE ${endpoints.id} = ${deliveries.endpointId} AND ${endpoints.removed} = 0)`;
      return db.write(() => {
        const [resent] = db.orm
          .update(deliveries)
          .set({ manualAtMs: nowMs })
          .where(and(eq(deliveries.id, id), isPresent))
          .returning({ endpointId })
          .all();
        if (resent) due.refresh(resent.endpointId);
        return resent !== undefined;
      });
    },
  };
}
