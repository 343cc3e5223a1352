/** Deliveries: listing them, and sending them again. `sending.ts` leases them and records attempts. */

import type { EventType } from '../core/event.ts';
import type { Mode } from '../core/transfer.ts';
import { type RefreshDue, refreshEach } from './endpoint-due.ts';
import type { Db } from './engine/open.ts';
import { WRITE_ROWS_MAX } from './engine/write-queue.ts';
import { firstEventId } from './events.ts';

export type DeliveryState = 'waiting' | 'delivered' | 'failed';

/** One event on its way to one endpoint. */
export type Delivery = Readonly<{
  id: string;
  endpointId: string;
  eventId: string;
  eventType: EventType;
  sessionId: string;
  state: DeliveryState;
  /** Of its current schedule: a resend starts a new one. */
  attempts: number;
  dueAtMs: number | null;
  createdAtMs: number;
  lastStatus: number | null;
  lastError: string | null;
}>;

/** One attempt and its result. `status` is the HTTP status; `error` a class such as `timeout` or `blocked_address`. */
export type Attempt = Readonly<{
  deliveryId: string;
  attempt: number;
  startedAtMs: number;
  durationMs: number;
  status: number | null;
  error: string | null;
  /** The beginning of the answer, for the operator. */
  responseExcerpt: string | null;
}>;

