/**
 * Events and their deliveries, written in the transaction of the change that they report. A disabled endpoint gets them
 * too: they wait until it is enabled.
 */
import { and, eq, max, sql } from 'drizzle-orm';
import { type EventType, isExtended } from '../core/event.ts';
import { sortableId } from '../lib/id.ts';
import type { DueTimes } from './due.ts';
import { isPresent, outboxColumns, prepareOfStore, type SessionEndpoints } from './endpoints.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, preparedInsert } from './engine/prepared.ts';
import { LAST_EVENT_MS } from './retirement.ts';
import type { SessionRow } from './session.ts';
import { deliveries, endpoints, events } from './tables.ts';

type EndpointRow = Pick<typeof endpoints.$inferSelect, 'id' | 'url' | 'extendedEvents'>;

type EventSession = Pick<SessionRow, 'id' | 'storeId' | 'mode' | 'endpointId' | 'terms'>;

export type Outbox = Readonly<{
  /**
   * Saves an event and one delivery, due at once, for each endpoint that receives its type,
   * enabled or not.
   * @param body makes the exact text to send, given the event's id
   */
  post(session: EventSession, type: EventType, nowMs: number, body: (eventId: string) => string): void;
}>;

/** Returns a function that saves a delivery, first tried at `atMs`. To be called within a transaction. */
function prepareDelivery(db: Pick<Db, 'orm'>, due: DueTimes) {
  const insert = preparedInsert(db, deliveries);
  return (
    { eventId, endpointId, sessionId }: Readonly<{ eventId: string; endpointId: string; sessionId: string }>,
    atMs: number,
    nowMs: number,
  ): void => {
    insert({
      id: `dlv_${sortableId(nowMs)}`,
      eventId,
      endpointId,
      state: 'waiting',
      attempts: 0,
      nextAttemptAtMs: atMs,
      manualAtMs: null,
      lastStatus: null,
      lastError: null,
      createdAtMs: nowMs,
      sessionId,
      dueAtMs: due.ofNew({ endpointId, sessionId }, atMs),
      leaseUntilMs: null,
    });
    due.refresh(endpointId);
  };
}

/** Returns whether an endpoint receives events of a type. */
const receives = ({ extendedEvents }: Pick<EndpointRow, 'extendedEvents'>, type: EventType): boolean =>
  !isExtended(type) || extendedEvents.includes(type);

export function createOutbox(db: Db, due: DueTimes, sessionEndpoints: SessionEndpoints): Outbox {
  const insertEvent = preparedInsert(db, events);
  const addDelivery = prepareDelivery(db, due);
  const lastId = atFirstUse(db.orm.select({ id: max(events.id) }).from(events));
  const ofStore = prepareOfStore(db);
  const ofSession = atFirstUse(
    db.orm
      .select(outboxColumns)
      .from(endpoints)
      .where(and(eq(endpoints.id, sql.placeholder('endpointId')), isPresent)),
  );

  // An endpoint that was retired is sent its events again, and what has waited.
  const noteEvent = db.client.prepare(
    `UPDATE endpoints SET last_event_at_ms = :nowMs, retired_at_ms = NULL
     WHERE id = :endpointId AND per_session = 1
       AND (retired_at_ms IS NOT NULL OR last_event_at_ms < :nowMs - ${LAST_EVENT_MS})`,
  );

  /** Returns `evt_` and nanoseconds, above every existing id, so that ids give the order. 19 digits until 2286. */
  function nextId(nowMs: number): string {
    const last = BigInt(lastId.get()?.id?.slice('evt_'.length) ?? 0);
    const now = BigInt(nowMs) * 1_000_000n;
    return `evt_${now > last ? now : last + 1n}`;
  }

  /** Returns the endpoint of the URL that the session named. One that was removed for its age is added again. */
  function namedBy({ endpointId, storeId, mode, terms }: EventSession, nowMs: number): EndpointRow | undefined {
    const known = endpointId === null ? undefined : ofSession.get({ endpointId });
    if (known || endpointId === null) return known;
    const added = sessionEndpoints.forSession({ storeId, mode, webhookUrl: terms.webhookUrl, nowMs });
    return added === null ? undefined : ofSession.get({ endpointId: added });
  }

  /** Returns the store's endpoints, and the one that the session named unless it has the same URL. */
  function endpointsOf(session: EventSession, nowMs: number): Readonly<{ all: EndpointRow[]; namedId: string | null }> {
    const found: EndpointRow[] = ofStore.all({ storeId: session.storeId, mode: session.mode });
    const own = namedBy(session, nowMs);
    const all = own && !found.some(({ url }) => url === own.url) ? [...found, own] : found;
    return { all, namedId: own?.id ?? null };
  }

  return {
    post(session, type, nowMs, body) {
      const eventId = nextId(nowMs);
      const { id: sessionId, storeId, mode } = session;
      insertEvent({ id: eventId, storeId, sessionId, mode, type, body: body(eventId), createdAtMs: nowMs });
      const { all, namedId } = endpointsOf(session, nowMs);
      for (const endpoint of all) {
        if (!receives(endpoint, type)) continue;
        const endpointId = endpoint.id;
        if (endpointId === namedId) noteEvent.run({ endpointId, nowMs });
        addDelivery({ eventId, endpointId, sessionId }, nowMs, nowMs);
      }
    },
  };
}
