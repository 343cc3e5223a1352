/**
 * Webhook endpoints.
 */
import { and, asc, desc, eq, gte, inArray, isNull, lt, sql } from 'drizzle-orm';
import { sameTarget } from '../../core/delivery.ts';
import { STORE_ENDPOINTS_MAX } from '../../core/endpoint.ts';
import { type Mode, otherMode } from '../../core/transfer.ts';
import { sortableId } from '../../lib/id.ts';
import type { NewSession } from '../database.ts';
import type { Endpoint, EndpointAdded, EndpointDatabase, EndpointRequested, NewEndpoint } from '../endpoints.ts';
import type { DueTimes } from './due.ts';
import type { Db } from './open.ts';
import { atFirstUse, preparedInsert } from './prepared.ts';
import type { Replays } from './replays.ts';
import { deliveries, endpoints } from './tables.ts';
import type { WebhookSecrets } from './webhook-secrets.ts';
import { WRITE_ROWS_MAX } from './write-queue.ts';

/** Waiting deliveries that one transaction ends. */
const SLICE_DELIVERIES = Math.floor(WRITE_ROWS_MAX / 4);

/** What a new endpoint starts with, besides what its creator decides. */
const fresh = (url: string) => ({
  removed: false,
  host: URL.canParse(url) ? new URL(url).host : '',
  goneCount: 0,
  goneSinceMs: null,
  failingSinceMs: null,
  answeredEventId: null,
  retiredAtMs: null,
  failures: 0,
  silences: 0,
  pausedUntilMs: 0,
  dueAtMs: null,
});

const { id, storeId, mode, url, extendedEvents, perSession, disabledAtMs, disabledReason, createdAtMs } = endpoints;
const shownColumns = { id, storeId, mode, url, extendedEvents, perSession, disabledAtMs, disabledReason, createdAtMs };

export const isPresent = eq(endpoints.removed, sql`0`);

/** What the outbox needs of an endpoint. */
export const outboxColumns = { id, url, extendedEvents };

/** Prepares the list of a store's standing endpoints in one mode, enabled or not. */
export const prepareOfStore = (db: Db) =>
  atFirstUse(
    db.orm
      .select(outboxColumns)
      .from(endpoints)
      .where(
        and(
          eq(endpoints.storeId, sql.placeholder('storeId')),
          eq(endpoints.mode, sql.placeholder('mode')),
          eq(endpoints.perSession, sql`0`),
          isPresent,
        ),
      ),
  );

/** Prepares the search for an endpoint that sessions have named, by its exact URL. */
const prepareFindNamed = (db: Db) =>
  atFirstUse(
    db.orm
      .select({ id: endpoints.id })
      .from(endpoints)
      .where(
        and(
          eq(endpoints.storeId, sql.placeholder('storeId')),
          eq(endpoints.mode, sql.placeholder('mode')),
          eq(endpoints.url, sql.placeholder('url')),
          eq(endpoints.perSession, sql`1`),
          isPresent,
        ),
      ),
  );

/** To be called within a transaction. */
export type SessionEndpoints = Readonly<{
  /** Returns the endpoint for the URL that a session names, and adds it if needed; null when the session names none. */
  forSession(
    session: Pick<NewSession, 'storeId' | 'mode' | 'nowMs'> & Readonly<{ webhookUrl: string | null }>,
  ): string | null;
}>;

export function createSessionEndpoints(db: Db): SessionEndpoints {
  const insert = preparedInsert(db, endpoints);
  const find = prepareFindNamed(db);
  return {
    forSession({ storeId, mode, webhookUrl: url, nowMs }) {
      if (url === null) return null;
      const known = find.get({ storeId, mode, url });
      if (known) return known.id;
      const id = `we_${sortableId(nowMs)}`;
      insert({
        id,
        storeId,
        mode,
        url,
        extendedEvents: [],
        perSession: true,
        disabledAtMs: null,
        disabledReason: null,
        createdAtMs: nowMs,
        ...fresh(url),
        lastEventAtMs: nowMs,
      });
      return id;
    },
  };
}

const modes: readonly Mode[] = ['live', 'test'];

type Target = Readonly<{ storeId: string; mode: Mode; url: string }>;

type Parts = Readonly<{ secrets: WebhookSecrets; due: DueTimes; replays: Replays }>;

