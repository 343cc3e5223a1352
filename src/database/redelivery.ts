/**
 * The health of endpoints, and sending again what did not arrive.
 */

import { and, eq, sql } from 'drizzle-orm';
import { SILENT_COUNT } from '../core/endpoint.ts';
import type { EventType } from '../core/event.ts';
import type { Mode } from '../core/transfer.ts';
import type { DeliveryState } from './deliveries.ts';
import type { DueTimes } from './due.ts';
import { isPresent } from './endpoints.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse } from './engine/prepared.ts';
import { WRITE_ROWS_MAX } from './engine/write-queue.ts';
import { endpoints } from './tables.ts';

/** How far a recovery has come: the last delivery that it looked at. */
export type RecoveryCursor = Readonly<{ eventId: string; endpointId: string }>;

/** `attempts` counts only automatic attempts. */
export type RecentDelivery = Readonly<{
  id: string;
  eventType: EventType;
  state: 'waiting' | 'delivered' | 'failed';
  attempts: number;
}>;

/** One batch of a recovery. `next` is null after the last one. */
export type RecoveryBatch = Readonly<{ found: number; next: RecoveryCursor | null }>;

/** `after`: how far it has come. `position`: how many were found before, for the pace. */
export type RecoveryStep = Readonly<{ after: RecoveryCursor; position: number; nowMs: number; isDryRun: boolean }>;

export type EndpointHealth = Readonly<{
  id: string;
  storeId: string;
  mode: Mode;
  url: string;
  createdAtMs: number;
  disabledAtMs: number | null;
  disabledReason: string | null;
  /** Since when it has accepted nothing although it was tried; null if its last answer was 2xx. */
  failingSinceMs: number | null;
  /** Since when nothing is sent to it by itself, because no session named it for long. */
  retiredAtMs: number | null;
  /** Deliveries that wait, counted up to `WAITING_COUNTED_MAX`. */
  waiting: number;
  /** Its deliveries among the store's newest `RECENT_EVENTS` events of its mode, newest first. */
  recent: readonly RecentDelivery[];
}>;

/** What an endpoint did of late. */
export type EndpointActivity = Readonly<{
  /** The newest event that it accepted, and when it did so last; null if none, or if that is not kept any more. */
  accepted: Readonly<{ deliveryId: string; eventType: EventType; atMs: number }> | null;
  /** Its deliveries of the events since a time, of the store's newest `ACTIVITY_EVENTS_MAX` in its mode, by state. */
  counts: Readonly<Record<'waiting' | 'delivered' | 'failed', number>>;
  /** Whether there were more events in that time. */
  hasMore: boolean;
}>;

/** More events are not counted. */
export const ACTIVITY_EVENTS_MAX = 5_000;
export const WAITING_COUNTED_MAX = 10_000;
export const RECENT_EVENTS = 500;
/** More deliveries that failed for good are not counted. */
export const FAILED_COUNTED_MAX = 1_000;

/** More endpoints of single sessions are not looked at for a store's undelivered deliveries. */
export const ONE_OFFS_LOOKED_MAX = 200;

/** Deliveries of a store's endpoints that did not arrive: they wait, or failed for good. Counted up to a limit each. */
export type Undelivered = Readonly<{ waiting: number; failed: number }>;

/** Hosts that are listed when they accept nothing. */
export const UNANSWERED_MAX = 11;

/** What is wrong with sending: over all standing endpoints, and hosts of single sessions' ones. */
export type WebhookTrouble = Readonly<{
  /** Enabled ones that have accepted nothing since a time. */
  failing: readonly Readonly<{ id: string; url: string; sinceMs: number }>[];
  disabled: readonly Readonly<{ id: string; url: string; reason: string | null }>[];
  /** When the first delivery that can be sent now became due, endpoints that do not answer left out; null for none. */
  dueSinceMs: number | null;
  /** Hosts of single sessions' endpoints that have accepted nothing since a time: the first `UNANSWERED_MAX`. */
  unanswered: readonly Readonly<{ host: string; sinceMs: number }>[];
  /** Deliveries that failed for good, of events since `sinceMs`, counted up to `FAILED_COUNTED_MAX`. */
  failed: number;
}>;

