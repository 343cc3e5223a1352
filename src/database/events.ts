/**
 * Events and their deliveries, written in the transaction of the change that they report. Deliveries to an endpoint
 * that is switched off wait until it is on.
 */

import { type EventType, eventBody, eventTypes, isExtended } from '../core/event.ts';
import type { Mode } from '../core/transfer.ts';
import { toSeconds } from '../lib/clock.ts';
import { hashOf } from '../lib/id.ts';
import { type OperatorAct, recordAct } from './audit-log.ts';
import { doorOf } from './doors.ts';
import { type EventEndpoint, endpointsOf, IS_UNPROVEN, refreshDue, refreshEach } from './endpoints.ts';
import { mapInOrder, pageOf } from './engine/bodies.ts';
import type { Db } from './engine/open.ts';
import { findRow, findRows } from './engine/rows.ts';
import { WRITE_ROWS_MAX } from './engine/write-queue.ts';
import { nextNumber } from './meta.ts';
import type { IdPage, SessionRow } from './session.ts';
import { type attempts, type deliveries, events } from './tables.ts';

type EventRow = typeof events.$inferSelect;

/** An event. `body` is the exact text that every endpoint gets. */
export type StoredEvent = Omit<EventRow, 'id' | 'facts'> & Readonly<{ id: string; body: string }>;

/**
 * A page of events of these types, or of all. A store's ids rise in the order of commits, so a merchant who reads on
 * from the last id misses none.
 */
type EventPage = IdPage & Readonly<{ types?: readonly EventType[] }>;

// ── Ids ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
// Ids of events and deliveries are stored as numbers, because every index contains them. Readers get texts.

const US_PER_MS = 1_000;

/** Returns a lower bound for the numbers of all events since a time. */
export const firstEvent = (sinceMs: number): number => sinceMs * US_PER_MS;

/** Returns an event's id: `evt_` and nanoseconds, 19 digits until 2286. */
export const eventIdOf = (number: number): string => `evt_${number}000`;

/** Returns an event's number; 0, which no event has, for a text that is no id. */
const eventNumberOf = (id: string): number => Number(/^evt_(\d{16})000$/.exec(id)?.[1] ?? 0);

/** Returns the lowest event number whose id is not below a text. */
function firstEventFrom(text: string): number {
  const [, digits = '', rest = ''] = /^(?:evt_)?(\d{0,19})(.*)$/s.exec(text) ?? [];
  const nanoseconds = rest === '' ? BigInt(digits.padEnd(19, '0')) : BigInt(digits.padEnd(19, '9')) + 1n;
  return Math.min(Number((nanoseconds + 999n) / 1_000n), Number.MAX_SAFE_INTEGER);
}

export const deliveryIdOf = (number: number): string => `dlv_${number}`;

/** Returns a delivery's number; 0, which no delivery has, for a text that is no id. */
export const deliveryNumberOf = (id: string): number => Number(/^dlv_(\d{1,16})$/.exec(id)?.[1] ?? 0);

/** Numbers of deliveries in one second: five hexadecimal digits. */
const DELIVERIES_PER_S = 16 ** 5;

/** Returns the number that a delivery gets unless it is taken. */
const deliveryNumber = (nowMs: number, eventId: number, endpointId: string): number =>
  toSeconds(nowMs) * DELIVERIES_PER_S + Number.parseInt(hashOf(eventId + endpointId).slice(0, 5), 16);

// ── Events ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns an event with its body. */
const toEvent = ({ id: number, facts, ...row }: EventRow): StoredEvent => {
  const id = eventIdOf(number);
  return { ...row, id, body: eventBody({ ...row, id, createdAtS: toSeconds(row.createdAtMs) }, facts) };
};

/** Saves an event with the store's next number. Numbers of other stores are skipped. */
async function saveEvent(db: Db, event: Omit<EventRow, 'id'>): Promise<number> {
  const { storeId, createdAtMs } = event;
  const insert = db.client.prepare(
    `INSERT INTO events (id, store_id, mode, session_id, type, facts, created_at_ms)
     VALUES (:id, :storeId, :mode, :sessionId, :type, :facts, :createdAtMs) ON CONFLICT (id) DO NOTHING`,
  );
  for (;;) {
    const id = await nextNumber(db, `events:${storeId}`, firstEvent(createdAtMs));
    if ((await insert.run({ ...event, id })).changes === 1) return id;
  }
}