export type DeliveryFilter = Readonly<{
  id?: string;
  storeId?: string;
  sessionId?: string;
  eventId?: string;
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

/** A choice of deliveries to resend: one, all of an event, or what failed since a time. `endpointId` null: of all. */
export type Resend =
  | Readonly<{ deliveryId: string }>
  | Readonly<{ eventId: string }>
  | Readonly<{ sinceMs: number; endpointId: string | null }>;

/** Between the first attempts of what is sent again, so that a shop that works again is not flooded. */
export const RESEND_PACE_MS = 100;

/** Deliveries that one transaction looks at. Each that is sent again changes itself and its endpoint. */
const SLICE_DELIVERIES = Math.floor(WRITE_ROWS_MAX / 8);

const COLUMNS = `d.id, d.endpoint_id AS "endpointId", d.event_id AS "eventId", v.type AS "eventType",
  v.session_id AS "sessionId", d.state, d.attempts, d.due_at_ms AS "dueAtMs", d.created_at_ms AS "createdAtMs",
  d.last_status AS "lastStatus", d.last_error AS "lastError"`;

/** Columns that a filter names. */
const filtered = {
  id: 'd.id',
  storeId: 'v.store_id',
  sessionId: 'v.session_id',
  eventId: 'v.id',
  state: 'd.state',
} as const;

/** After the newest event: what ids begin with comes before it. */
const BEGINNING: DeliveryCursor = { eventId: '~', id: '' };

function isWanted({ state, lastStatus, lastError }: Delivery, wanted: Omit<DeliverySearch, 'endpointId'>): boolean {
  const { answer } = wanted;
  if (wanted.state !== null && state !== wanted.state) return false;
  if (answer === null) return true;
  if (answer === 'none') return lastStatus === null && lastError !== null;
  return lastStatus !== null && lastStatus >= answer.from && lastStatus <= answer.to;
}

export function deliveryCommands(db: Db, refreshDue: RefreshDue) {
  return { ...deliveryQueries(db), ...resendCommands(db, refreshDue) };
}

function deliveryQueries({ client, read }: Db) {
  const firstOfRest = client
    .prepare(
      `SELECT id FROM events WHERE store_id = :storeId AND mode = :mode AND id <= :fromId
       ORDER BY id DESC LIMIT 1 OFFSET :lookMax`,
    )
    .pluck();
  const looking = (isOne: string) =>
    client.prepare(
      `SELECT ${COLUMNS} FROM events AS v
         JOIN deliveries AS d ON d.event_id = v.id ${isOne}
       WHERE v.store_id = :storeId AND v.mode = :mode AND v.id <= :fromId AND v.id > :nextId
         AND (v.id < :fromId OR d.id > :afterId)
       ORDER BY v.id DESC, d.id LIMIT :lookMax`,
    );
  const [ofAll, ofEndpoint] = [looking(''), looking('AND d.endpoint_id = :endpointId')];
  const attemptsOf = client.prepare(
    `SELECT delivery_id AS "deliveryId", attempt, started_at_ms AS "startedAtMs", duration_ms AS "durationMs", status, error,
       response_excerpt AS "responseExcerpt"
     FROM attempts WHERE delivery_id = :id ORDER BY id`,
  );

  return {
    /** Lists deliveries, newest event first. */
    async list({ limit, ...filter }: DeliveryFilter): Promise<readonly Delivery[]> {
      const names = (Object.keys(filter) as (keyof typeof filtered)[]).filter((name) => filter[name] !== undefined);
      const where = names.map((name) => `${filtered[name]} = :${name}`).join(' AND ');
      // The order is the same; the column is chosen so that the filter's index provides it.
      const order = names.every((name) => name === 'state') ? 'd.event_id' : 'v.id';
      const text = `SELECT ${COLUMNS} FROM deliveries AS d JOIN events AS v ON v.id = d.event_id
        ${where && `WHERE ${where}`} ORDER BY ${order} DESC, d.id LIMIT :limit`;
      return read(async () => (await client.prepare(text).all({ ...filter, limit })) as Delivery[]);
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
      return read(async () => {
        const from = after ?? BEGINNING;
        const next = (await firstOfRest.get({ ...at, fromId: from.eventId, lookMax })) as string | undefined;
        const range = { ...at, fromId: from.eventId, afterId: from.id, nextId: next ?? '', lookMax };
        const rows = endpointId === null ? ofAll.iterate(range) : ofEndpoint.iterate({ ...range, endpointId });
        const found: Delivery[] = [];
        let last: Delivery | null = null;
        let looked = 0;
        for await (const delivery of rows as AsyncIterable<Delivery>) {
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
    async attempts(deliveryId: string): Promise<readonly Attempt[]> {
      return read(async () => (await attemptsOf.all({ id: deliveryId })) as Attempt[]);
    },
  };
}

type Looked = Readonly<{ id: string; endpointId: string; eventId: string; isFound: number }>;

function resendCommands(db: Db, refreshDue: RefreshDue) {
  const looking = (isFound: string, where: string) =>
    db.client.prepare(
      `SELECT d.id, d.endpoint_id AS "endpointId", d.event_id AS "eventId",
         CASE WHEN e.removed = 0 AND (${isFound}) THEN 1 ELSE 0 END AS "isFound"
       FROM deliveries AS d JOIN endpoints AS e ON e.id = d.endpoint_id
       WHERE ${where} ORDER BY d.event_id, d.endpoint_id LIMIT ${SLICE_DELIVERIES}`,
    );
  const ofDelivery = looking('1 = 1', 'd.id = :deliveryId');
  const ofEvent = looking('1 = 1', 'd.event_id = :eventId');
  const since = looking(
    "(CAST(:endpointId AS TEXT) IS NULL OR d.endpoint_id = :endpointId) AND (d.state = 'failed' OR d.state = 'waiting' AND d.attempts > 0)",
    '(d.event_id, d.endpoint_id) > (:afterEvent, :afterEndpoint)',
  );
  const again = db.client.prepare(
    `UPDATE deliveries SET state = 'waiting', attempts = 0, due_at_ms = :atMs, lease_until_ms = NULL WHERE id = :id`,
  );

  async function look(which: Resend, after: Looked | null): Promise<Looked[]> {
    if ('deliveryId' in which) return (await ofDelivery.all(which)) as Looked[];
    if ('eventId' in which) return (await ofEvent.all(which)) as Looked[];
    const { endpointId, sinceMs } = which;
    const from = { afterEvent: after?.eventId ?? firstEventId(sinceMs), afterEndpoint: after?.endpointId ?? '' };
    return (await since.all({ endpointId, ...from })) as Looked[];
  }

  return {
    /**
     * Starts a new schedule for deliveries, whatever their state; of those since a time, for what failed or waits after
     * a failure. The first attempts are `RESEND_PACE_MS` apart, oldest event first. An endpoint that is switched off
     * gets them once it is on.
     * @returns how many
     */
    async resend(which: Resend, nowMs: number, isDryRun = false): Promise<number> {
      let found = 0;
      for (let after: Looked | null = null; ; ) {
        const slice = async (): Promise<Looked[]> => {
          const looked = await look(which, after);
          const chosen = looked.filter(({ isFound }) => isFound === 1);
          if (!isDryRun) {
            for (const [at, { id }] of chosen.entries())
              await again.run({ id, atMs: nowMs + (found + at) * RESEND_PACE_MS });
            await refreshEach(refreshDue, chosen);
          }
          found += chosen.length;
          return looked;
        };
        const looked: Looked[] = isDryRun ? await db.read(slice) : await db.write(slice);
        after = looked.at(-1) ?? null;
        if (after === null || looked.length < SLICE_DELIVERIES || !('sinceMs' in which)) return found;
      }
    },
  };
}