/** Between the first attempts of a recovery, so that a shop that works again is not flooded. */
export const RECOVERY_PACE_MS = 100;

/** Deliveries that one batch looks at. Each that is sent again changes itself and its endpoint. */
const SLICE_DELIVERIES = Math.floor(WRITE_ROWS_MAX / 8);

type Looked = Readonly<{ id: string; endpointId: string; eventId: string; isFound: number }>;

export function redeliveryCommands(db: Db, due: DueTimes) {
  const { client } = db;
  const look = client.prepare(
    `SELECT d.id, d.endpoint_id AS endpointId, d.event_id AS eventId,
       e.removed = 0 AND e.retired_at_ms IS NULL AND (:endpointId IS NULL OR d.endpoint_id = :endpointId)
         AND (d.state = 'failed' OR d.state = 'waiting' AND d.attempts > 0) AS isFound
     FROM deliveries AS d INDEXED BY deliveries_of_event JOIN endpoints AS e ON e.id = d.endpoint_id
     WHERE (d.event_id, d.endpoint_id) > (:afterEvent, :afterEndpoint)
     ORDER BY d.event_id, d.endpoint_id LIMIT ${SLICE_DELIVERIES}`,
  );
  const again = client.prepare(
    `UPDATE deliveries SET state = 'waiting', attempts = 1, next_attempt_at_ms = :atMs, due_at_ms = :atMs
     WHERE id = :id`,
  );
  const ofEvent = client.prepare(
    `UPDATE deliveries SET manual_at_ms = :nowMs WHERE event_id = :eventId
       AND EXISTS (SELECT 1 FROM endpoints WHERE endpoints.id = deliveries.endpoint_id AND endpoints.removed = 0)
     RETURNING id, endpoint_id AS endpointId`,
  );
  const findEvent = client.prepare('SELECT 1 FROM events WHERE id = :eventId').pluck();

  return {
    /** Makes every delivery of an event due at once, in any state. @returns their ids; null for an unknown event */
    async resendEvent(eventId: string, nowMs: number): Promise<readonly string[] | null> {
      return db.write(() => {
        if (!findEvent.get({ eventId })) return null;
        const found = ofEvent.all({ eventId, nowMs }) as { id: string; endpointId: string }[];
        for (const { endpointId } of found) due.refresh(endpointId);
        return found.map(({ id }) => id);
      });
    },
    /**
     * Looks at the next deliveries after a cursor, by event, and sends those that failed or wait after a failure again,
     * with a new schedule. The first attempts are `RECOVERY_PACE_MS` apart.
     * @param step `endpointId` null: of every endpoint
     */
    async recoverSome({
      endpointId,
      after,
      position,
      nowMs,
      isDryRun,
    }: RecoveryStep & Readonly<{ endpointId: string | null }>): Promise<RecoveryBatch> {
      const next = (looked: readonly Looked[]): RecoveryCursor | null =>
        looked.length < SLICE_DELIVERIES ? null : (looked.at(-1) ?? null);
      const read = () =>
        look.all({ endpointId, afterEvent: after.eventId, afterEndpoint: after.endpointId }) as Looked[];
      const found = (looked: readonly Looked[]) => looked.filter(({ isFound }) => isFound === 1);
      if (isDryRun) {
        const looked = db.read(read);
        return { found: found(looked).length, next: next(looked) };
      }
      return db.write(() => {
        const looked = read();
        const chosen = found(looked);
        for (const [at, { id }] of chosen.entries()) {
          again.run({ id, atMs: nowMs + (position + at) * RECOVERY_PACE_MS });
        }
        for (const to of new Set(chosen.map((one) => one.endpointId))) due.refresh(to);
        return { found: chosen.length, next: next(looked) };
      });
    },
  };
}