/** Saves a delivery, due at once, with a free number. */
async function saveDelivery(db: Db, eventId: number, endpointId: string, nowMs: number): Promise<void> {
  const insert = db.client.prepare(
    `INSERT INTO deliveries (id, event_id, endpoint_id, state, attempts, due_at_ms)
     VALUES (:id, :eventId, :endpointId, 'waiting', 0, :nowMs) ON CONFLICT (id) DO NOTHING`,
  );
  let id = deliveryNumber(nowMs, eventId, endpointId);
  while ((await insert.run({ id, eventId, endpointId, nowMs })).changes === 0) id++;
  await refreshDue(db, endpointId);
}

/** Returns whether an endpoint receives events of a type. */
const receives = ({ extendedEvents }: EventEndpoint, type: EventType): boolean =>
  !isExtended(type) || extendedEvents.includes(type);

/**
 * Saves an event, and one delivery for each endpoint that receives its type, on or off, and for the door whose order it
 * pays. The deliveries are due at once. Call it within a transaction.
 * @param facts see `eventBody`
 */
export async function postEvent(
  db: Db,
  session: Pick<SessionRow, 'id' | 'storeId' | 'mode' | 'terms'>,
  type: EventType,
  nowMs: number,
  facts: string,
): Promise<void> {
  const { id: sessionId, storeId, mode, terms } = session;
  const eventId = await saveEvent(db, { storeId, sessionId, mode, type, facts, createdAtMs: nowMs });
  const all = await endpointsOf(db, { storeId, mode, webhookUrl: terms.webhookUrl, nowMs });
  const door = await doorOf(db, session, type);
  const ids = all.flatMap((endpoint) => (receives(endpoint, type) ? endpoint.id : []));
  for (const endpointId of door === null ? ids : [...ids, door]) await saveDelivery(db, eventId, endpointId, nowMs);
}

export function eventQueries(db: Db) {
  const ofSession = 'WHERE session_id = :sessionId ORDER BY id LIMIT :limit';

  return {
    /**
     * Returns at most `limit` events by their ids, at a cost that does not depend on the number stored. The index is by
     * type. Up to `limit` events of each type are read, so that a rare type is not searched among the others.
     */
    async list({ types = eventTypes, first, fromId, beforeId, ...range }: EventPage): Promise<readonly StoredEvent[]> {
      const isNewest = first === 'newest';
      const ofType = `WHERE store_id = :storeId AND mode = :mode AND type = :type AND id >= :from AND id < :before
        ORDER BY id ${isNewest ? 'DESC' : 'ASC'} LIMIT :limit`;
      const ids = { from: firstEventFrom(fromId), before: firstEventFrom(beforeId) };
      const ofEach = await db.read(() =>
        mapInOrder([...new Set(types)], (type) => findRows(db, events, ofType, { ...range, ...ids, type })),
      );
      const sorted = ofEach.flat().sort((a, b) => (isNewest ? b.id - a.id : a.id - b.id));
      return sorted.slice(0, range.limit).map(toEvent);
    },
    async find(id: string): Promise<StoredEvent | null> {
      const row = await db.read(() => findRow(db, events, { id: eventNumberOf(id) }));
      return row ? toEvent(row) : null;
    },
    /** Returns a session's events, oldest first. */
    async ofSession(sessionId: string, limit: number): Promise<readonly StoredEvent[]> {
      return (await db.read(() => findRows(db, events, ofSession, { sessionId, limit }))).map(toEvent);
    },
  };
}

// ── Deliveries ───────────────────────────────────────────────────────────────────────────────────────────────────────
// `sending.ts` leases deliveries and records attempts.

type DeliveryRow = typeof deliveries.$inferSelect;
export type DeliveryState = DeliveryRow['state'];

/** One event on its way to one endpoint. */
export type Delivery = Omit<DeliveryRow, 'id' | 'eventId' | 'leaseUntilMs' | 'leaseHolder'> &
  Readonly<{ id: string; eventId: string; eventType: EventType; sessionId: string; createdAtMs: number }>;