export function endpointCommands(db: Db, { secrets, due, replays }: Parts): EndpointDatabase {
  const insert = preparedInsert(db, endpoints);
  const ofStore = prepareOfStore(db);
  const findNamed = prepareFindNamed(db);

  /** Returns the store's endpoint with this URL in the other mode, in whatever spelling. */
  function findOfOtherMode({ storeId, mode, url }: Target): string | null {
    const target = sameTarget(url);
    const others = ofStore.all({ storeId, mode: otherMode(mode) });
    return others.find((one) => sameTarget(one.url) === target)?.id ?? null;
  }

  /** Returns the endpoint of the other mode that sessions have named by this URL. There may be many: found by index. */
  function findNamedInOtherMode({ storeId, mode, url }: Target): string | null {
    const at = (spelling: string) => findNamed.get({ storeId, mode: otherMode(mode), url: spelling })?.id ?? null;
    return at(url) ?? at(sameTarget(url));
  }

  const isThere = (id: string) => and(eq(endpoints.id, id), isPresent);

  function add({ secret, ...endpoint }: NewEndpoint): EndpointAdded {
    const endpointId = findOfOtherMode(endpoint) ?? findNamedInOtherMode(endpoint);
    if (endpointId !== null) return { kind: 'other_mode', endpointId };
    insert({
      ...endpoint,
      ...fresh(endpoint.url),
      lastEventAtMs: endpoint.perSession ? endpoint.createdAtMs : null,
    });
    const { id, storeId, mode, url } = endpoint;
    const extendedEvents = endpoint.extendedEvents.join(',');
    db.describe({ target: id, before: null, after: { storeId, mode, url, extendedEvents } });
    if (secret !== undefined) secrets.add(endpoint.id, endpoint.mode, secret);
    return { kind: 'added' };
  }

  const countOfStore = (storeId: string): number =>
    modes.reduce((count, mode) => count + ofStore.all({ storeId, mode }).length, 0);

  /** Returns what an earlier request made. */
  function made(id: string): EndpointRequested {
    const endpoint = db.orm.select(shownColumns).from(endpoints).where(isThere(id)).get();
    if (!endpoint) return { kind: 'removed' };
    const { storeId, mode } = endpoint;
    const { secret } = secrets.open(secrets.signing({ endpointId: id, storeId, mode }));
    return { kind: 'replayed', endpoint, secret };
  }

  return {
    async addEndpoint(input) {
      return db.write(() => add(input));
    },
    async requestEndpoint(input, replay) {
      const { secret, ...endpoint } = input;
      const scope = { storeId: input.storeId, mode: input.mode, replay, nowMs: input.createdAtMs };
      return db.write((): EndpointRequested => {
        const past = replays.recall(scope);
        if (past.kind === 'other_body') return { kind: 'idempotency_key_conflict' };
        if (past.kind === 'same_body') return made(past.madeId);
        if (countOfStore(input.storeId) >= STORE_ENDPOINTS_MAX) return { kind: 'too_many' };
        const added = add(input);
        if (added.kind === 'other_mode') return added;
        replays.remember(scope, input.id);
        return { kind: 'added', endpoint, secret };
      });
    },
    async pageEndpoints({ storeId, mode, fromId, beforeId, first, limit }) {
      const where = and(
        eq(endpoints.storeId, storeId),
        eq(endpoints.mode, mode),
        eq(endpoints.perSession, sql`0`),
        isPresent,
        gte(endpoints.id, fromId),
        lt(endpoints.id, beforeId),
      );
      const order = first === 'newest' ? desc(endpoints.id) : asc(endpoints.id);
      return db.read(() => db.orm.select(shownColumns).from(endpoints).where(where).orderBy(order).limit(limit).all());
    },
    async findEndpointOfOtherMode(target) {
      return db.read(() => findOfOtherMode(target));
    },
    async listEndpoints(storeId) {
      const ofStore = storeId === null ? undefined : eq(endpoints.storeId, storeId);
      return db.read((): Endpoint[] =>
        db.orm
          .select(shownColumns)
          .from(endpoints)
          .where(and(ofStore, isPresent, isNull(endpoints.retiredAtMs)))
          .orderBy(endpoints.createdAtMs, endpoints.id)
          .all(),
      );
    },
    async findEndpoint(id) {
      return db.read(() => db.orm.select(shownColumns).from(endpoints).where(eq(endpoints.id, id)).get() ?? null);
    },
    async enableEndpoint(id, enabled, reason, nowMs) {
      const state = enabled
        ? {
            ...{ disabledAtMs: null, disabledReason: null, goneCount: 0, goneSinceMs: null },
            ...{ failingSinceMs: null, failures: 0 },
          }
        : { disabledAtMs: sql`coalesce(${endpoints.disabledAtMs}, ${nowMs})`, disabledReason: reason };
      return db.write(() => {
        const before = db.orm.select(shownColumns).from(endpoints).where(isThere(id)).get();
        const { changes } = db.orm.update(endpoints).set(state).where(isThere(id)).run();
        if (before) due.refresh(id);
        const wasEnabled = before?.disabledAtMs === null;
        if (before) db.describe({ target: id, before: { enabled: wasEnabled }, after: { enabled } });
        return changes === 1;
      });
    },
    async setEndpointEvents(id, extendedEvents) {
      return db.write(() => {
        const before = db.orm.select(shownColumns).from(endpoints).where(isThere(id)).get();
        if (!before) return false;
        db.orm.update(endpoints).set({ extendedEvents }).where(isThere(id)).run();
        const textOf = (events: readonly string[]) => ({ extendedEvents: events.join(',') });
        db.describe({ target: id, before: textOf(before.extendedEvents), after: textOf(extendedEvents) });
        return true;
      });
    },
    async removeEndpoint(id) {
      const removeSlice = (): 'removed' | 'unknown' | 'more' => {
        const row = db.orm.select(shownColumns).from(endpoints).where(isThere(id)).get();
        if (!row) return 'unknown';
        const waiting = db.orm
          .select({ id: deliveries.id })
          .from(deliveries)
          .where(and(eq(deliveries.endpointId, id), eq(deliveries.state, sql`'waiting'`)))
          .limit(SLICE_DELIVERIES)
          .all();
        const ids = waiting.map((delivery) => delivery.id);
        db.orm
          .update(deliveries)
          .set({
            ...{ state: 'failed', nextAttemptAtMs: null, manualAtMs: null, dueAtMs: null, leaseUntilMs: null },
            lastError: 'endpoint_removed',
          })
          .where(inArray(deliveries.id, ids))
          .run();
        due.refresh(id);
        if (ids.length === SLICE_DELIVERIES) return 'more';
        // The row stays, because past deliveries refer to it.
        db.orm.update(endpoints).set({ removed: true }).where(isThere(id)).run();
        const { storeId, mode, url } = row;
        db.describe({ target: id, before: { storeId, mode, url }, after: null });
        return 'removed';
      };
      for (;;) {
        const outcome = await db.write(removeSlice);
        if (outcome !== 'more') return outcome === 'removed';
      }
    },
  };
}
