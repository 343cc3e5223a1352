/**
 * Leasing due deliveries to a dispatcher.
 * @module
 */
import { eq, sql } from 'drizzle-orm';
import { invariant } from '../../core/fault.ts';
import type { ClaimedDelivery, Database } from '../database.ts';
import type { Db } from './open.ts';
import { deliveries, endpoints, events } from './schema.ts';
import type { WebhookSecrets } from './webhook-secrets.ts';

type ClaimCommands = Pick<Database, 'claimDeliveries'>;

/**
 * At most this many due deliveries of one endpoint, and this many resends, are looked at in one claim. A session has
 * few deliveries that wait for each other, so even the longest backlog contains some that can be sent.
 */
const DUE_SEEN_MAX = 1_000;

type Candidate = Readonly<{
  id: string;
  eventId: string;
  endpointId: string;
  sessionId: string;
  trigger: 'auto' | 'manual';
}>;

export function claimCommands(db: Db, secrets: WebhookSecrets): ClaimCommands {
  const { client, orm } = db;
  // A resend also goes to a disabled endpoint, and waits only for a lease of its own delivery.
  const manualDue = client.prepare(
    `SELECT d.id, d.event_id AS eventId, d.endpoint_id AS endpointId, e.session_id AS sessionId, 'manual' AS trigger
     FROM deliveries AS d INDEXED BY deliveries_manual JOIN events AS e ON e.id = d.event_id
     WHERE d.manual_at_ms <= :nowMs AND coalesce(d.lease_until_ms, 0) <= :nowMs
     ORDER BY d.event_id LIMIT ${DUE_SEEN_MAX}`,
  );
  // Each endpoint with a schedule is found by one seek, however long its backlog.
  const scheduledEndpoints = client
    .prepare(
      `WITH RECURSIVE scheduled (id) AS (
         SELECT min(endpoint_id) FROM deliveries WHERE due_at_ms IS NOT NULL
         UNION ALL
         SELECT (SELECT min(d.endpoint_id) FROM deliveries AS d
                 WHERE d.due_at_ms IS NOT NULL AND d.endpoint_id > scheduled.id)
         FROM scheduled WHERE scheduled.id IS NOT NULL)
       SELECT endpoints.id FROM scheduled JOIN endpoints ON endpoints.id = scheduled.id
       WHERE endpoints.disabled_at_ms IS NULL AND endpoints.removed = 0`,
    )
    .pluck();
  const leasedCount = client
    .prepare('SELECT count(*) FROM deliveries WHERE endpoint_id = :endpointId AND lease_until_ms > :nowMs')
    .pluck();
  // CROSS JOIN and INDEXED BY make SQLite start from the session's few events instead of the backlog.
  const autoDue = client.prepare(
    `SELECT due.id, due.event_id AS eventId, due.endpoint_id AS endpointId, e.session_id AS sessionId, 'auto' AS trigger
     FROM (SELECT id, event_id, endpoint_id FROM deliveries
           WHERE endpoint_id = :endpointId AND due_at_ms <= :nowMs
           ORDER BY due_at_ms, event_id LIMIT ${DUE_SEEN_MAX}) AS due
     JOIN events AS e ON e.id = due.event_id
     WHERE NOT EXISTS (
       SELECT 1 FROM events AS other_event
       CROSS JOIN deliveries AS other INDEXED BY deliveries_of_event
       WHERE other_event.session_id = e.session_id AND other.event_id = other_event.id
         AND other.endpoint_id = due.endpoint_id AND other.id <> due.id
         AND (other.lease_until_ms > :nowMs
              OR (other.event_id < due.event_id AND other.state = 'waiting' AND other.attempts = 0)))
     ORDER BY due.event_id LIMIT :limit`,
  );
  const lease = client.prepare('UPDATE deliveries SET lease_until_ms = :leaseUntilMs WHERE id = :id');
  const load = orm
    .select({
      id: deliveries.id,
      endpointId: deliveries.endpointId,
      url: endpoints.url,
      mode: endpoints.mode,
      eventId: events.id,
      eventType: events.type,
      sessionId: events.sessionId,
      body: events.body,
      attempts: deliveries.attempts,
      storeId: endpoints.storeId,
    })
    .from(deliveries)
    .innerJoin(events, eq(events.id, deliveries.eventId))
    .innerJoin(endpoints, eq(endpoints.id, deliveries.endpointId))
    .where(eq(deliveries.id, sql.placeholder('id')))
    .prepare();

  /** Returns what can be sent now, oldest event first: at most `limit`, within endpoints' limits, one per session. */
  function choose(nowMs: number, limit: number, perEndpointMax: number): Candidate[] {
    const places = new Map<string, number>();
    const placesOf = (endpointId: string): number => {
      const known = places.get(endpointId);
      if (known !== undefined) return known;
      return perEndpointMax - Number(leasedCount.get({ endpointId, nowMs }));
    };
    const manual = manualDue.all({ nowMs }) as Candidate[];
    const auto = (scheduledEndpoints.all() as string[]).flatMap((endpointId) => {
      const free = Math.min(limit, placesOf(endpointId));
      return free > 0 ? (autoDue.all({ endpointId, nowMs, limit: free }) as Candidate[]) : [];
    });
    const chosen: Candidate[] = [];
    const busy = new Set<string>();
    for (const candidate of [...manual, ...auto].sort(byEvent)) {
      const { endpointId, sessionId } = candidate;
      const line = `${endpointId}/${sessionId}`;
      if (busy.has(line) || placesOf(endpointId) <= 0) continue;
      if (chosen.length === limit) break;
      chosen.push(candidate);
      busy.add(line);
      places.set(endpointId, placesOf(endpointId) - 1);
    }
    return chosen;
  }

  return {
    async claimDeliveries({ nowMs, leaseMs, limit, perEndpointMax }) {
      // The write lock is taken only when there is something to do.
      if (db.read(() => choose(nowMs, limit, perEndpointMax)).length === 0) return [];
      const leaseUntilMs = nowMs + leaseMs;
      const rows = await db.write(() =>
        choose(nowMs, limit, perEndpointMax).map(({ id, trigger }) => {
          lease.run({ id, leaseUntilMs });
          const row = load.get({ id });
          invariant(row, `delivery ${id} has its event and endpoint`);
          return { ...row, trigger, signing: secrets.signing(row) };
        }),
      );
      return rows.map(
        ({ attempts, storeId: _, signing, ...row }): ClaimedDelivery => ({
          ...row,
          ...secrets.open(signing),
          attempt: attempts + 1,
          leaseUntilMs,
        }),
      );
    },
  };
}

/** Oldest event first; a resend before the scheduled attempt of the same delivery. */
const byEvent = (a: Candidate, b: Candidate): number =>
  a.eventId === b.eventId ? b.trigger.localeCompare(a.trigger) : a.eventId < b.eventId ? -1 : 1;