/** One attempt and its result. `status` is the HTTP status, and `error` a class such as `timeout`. */
export type Attempt = Omit<typeof attempts.$inferSelect, 'id' | 'deliveryId'> & Readonly<{ deliveryId: string }>;

/** Ids of attempts per millisecond. They rise with the time of the start. */
export const ATTEMPTS_PER_MS = 1_000;

/** A filter of a store's deliveries. Null matches all. */
export type DeliverySearch = Readonly<{ endpointId: string | null; state: DeliveryState | null }>;

/** The last delivery that a page looked at. Its `id` is empty for an event without deliveries. */
export type DeliveryCursor = Pick<Delivery, 'id' | 'eventId'>;

/** The deliveries to resend: one, or those that failed since a time. A null `endpointId` stands for all endpoints. */
export type Resend = Readonly<{ deliveryId: string }> | Readonly<{ sinceMs: number; endpointId: string | null }>;

/** Pause between first attempts of resent deliveries, so that a shop that just recovered is not flooded. */
export const RESEND_PACE_MS = 100;

/** Most deliveries that one transaction looks at. A resend changes two rows, the delivery and its endpoint. */
const SLICE_DELIVERIES = Math.floor(WRITE_ROWS_MAX / 8);

const COLUMNS = `d.id, d.endpoint_id AS "endpointId", v.id AS "eventId", v.type AS "eventType",
  v.session_id AS "sessionId", d.state, d.attempts, d.due_at_ms AS "dueAtMs", v.created_at_ms AS "createdAtMs",
  d.last_status AS "lastStatus", d.last_error AS "lastError"`;

/** A selected row of a list. `id` is null for an event without deliveries. */
type ListedRow = Omit<Delivery, 'id' | 'eventId'> & Readonly<{ id: number | null; eventId: number }>;

const toDelivery = ({ id, eventId, ...row }: ListedRow): Delivery => ({
  ...row,
  id: id === null ? '' : deliveryIdOf(id),
  eventId: eventIdOf(eventId),
});

/** SQL for the newest events of each type of a store. The newest of all types are among them. */
const NEWEST = eventTypes
  .map(
    (type) => `SELECT id FROM (SELECT id FROM events
         WHERE store_id = :storeId AND mode = :mode AND type = '${type}' AND id <= :fromId
         ORDER BY id DESC LIMIT :limit + 1) AS limited`,
  )
  .join(' UNION ALL ');

export function deliveryQueries({ client, read }: Db) {
  const looking = (isOne: string) =>
    client.prepare<ListedRow>(
      `SELECT ${COLUMNS} FROM events AS v
         LEFT JOIN deliveries AS d ON d.event_id = v.id ${isOne}
       WHERE v.id IN (${NEWEST}) AND (v.id < :fromId OR d.id > :afterId)
       ORDER BY v.id DESC, d.id LIMIT :limit`,
    );
  const [ofAll, ofEndpoint] = [looking(''), looking('AND d.endpoint_id = :endpointId')];
  const attemptsOf = client.prepare<Omit<Attempt, 'deliveryId'>>(
    `SELECT attempt, started_at_ms AS "startedAtMs", duration_ms AS "durationMs", status, error,
       response_excerpt AS "responseExcerpt"
     FROM attempts WHERE delivery_id = :id ORDER BY id`,
  );

  return {
    /** Lists one delivery, the deliveries of a session, or all, newest event first. */
    async list({ id, sessionId, limit }: Readonly<{ id?: string; sessionId?: string; limit: number }>) {
      const where = id !== undefined ? 'd.id = :id' : sessionId !== undefined ? 'v.session_id = :sessionId' : '1 = 1';
      const text = `SELECT ${COLUMNS} FROM deliveries AS d JOIN events AS v ON v.id = d.event_id
        WHERE ${where} ORDER BY v.id DESC, d.id LIMIT :limit`;
      const found = await read(() =>
        client.prepare<ListedRow>(text).all({ id: deliveryNumberOf(id ?? ''), sessionId, limit }),
      );
      return found.map(toDelivery);
    },
    /**
     * Lists the deliveries of a store's events in one mode, newest event first.
     * @param page `lookMax`: most rows to look at, with those of events without deliveries
     * @returns `goOn`: the start of the next page; null after the last event
     */
    async ofStore(
      at: Readonly<{ storeId: string; mode: Mode }>,
      { endpointId, state }: DeliverySearch,
      { after, limit, lookMax }: Readonly<{ after: DeliveryCursor | null; limit: number; lookMax: number }>,
    ): Promise<Readonly<{ deliveries: readonly Delivery[]; goOn: DeliveryCursor | null }>> {
      return read(async () => {
        const fromId = after === null ? Number.MAX_SAFE_INTEGER : eventNumberOf(after.eventId);
        const range = { ...at, fromId, afterId: deliveryNumberOf(after?.id ?? ''), limit: lookMax + 1 };
        const looked = await (endpointId === null ? ofAll.all(range) : ofEndpoint.all({ ...range, endpointId }));
        const fits = (one: ListedRow) => one.id !== null && (state === null || one.state === state);
        const { rows, goOn } = pageOf(looked, fits, { limit, lookMax });
        return { deliveries: rows.map(toDelivery), goOn: goOn && toDelivery(goOn) };
      });
    },
    async attempts(deliveryId: string): Promise<readonly Attempt[]> {
      const found = await read(() => attemptsOf.all({ id: deliveryNumberOf(deliveryId) }));
      return found.map((attempt) => ({ ...attempt, deliveryId }));
    },
  };
}