/** Prepares what shows how one endpoint does. */
function prepareHealth({ client, orm }: Db) {
  const { storeId, mode, url, createdAtMs, disabledAtMs, disabledReason, failingSinceMs, retiredAtMs } = endpoints;
  const known = { storeId, mode, url, createdAtMs, disabledAtMs, disabledReason, failingSinceMs, retiredAtMs };
  return {
    endpoint: atFirstUse(
      orm
        .select({ id: endpoints.id, ...known })
        .from(endpoints)
        .where(and(eq(endpoints.id, sql.placeholder('id')), isPresent)),
    ),
    waiting: client
      .prepare(
        `SELECT count(*) FROM (SELECT 1 FROM deliveries INDEXED BY deliveries_waiting
           WHERE endpoint_id = :id AND state = 'waiting' LIMIT ${WAITING_COUNTED_MAX})`,
      )
      .pluck(),
    recent: client.prepare(
      `SELECT d.id, recent.type AS eventType, d.state, d.attempts
       FROM (SELECT id, type FROM events INDEXED BY events_by_mode WHERE store_id = :storeId AND mode = :mode
             ORDER BY id DESC LIMIT ${RECENT_EVENTS}) AS recent
       JOIN deliveries AS d ON d.event_id = recent.id AND d.endpoint_id = :id ORDER BY recent.id DESC`,
    ),
  };
}

/** Prepares what shows what one endpoint did of late. */
function prepareActivity({ client }: Db) {
  const since =
    'FROM events INDEXED BY events_by_mode WHERE store_id = :storeId AND mode = :mode AND id >= :from ORDER BY id DESC';
  return {
    accepted: client.prepare(
      `SELECT d.id AS deliveryId, event.type AS eventType, max(a.started_at_ms + a.duration_ms) AS atMs
       FROM endpoints AS e
       JOIN events AS event ON event.id = e.answered_event_id
       JOIN deliveries AS d ON d.event_id = event.id AND d.endpoint_id = e.id
       JOIN attempts AS a ON a.delivery_id = d.id AND a.status BETWEEN 200 AND 299
       WHERE e.id = :id GROUP BY d.id`,
    ),
    states: client.prepare(
      `SELECT d.state, count(*) AS count FROM (SELECT id ${since} LIMIT ${ACTIVITY_EVENTS_MAX}) AS recent
       JOIN deliveries AS d ON d.event_id = recent.id AND d.endpoint_id = :id GROUP BY d.state`,
    ),
    hasMore: client.prepare(`SELECT 1 ${since} LIMIT 1 OFFSET ${ACTIVITY_EVENTS_MAX}`),
  };
}

/** Prepares what is wrong with sending, over all standing endpoints. */
function prepareTrouble({ client }: Db) {
  const standing = 'FROM endpoints INDEXED BY endpoints_of_store WHERE per_session = 0 AND removed = 0';
  return {
    firstDue: client
      .prepare(
        `SELECT due_at_ms FROM endpoints INDEXED BY endpoints_due
         WHERE per_session = 0 AND (silences >= ${SILENT_COUNT}) = 0 AND due_at_ms <= :nowMs ORDER BY due_at_ms LIMIT 1`,
      )
      .pluck(),
    failed: client
      .prepare(
        `SELECT count(*) FROM (SELECT 1 FROM deliveries INDEXED BY deliveries_by_state
           WHERE state = 'failed' AND event_id >= :from AND last_error IS NOT 'endpoint_removed'
           ORDER BY event_id DESC LIMIT ${FAILED_COUNTED_MAX})`,
      )
      .pluck(),
    unanswered: client.prepare(
      `SELECT host, min(sinceMs) AS sinceMs FROM (
         SELECT host, coalesce(failing_since_ms, due_at_ms) AS sinceMs FROM endpoints INDEXED BY endpoints_failing
         WHERE per_session = 1 AND due_at_ms IS NOT NULL AND coalesce(failing_since_ms, due_at_ms) <= :nowMs
         ORDER BY coalesce(failing_since_ms, due_at_ms) LIMIT ${FAILED_COUNTED_MAX}) AS limited
       GROUP BY host ORDER BY sinceMs LIMIT ${UNANSWERED_MAX}`,
    ),
    failing: client.prepare(
      `SELECT id, url, failing_since_ms AS sinceMs ${standing}
         AND disabled_at_ms IS NULL AND failing_since_ms IS NOT NULL`,
    ),
    disabled: client.prepare(`SELECT id, url, disabled_reason AS reason ${standing} AND disabled_at_ms IS NOT NULL`),
  };
}

