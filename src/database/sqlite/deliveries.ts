/**
 * Deliveries: listing them, recording attempts, resending. Leasing is in `claims.ts`.
 *
 * `next_attempt_at_ms` is the automatic schedule, `manual_at_ms` a requested resend; neither affects the other.
 * @module
 */
import { and, desc, eq, sql } from 'drizzle-orm';
import { invariant } from '../../core/fault.ts';
import type { Attempt, Database, Delivery, DeliveryVerdict } from '../database.ts';
import type { Db } from './open.ts';
import { laterValues, preparedInsert } from './prepared.ts';
import { attempts, deliveries, endpoints, events } from './schema.ts';

type DeliveryCommands = Pick<Database, 'recordAttempt' | 'listDeliveries' | 'listAttempts' | 'resendDelivery'>;
type DeliveryRow = typeof deliveries.$inferSelect;

const changingNames = [
  'state',
  'attempts',
  'nextAttemptAtMs',
  'manualAtMs',
  'leaseUntilMs',
  'lastStatus',
  'lastError',
] as const satisfies readonly (keyof DeliveryRow)[];

/** Returns a delivery's state after an attempt. Delivered stays delivered; a manual failure keeps the schedule. */
function afterAttempt(
  row: DeliveryRow,
  attempt: Attempt,
  verdict: DeliveryVerdict,
): Pick<DeliveryRow, (typeof changingNames)[number]> {
  const isAuto = attempt.trigger === 'auto';
  const kept = {
    attempts: isAuto ? Math.max(row.attempts, attempt.attempt) : row.attempts,
    // A resend that was requested during this attempt is still to be done.
    manualAtMs: isAuto || (row.manualAtMs ?? 0) > attempt.startedAtMs ? row.manualAtMs : null,
    leaseUntilMs: null,
    lastStatus: attempt.status,
    lastError: attempt.error,
  };
  if (verdict.kind === 'delivered') return { ...kept, state: 'delivered', nextAttemptAtMs: null };
  if (!isAuto || row.state !== 'waiting') {
    return { ...kept, state: row.state, nextAttemptAtMs: row.nextAttemptAtMs };
  }
  return verdict.kind === 'retry'
    ? { ...kept, state: 'waiting', nextAttemptAtMs: verdict.atMs }
    : { ...kept, state: 'failed', nextAttemptAtMs: null };
}

export function deliveryCommands(db: Db): DeliveryCommands {
  const insertAttempt = preparedInsert(db, attempts, ['id']);
  const find = db.orm
    .select()
    .from(deliveries)
    .where(eq(deliveries.id, sql.placeholder('id')))
    .prepare();
  const update = db.orm
    .update(deliveries)
    .set(laterValues(deliveries, changingNames))
    .where(eq(deliveries.id, sql.placeholder('id')))
    .prepare();
  return {
    async recordAttempt(attempt, verdict) {
      await db.write(() => {
        const row = find.get({ id: attempt.deliveryId });
        invariant(row, `delivery ${attempt.deliveryId} exists`);
        insertAttempt(attempt);
        update.run({ id: row.id, ...afterAttempt(row, attempt, verdict) });
        if (verdict.kind !== 'failed' || verdict.disableEndpoint === null) return;
        const disabledAtMs = attempt.startedAtMs + attempt.durationMs;
        db.orm
          .update(endpoints)
          .set({ disabledAtMs, disabledReason: verdict.disableEndpoint })
          .where(and(eq(endpoints.id, row.endpointId), sql`${endpoints.disabledAtMs} IS NULL`))
          .run();
      });
    },
    async listDeliveries({ storeId, sessionId, state, limit }) {
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
      const byEvent = storeId === undefined && sessionId === undefined ? deliveries.eventId : events.id;
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
              sessionId === undefined ? undefined : eq(events.sessionId, sessionId),
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