type Looked = Readonly<{ id: number; endpointId: string; eventId: number; isFound: number }>;

const targetOf = (which: Resend): string =>
  'deliveryId' in which ? which.deliveryId : (which.endpointId ?? 'every endpoint');

export function resendCommands(db: Db) {
  const looking = (isFound: string, where: string) =>
    db.client.prepare<Looked>(
      `SELECT d.id, d.endpoint_id AS "endpointId", d.event_id AS "eventId",
         CASE WHEN e.removed = 0 AND (${isFound}) THEN 1 ELSE 0 END AS "isFound"
       FROM deliveries AS d JOIN endpoints AS e ON e.id = d.endpoint_id
       WHERE ${where} ORDER BY d.event_id, d.endpoint_id LIMIT ${SLICE_DELIVERIES}`,
    );
  const ofDelivery = looking('1 = 1', 'd.id = :deliveryId');
  const since = looking(
    "(CAST(:endpointId AS TEXT) IS NULL OR d.endpoint_id = :endpointId) AND (d.state = 'failed' OR d.state = 'waiting' AND d.attempts > 0)",
    '(d.event_id, d.endpoint_id) > (:afterEvent, :afterEndpoint)',
  );
  const again = db.client.prepare(
    `UPDATE deliveries SET state = 'waiting', attempts = 0, due_at_ms = :atMs, lease_until_ms = NULL WHERE id = :id`,
  );

  async function look(which: Resend, after: Looked | null): Promise<Looked[]> {
    if ('deliveryId' in which) return ofDelivery.all({ deliveryId: deliveryNumberOf(which.deliveryId) });
    const { endpointId, sinceMs } = which;
    const from = { afterEvent: after?.eventId ?? firstEvent(sinceMs), afterEndpoint: after?.endpointId ?? '' };
    return since.all({ endpointId, ...from });
  }

  return {
    /**
     * Starts a new schedule for deliveries. A choice by id resends a delivery in any state. A choice by time resends
     * those that failed, or wait after a failure. The first attempts are `RESEND_PACE_MS` apart, oldest event first. An
     * endpoint that is switched off gets them once it is on.
     * @returns the number of deliveries
     */
    async resend(
      which: Resend,
      nowMs: number,
      { isDryRun = false, act }: Readonly<{ isDryRun?: boolean; act?: OperatorAct }> = {},
    ): Promise<number> {
      let found = 0;
      for (let after: Looked | null = null; ; ) {
        const slice = async (): Promise<Looked[]> => {
          const looked = await look(which, after);
          const chosen = looked.filter(({ isFound }) => isFound === 1);
          if (isDryRun) return looked;
          for (const [at, { id }] of chosen.entries())
            await again.run({ id, atMs: nowMs + (found + at) * RESEND_PACE_MS });
          await refreshEach(db, chosen);
          if (found === 0 && chosen.length > 0)
            await recordAct(db, act, { target: targetOf(which), before: null, after: null });
          return looked;
        };
        const looked: Looked[] = isDryRun ? await db.read(slice) : await db.write(slice);
        found += looked.filter(({ isFound }) => isFound === 1).length;
        after = looked.at(-1) ?? null;
        if (after === null || looked.length < SLICE_DELIVERIES || !('sinceMs' in which)) return found;
      }
    },
  };
}