/** Prepares how many of a store's deliveries did not arrive. */
function prepareUndelivered({ client }: Db) {
  const ofStore = 'WHERE store_id = :storeId AND mode = :mode AND removed = 0';
  const counting = (found: string) =>
    client
      .prepare(
        `WITH looked AS MATERIALIZED (
           SELECT id FROM endpoints INDEXED BY endpoints_of_store ${ofStore} AND per_session = 0
           UNION ALL SELECT * FROM (SELECT id FROM endpoints INDEXED BY endpoints_per_session
             ${ofStore} AND per_session = 1 LIMIT ${ONE_OFFS_LOOKED_MAX}))
         SELECT count(*) FROM (${found} LIMIT :limit) AS limited`,
      )
      .pluck();
  const within = (index: string, which: string) =>
    `SELECT 1 FROM looked CROSS JOIN deliveries AS d INDEXED BY ${index} ON d.endpoint_id = looked.id WHERE ${which}`;
  return {
    waiting: counting(within('deliveries_waiting', "d.state = 'waiting'")),
    failed: counting(within('deliveries_failed', "d.state = 'failed' AND d.event_id >= :from")),
  };
}

/** Returns the id before those of all events since then. */
const firstEventId = (sinceMs: number): string => `evt_${BigInt(sinceMs) * 1_000_000n}`;

/** What an operator sees. */
export function endpointQueries(db: Db) {
  const health = prepareHealth(db);
  const activity = prepareActivity(db);
  return {
    /** @returns null when there is no such endpoint */
    async health(id: string): Promise<EndpointHealth | null> {
      return db.read((): EndpointHealth | null => {
        const endpoint = health.endpoint.get({ id });
        if (!endpoint) return null;
        const { storeId, mode } = endpoint;
        return {
          ...endpoint,
          waiting: health.waiting.get({ id }) as number,
          recent: health.recent.all({ id, storeId, mode }) as EndpointHealth['recent'],
        };
      });
    },
    /** @returns null when there is no such endpoint */
    async activity(id: string, sinceMs: number): Promise<EndpointActivity | null> {
      return db.read((): EndpointActivity | null => {
        const endpoint = health.endpoint.get({ id });
        if (!endpoint) return null;
        const range = { storeId: endpoint.storeId, mode: endpoint.mode, from: firstEventId(sinceMs) };
        const states = activity.states.all({ ...range, id }) as { state: DeliveryState; count: number }[];
        const counted = Object.fromEntries(states.map(({ state, count }) => [state, count]));
        return {
          accepted: (activity.accepted.get({ id }) as EndpointActivity['accepted'] | undefined) ?? null,
          counts: { waiting: 0, delivered: 0, failed: 0, ...counted },
          hasMore: activity.hasMore.get(range) !== undefined,
        };
      });
    },
  };
}

export function troubleQueries(db: Db) {
  const trouble = prepareTrouble(db);
  const undelivered = prepareUndelivered(db);
  return {
    /**
     * Counts what did not arrive at a store's endpoints in one mode: what waits, and what failed of the events since a
     * time, each up to `limit`. Of endpoints that single sessions named, `ONE_OFFS_LOOKED_MAX` are looked at.
     */
    async countUndelivered(
      at: Readonly<{ storeId: string; mode: Mode }>,
      sinceMs: number,
      limit: number,
    ): Promise<Undelivered> {
      return db.read(() => ({
        waiting: undelivered.waiting.get({ ...at, limit }) as number,
        failed: undelivered.failed.get({ ...at, limit, from: firstEventId(sinceMs) }) as number,
      }));
    },
    async trouble(nowMs: number, sinceMs: number): Promise<WebhookTrouble> {
      return db.read(
        (): WebhookTrouble => ({
          failing: trouble.failing.all() as WebhookTrouble['failing'],
          disabled: trouble.disabled.all() as WebhookTrouble['disabled'],
          unanswered: trouble.unanswered.all({ nowMs }) as WebhookTrouble['unanswered'],
          dueSinceMs: (trouble.firstDue.get({ nowMs }) as number | undefined) ?? null,
          failed: trouble.failed.get({ from: firstEventId(sinceMs) }) as number,
        }),
      );
    },
  };
}
