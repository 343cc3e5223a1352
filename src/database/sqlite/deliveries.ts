/**
 * Deliveries: listing them, resending. Leasing is in `claims.ts`, recording attempts in `attempts.ts`.
 *
 * `next_attempt_at_ms` is the automatic schedule, `manual_at_ms` a requested resend; neither affects the other.
 */
import { and, desc, eq, type SQL, sql } from 'drizzle-orm';
import type { Database, Delivery, DeliveryCursor, DeliverySearch, PastAttempt } from '../database.ts';
import type { DueTimes } from './due.ts';
import type { Db } from './open.ts';
import { attempts, deliveries, endpoints, events } from './tables.ts';

type DeliveryCommands = Pick<Database, 'listDeliveries' | 'listStoreDeliveries' | 'listAttempts' | 'resendDelivery'>;

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

export function deliveryCommands(db: Db, due: DueTimes): DeliveryCommands {
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
    async listDeliveries({ id: only, storeId, sessionId, state, limit }) {
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
    async listStoreDeliveries(at, { endpointId, ...wanted }, { after, limit, lookMax }) {
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
    async listAttempts(deliveryId) {
      return db
        .read(() =>
          db.orm.select().from(attempts).where(eq(attempts.deliveryId, deliveryId)).orderBy(attempts.id).all(),
        )
        .map(pastAttempt);
    },
    async resendDelivery(id, nowMs) {
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