// ── Troubles of sending ──────────────────────────────────────────────────────────────────────────────────────────────
/** Most deliveries that failed for good that are counted. */
export const FAILED_COUNTED_MAX = 1_000;
/** Most endpoints that are listed because they are off or accept nothing. */
export const TROUBLED_MAX = 100;
/** Most endpoints of a store that are searched for failed deliveries. */
const LOOKED_MAX = 200;

type Troubled = Readonly<{ id: string; url: string }>;

/** The condition of the index `endpoints_in_trouble`, in its words. */
const IN_TROUBLE = '(failing_since_ms IS NOT NULL OR disabled_at_ms IS NOT NULL)';

export function troubleQueries({ client, read }: Db) {
  const firstDue = client.values<number>(
    `SELECT due_at_ms FROM endpoints
       WHERE (${IS_UNPROVEN}) = :isUnproven AND due_at_ms <= :nowMs ORDER BY due_at_ms LIMIT 1`,
  );
  const failed = client.values<number>(
    `SELECT count(*) FROM (SELECT 1 FROM deliveries
         WHERE state = 'failed' AND event_id >= :from AND last_error IS DISTINCT FROM 'endpoint_removed'
         ORDER BY event_id DESC LIMIT ${FAILED_COUNTED_MAX}) AS limited`,
  );
  const failing = client.prepare<Troubled & Readonly<{ sinceMs: number }>>(
    `SELECT id, url, failing_since_ms AS "sinceMs" FROM endpoints
     WHERE ${IN_TROUBLE} AND failing_since_ms IS NOT NULL AND disabled_at_ms IS NULL AND removed = 0
     ORDER BY failing_since_ms, id LIMIT ${TROUBLED_MAX}`,
  );
  const disabled = client.prepare<Troubled & Readonly<{ reason: string | null }>>(
    `SELECT id, url, disabled_reason AS reason FROM endpoints
     WHERE ${IN_TROUBLE} AND disabled_at_ms IS NOT NULL AND removed = 0 ORDER BY disabled_at_ms, id LIMIT ${TROUBLED_MAX}`,
  );
  const failedOf = client.values<number>(
    `SELECT (SELECT count(*) FROM (SELECT 1 FROM deliveries AS d
         WHERE d.endpoint_id = e.id AND d.state = 'failed' AND d.event_id >= :from LIMIT :limit) AS limited)
       FROM endpoints AS e WHERE e.store_id = :storeId AND e.mode = :mode AND e.removed = 0 LIMIT ${LOOKED_MAX}`,
  );
  return {
    /** Returns the troubles of all endpoints. */
    async trouble(nowMs: number, sinceMs: number) {
      return read(async () => {
        const due = await mapInOrder([0, 1], (isUnproven) => firstDue.get({ isUnproven, nowMs }));
        const dueMs = due.filter((atMs) => atMs !== undefined);
        return {
          // Endpoints that are on and accept nothing, longest first.
          failing: await failing.all(),
          disabled: await disabled.all(),
          // The earliest due time of the deliveries that can be sent now; null for none.
          dueSinceMs: dueMs.length === 0 ? null : Math.min(...dueMs),
          // Deliveries that failed for good, of events since `sinceMs`, up to `FAILED_COUNTED_MAX`.
          failed: (await failed.get({ from: firstEvent(sinceMs) })) ?? 0,
        };
      });
    },
    /** Counts deliveries that failed for good at a store's endpoints in one mode, up to `limit`. */
    async countFailed(at: Readonly<{ storeId: string; mode: Mode }>, sinceMs: number, limit: number): Promise<number> {
      const counted = await read(() => failedOf.all({ ...at, limit, from: firstEvent(sinceMs) }));
      return Math.min(
        limit,
        counted.reduce((sum, one) => sum + one, 0),
      );
    },
  };
}
