/**
 * Deliveries: listing them, resending. Leasing is in `claims.ts`, recording attempts in `attempts.ts`.
 *
 * `next_attempt_at_ms` is the automatic schedule, `manual_at_ms` a requested resend; neither affects the other.
 * @module
 */
import { and, desc, eq, gt, lt, lte, or, type SQL, sql } from 'drizzle-orm';
import type { Database, DeliveryCursor, PastAttempt } from '../database.ts';
import type { Db } from './open.ts';
import { attempts, deliveries, endpoints, events } from './schema.ts';

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

export function deliveryCommands(db: Db): DeliveryCommands {
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
       ORDER BY id DESC LIMIT 1 OFFSET :eventsMax`,
    )
    .pluck();

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
    async listStoreDeliveries({ storeId, mode }, { after, limit, eventsMax }) {
      return db.read(() => {
        const from = after ?? BEGINNING;
        const rest = firstOfRest.get({ storeId, mode, fromId: from.eventId, eventsMax }) as string | undefined;
        const where = and(
          eq(events.storeId, storeId),
          eq(events.mode, mode),
          lte(events.id, from.eventId),
          or(lt(events.id, from.eventId), gt(id, from.id)),
          rest === undefined ? undefined : gt(events.id, rest),
        );
        const found = list(where, events.id, limit + 1);
        const shown = found.slice(0, limit);
        const goOn = found.length > limit ? shown.at(-1) : rest ? { eventId: rest, id: '' } : null;
        return { deliveries: shown, goOn: goOn ?? null };
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
      const resend = () =>
        db.orm
          .update(deliveries)
          .set({ manualAtMs: nowMs })
          .where(and(eq(deliveries.id, id), isPresent))
          .run();
      return (await db.write(resend)).changes === 1;
    },
  };
}
