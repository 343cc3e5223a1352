/**
 * Deliveries: listing them, recording attempts, resending. Leasing is in `claims.ts`.
 *
 * `next_attempt_at_ms` is the automatic schedule, `manual_at_ms` a requested resend; neither affects the other.
 * @module
 */
import { and, desc, eq, gt, lt, lte, or, sql } from 'drizzle-orm';
import { goneAfter, isGone, probeAtMs, refusalStatuses } from '../../core/endpoint.ts';
import { invariant } from '../../core/fault.ts';
import type { Attempt, Database, Delivery, DeliveryVerdict } from '../database.ts';
import type { RaiseAlarm } from './alarms.ts';
import type { DeliveryLines } from './delivery-lines.ts';
import type { Db } from './open.ts';
import { atFirstUse, laterValues, preparedInsert } from './prepared.ts';
import type { RefusedDeliveries } from './refused-deliveries.ts';
import { attempts, deliveries, endpoints, events } from './schema.ts';

type DeliveryCommands = Pick<Database, 'recordAttempt' | 'listDeliveries' | 'listAttempts' | 'resendDelivery'>;
type DeliveryRow = typeof deliveries.$inferSelect;
type EndpointRow = typeof endpoints.$inferSelect;
type Parts = Readonly<{ lines: DeliveryLines; refused: RefusedDeliveries; raiseAlarm: RaiseAlarm }>;

const changingNames = [
  'state',
  'attempts',
  'nextAttemptAtMs',
  'manualAtMs',
  'lastStatus',
  'lastError',
] as const satisfies readonly (keyof DeliveryRow)[];

const followedNames = [
  'goneCount',
  'goneSinceMs',
  'failingSinceMs',
  'answeredEventId',
  'probes',
  'probeAtMs',
  'disabledAtMs',
  'disabledReason',
] as const satisfies readonly (keyof EndpointRow)[];

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

export function deliveryCommands(db: Db, { lines, refused, raiseAlarm }: Parts): DeliveryCommands {
  const insertAttempt = preparedInsert(db, attempts, ['id']);
  const find = atFirstUse(
    db.orm
      .select()
      .from(deliveries)
      .where(eq(deliveries.id, sql.placeholder('id'))),
  );
  const update = atFirstUse(
    db.orm
      .update(deliveries)
      .set(laterValues(deliveries, changingNames))
      .where(eq(deliveries.id, sql.placeholder('id'))),
  );
  const findEndpoint = atFirstUse(
    db.orm
      .select()
      .from(endpoints)
      .where(eq(endpoints.id, sql.placeholder('id'))),
  );
  const remember = atFirstUse(
    db.orm
      .update(endpoints)
      .set(laterValues(endpoints, followedNames))
      .where(eq(endpoints.id, sql.placeholder('id'))),
  );
  /** Remembers what the attempt says about its endpoint, and disables one that is gone. */
  function followEndpoint(row: DeliveryRow, attempt: Attempt, verdict: DeliveryVerdict): void {
    const before = findEndpoint.get({ id: row.endpointId });
    invariant(before, `endpoint ${row.endpointId} of delivery ${row.id} exists`);
    const nowMs = attempt.startedAtMs + attempt.durationMs;
    const gone = goneAfter(
      { count: before.goneCount, sinceMs: before.goneSinceMs },
      attempt.status,
      row.lastStatus,
      nowMs,
    );
    const hasAnswered = verdict.kind === 'delivered';
    const newest = before.answeredEventId ?? '';
    const isRefused = verdict.kind === 'failed' && refusalStatuses.includes(attempt.status ?? 0);
    const after = {
      goneCount: gone.count,
      goneSinceMs: gone.sinceMs,
      failingSinceMs: hasAnswered ? null : (before.failingSinceMs ?? attempt.startedAtMs),
      answeredEventId: hasAnswered && row.eventId > newest ? row.eventId : before.answeredEventId,
      probes: hasAnswered ? 0 : before.probes,
      probeAtMs: isRefused ? (before.probeAtMs ?? probeAtMs(before.probes, nowMs)) : before.probeAtMs,
    };
    const disables = isGone(gone, nowMs) && before.disabledAtMs === null && !before.removed;
    const change = {
      ...after,
      disabledAtMs: disables ? nowMs : before.disabledAtMs,
      disabledReason: disables ? 'the endpoint keeps answering 410 Gone' : before.disabledReason,
    };
    if (followedNames.some((name) => before[name] !== change[name])) remember.run({ id: row.endpointId, ...change });
    if (disables) {
      lines.park(row.endpointId);
      raiseAlarm({
        atMs: nowMs,
        code: 'webhook_disabled',
        message:
          `the endpoint ${row.endpointId} (${before.url}) has answered 410 Gone for an hour and is disabled; ` +
          `its events wait: once it works again, run \`quayside webhooks enable ${row.endpointId}\``,
        network: null,
        sessionId: null,
      });
    }
    if (hasAnswered && after.answeredEventId !== null) refused.replay(row.endpointId, after.answeredEventId, nowMs);
  }

  return {
    async recordAttempt(attempt, verdict) {
      const record = () => {
        const row = find.get({ id: attempt.deliveryId });
        invariant(row, `delivery ${attempt.deliveryId} exists`);
        insertAttempt(attempt);
        update.run({ id: row.id, ...afterAttempt(row, attempt, verdict) });
        lines.answered(row.endpointId, attempt.status === null, attempt.startedAtMs + attempt.durationMs);
        lines.release(row.endpointId, row.sessionId, row.id);
        followEndpoint(row, attempt, verdict);
      };
      // Answers that came together are written to disk together.
      await db.write(record, { isGrouped: true });
    },
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
