/**
 * Deliveries: listing them, resending. Leasing is in `claims.ts`, recording attempts in `attempts.ts`.
 *
 * `next_attempt_at_ms` is the automatic schedule, `manual_at_ms` a requested resend; neither affects the other.
 * @module
 */
import { and, desc, eq, gt, lt, lte, or, sql } from 'drizzle-orm';
import type { Attempt, Database, Delivery } from '../database.ts';
import type { Db } from './open.ts';
import { attempts, deliveries, endpoints, events } from './schema.ts';

type DeliveryCommands = Pick<Database, 'listDeliveries' | 'listAttempts' | 'resendDelivery'>;

export function deliveryCommands(db: Db): DeliveryCommands {
  return {
    async listDeliveries({ id: only, storeId, mode, sessionId, state, after, limit }) {
      const {
        id,
        endpointId,
        eventId,
        attempts: tries,
        nextAttemptAtMs,
        createdAtMs,
        lastStatus,
        lastError,
      } = deliveries;
      // The order is the same; the column is chosen so that the filter's index provides it.
      const byEvent =
        storeId === undefined && sessionId === undefined && only === undefined ? deliveries.eventId : events.id;
      return db.read((): Delivery[] =>
        db.orm
          .select({
            id,
            endpointId,
            eventId,
            eventType: events.type,
            sessionId: events.sessionId,
            state: deliveries.state,
            attempts: tries,
            nextAttemptAtMs,
            createdAtMs,
            lastStatus,
            lastError,
          })
          .from(deliveries)
          .innerJoin(events, eq(events.id, deliveries.eventId))
          .where(
            and(
              storeId === undefined ? undefined : eq(events.storeId, storeId),
              only === undefined ? undefined : eq(id, only),
              mode === undefined ? undefined : eq(events.mode, mode),
              sessionId === undefined ? undefined : eq(events.sessionId, sessionId),
              after && and(lte(events.id, after.eventId), or(lt(events.id, after.eventId), gt(id, after.id))),
              state === undefined ? undefined : eq(deliveries.state, state),
            ),
          )
          .orderBy(desc(byEvent), deliveries.id)
          .limit(limit)
          .all(),
      );
    },
    async listAttempts(deliveryId) {
      return db
        .read(() =>
          db.orm.select().from(attempts).where(eq(attempts.deliveryId, deliveryId)).orderBy(attempts.id).all(),
        )
        .map(({ id: _, ...attempt }): Attempt => attempt);
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
