/**
 * Webhook endpoints.
 */

import { and, asc, desc, eq, gte, inArray, lt, type SQL, sql } from 'drizzle-orm';
import { sameTarget } from '../core/delivery.ts';
import { SILENT_COUNT, STORE_ENDPOINTS_MAX } from '../core/endpoint.ts';
import type { ExtendedEventType } from '../core/event.ts';
import { type Mode, otherMode } from '../core/transfer.ts';
import { sortableId } from '../lib/id.ts';
import type { RefreshDue } from './endpoint-due.ts';
import { mapInOrder } from './engine/each.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, preparedInsert } from './engine/prepared.ts';
import { WRITE_ROWS_MAX } from './engine/write-queue.ts';
import type { Replay, Replays } from './replays.ts';
import { deliveries, endpoints } from './tables.ts';
import type { WebhookSecrets } from './webhook-secrets.ts';

export type Endpoint = Readonly<{
  id: string;
  storeId: string;
  mode: Mode;
  /** Where events are sent; the origin of the URLs that single sessions named. */
  url: string;
  /** Events beyond the documented ones that it opted in to. */
  extendedEvents: readonly ExtendedEventType[];
  /** True when it serves only the sessions that named a URL there, not the whole store. */
  perSession: boolean;
  disabledAtMs: number | null;
  disabledReason: string | null;
  createdAtMs: number;
}>;

/** Without a secret of its own, the store's secret of the endpoint's mode signs. */
export type NewEndpoint = Endpoint & Readonly<{ secret?: string }>;

/** `other_mode`: the URL already receives events of the other mode, at the endpoint `endpointId`. */
export type EndpointAdded = Readonly<{ kind: 'added' }> | Readonly<{ kind: 'other_mode'; endpointId: string }>;

/**
 * What became of a merchant's request for an endpoint. `replayed`: the same request made it before. `removed`: it did,
 * and the endpoint is gone. `too_many`: the store has `STORE_ENDPOINTS_MAX`.
 */
export type EndpointRequested =
  | Readonly<{ kind: 'added' | 'replayed'; endpoint: Endpoint; secret: string }>
  | Extract<EndpointAdded, { kind: 'other_mode' }>
  | Readonly<{ kind: 'removed' | 'too_many' | 'idempotency_key_conflict' }>;

/** A page of the endpoints of a store. `first`: which of those between the ids come first. */
export type EndpointPaging = Readonly<{
  storeId: string;
  mode: Mode;
  fromId: string;
  beforeId: string;
  first: 'newest' | 'oldest';
  limit: number;
}>;

/** Waiting deliveries that one transaction ends. */
const SLICE_DELIVERIES = Math.floor(WRITE_ROWS_MAX / 4);

/** What a new endpoint starts with, besides what its creator decides. */
const fresh = {
  ...{ removed: false, failingSinceMs: null, failures: 0, gones: 0, silences: 0, pausedUntilMs: 0, dueAtMs: null },
};

const { id, storeId, mode, url, extendedEvents, perSession, disabledAtMs, disabledReason, createdAtMs } = endpoints;
const shownColumns = { id, storeId, mode, url, extendedEvents, perSession, disabledAtMs, disabledReason, createdAtMs };

export const isPresent = eq(endpoints.removed, sql`0`);

/** The part of an endpoint that decides whether it gets an event. */
export type EventEndpoint = Pick<Endpoint, 'id' | 'url' | 'extendedEvents'>;

const prepareFind = (db: Db, where: SQL) =>
  atFirstUse(
    db.orm
      .select({ id: endpoints.id, url: endpoints.url, extendedEvents: endpoints.extendedEvents })
      .from(endpoints)
      .where(
        and(eq(endpoints.storeId, sql.placeholder('storeId')), eq(endpoints.mode, sql.placeholder('mode')), where),
      ),
  );

/** Prepares the list of a store's endpoints in one mode, on or off, without those that single sessions named. */
const prepareOfStore = (db: Db) => prepareFind(db, sql`${eq(endpoints.perSession, sql`0`)} AND ${isPresent}`);

/** A session's store and mode, and the URL that it names for its own events. */
type Named = Readonly<{ storeId: string; mode: Mode; webhookUrl: string | null; nowMs: number }>;

/**
 * Prepares finding the endpoints of a session's events, on or off: the store's, and the one of the URL that the session
 * named, which is added if needed. To be called within a transaction.
 */
export function prepareEndpointsOf(db: Db): (named: Named) => Promise<readonly EventEndpoint[]> {
  const insert = preparedInsert(db, endpoints);
  const ofStore = prepareOfStore(db);
  const ofOrigin = prepareFind(
    db,
    sql`${eq(endpoints.perSession, sql`1`)} AND ${eq(endpoints.url, sql.placeholder('url'))} AND ${isPresent}`,
  );
  return async ({ storeId, mode, webhookUrl, nowMs }) => {
    const found = await ofStore.all({ storeId, mode });
    // One URL gets an event once.
    if (webhookUrl === null || found.some(({ url }) => url === webhookUrl)) return found;
    const url = new URL(webhookUrl).origin;
    const known = await ofOrigin.get({ storeId, mode, url });
    if (known) return [...found, known];
    const added = { id: `we_${sortableId(nowMs, storeId + mode + url)}`, url, extendedEvents: [], secret: null };
    const on = { perSession: true, disabledAtMs: null, disabledReason: null, createdAtMs: nowMs };
    await insert({ ...added, storeId, mode, ...on, ...fresh, silences: SILENT_COUNT });
    return [...found, added];
  };
}

const modes: readonly Mode[] = ['live', 'test'];

type Target = Readonly<{ storeId: string; mode: Mode; url: string }>;

type Parts = Readonly<{ secrets: WebhookSecrets; refreshDue: RefreshDue; replays: Replays }>;

export function endpointCommands(db: Db, { secrets, refreshDue, replays }: Parts) {
  const insert = preparedInsert(db, endpoints);
  const ofStore = prepareOfStore(db);

  /** Returns the store's endpoint with this URL in the other mode, in whatever spelling. */
  async function findOfOtherMode({ storeId, mode, url }: Target): Promise<string | null> {
    const target = sameTarget(url);
    const others = await ofStore.all({ storeId, mode: otherMode(mode) });
    return others.find((one) => sameTarget(one.url) === target)?.id ?? null;
  }

  const isThere = (id: string) => and(eq(endpoints.id, id), isPresent);

  async function add({ secret, ...endpoint }: NewEndpoint): Promise<EndpointAdded> {
    const endpointId = await findOfOtherMode(endpoint);
    if (endpointId !== null) return { kind: 'other_mode', endpointId };
    const { id, storeId, mode, url } = endpoint;
    await insert({ ...endpoint, ...fresh, secret: secret === undefined ? null : secrets.seal(id, mode, secret) });
    const extendedEvents = endpoint.extendedEvents.join(',');
    db.describe({ target: id, before: null, after: { storeId, mode, url, extendedEvents } });
    return { kind: 'added' };
  }

  const countOfStore = async (storeId: string): Promise<number> =>
    (await mapInOrder(modes, (mode) => ofStore.all({ storeId, mode }))).flat().length;

  /** Returns what an earlier request made. */
  async function made(id: string): Promise<EndpointRequested> {
    const endpoint = await db.orm.select(shownColumns).from(endpoints).where(isThere(id)).get();
    if (!endpoint) return { kind: 'removed' };
    const { storeId, mode } = endpoint;
    const { secret } = await secrets.signing({ endpointId: id, storeId, mode });
    return { kind: 'replayed', endpoint, secret };
  }

  return {
    /** Adds an endpoint, unless its URL receives events of the other mode. */
    async add(input: NewEndpoint): Promise<EndpointAdded> {
      return db.write(() => add(input));
    },
    /** Adds an endpoint for a request that may be repeated. */
    async request(input: NewEndpoint & Readonly<{ secret: string }>, replay: Replay): Promise<EndpointRequested> {
      const { secret, ...endpoint } = input;
      const scope = { storeId: input.storeId, mode: input.mode, replay, nowMs: input.createdAtMs };
      return db.write(async (): Promise<EndpointRequested> => {
        const past = await replays.recall(scope);
        if (past.kind === 'other_body') return { kind: 'idempotency_key_conflict' };
        if (past.kind === 'same_body') return made(past.madeId);
        if ((await countOfStore(input.storeId)) >= STORE_ENDPOINTS_MAX) return { kind: 'too_many' };
        const added = await add(input);
        if (added.kind === 'other_mode') return added;
        await replays.remember(scope, input.id);
        return { kind: 'added', endpoint, secret };
      });
    },
    /** Returns a page of a store's endpoints, without those that single sessions named. */
    async page({ storeId, mode, fromId, beforeId, first, limit }: EndpointPaging): Promise<readonly Endpoint[]> {
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
    /** Returns the id of a store's endpoint with this URL in the other mode than this one, or null. */
    async findOfOtherMode(target: Readonly<{ storeId: string; mode: Mode; url: string }>): Promise<string | null> {
      return db.read(() => findOfOtherMode(target));
    },
    async list(storeId: string | null): Promise<readonly Endpoint[]> {
      const ofStore = storeId === null ? undefined : eq(endpoints.storeId, storeId);
      return db.read(
        (): Promise<Endpoint[]> =>
          db.orm
            .select(shownColumns)
            .from(endpoints)
            .where(and(ofStore, isPresent))
            .orderBy(endpoints.createdAtMs, endpoints.id)
            .all(),
      );
    },
    /** Returns an endpoint, also one that was removed. */
    async find(id: string): Promise<Endpoint | null> {
      return db.read(
        async () => (await db.orm.select(shownColumns).from(endpoints).where(eq(endpoints.id, id)).get()) ?? null,
      );
    },
    async enable(id: string, enabled: boolean, reason: string | null, nowMs: number): Promise<boolean> {
      const state = enabled
        ? { disabledAtMs: null, disabledReason: null, failingSinceMs: null, failures: 0, gones: 0 }
        : { disabledAtMs: sql`coalesce(${endpoints.disabledAtMs}, ${nowMs})`, disabledReason: reason };
      return db.write(async () => {
        const before = await db.orm.select(shownColumns).from(endpoints).where(isThere(id)).get();
        const { changes } = await db.orm.update(endpoints).set(state).where(isThere(id)).run();
        if (before) await refreshDue(id);
        const wasEnabled = before?.disabledAtMs === null;
        if (before) db.describe({ target: id, before: { enabled: wasEnabled }, after: { enabled } });
        return changes === 1;
      });
    },
    /**
     * Changes which events beyond the documented ones an endpoint gets. @returns false when there is no such endpoint
     */
    async setEvents(id: string, extendedEvents: readonly ExtendedEventType[]): Promise<boolean> {
      return db.write(async () => {
        const before = await db.orm.select(shownColumns).from(endpoints).where(isThere(id)).get();
        if (!before) return false;
        await db.orm.update(endpoints).set({ extendedEvents }).where(isThere(id)).run();
        const textOf = (events: readonly string[]) => ({ extendedEvents: events.join(',') });
        db.describe({ target: id, before: textOf(before.extendedEvents), after: textOf(extendedEvents) });
        return true;
      });
    },
    async remove(id: string): Promise<boolean> {
      const removeSlice = async (): Promise<'removed' | 'unknown' | 'more'> => {
        const row = await db.orm.select(shownColumns).from(endpoints).where(isThere(id)).get();
        if (!row) return 'unknown';
        const waiting = await db.orm
          .select({ id: deliveries.id })
          .from(deliveries)
          .where(and(eq(deliveries.endpointId, id), eq(deliveries.state, sql`'waiting'`)))
          .limit(SLICE_DELIVERIES)
          .all();
        const ids = waiting.map((delivery) => delivery.id);
        await db.orm
          .update(deliveries)
          .set({
            ...{ state: 'failed', dueAtMs: null, leaseUntilMs: null, lastError: 'endpoint_removed' },
          })
          .where(inArray(deliveries.id, ids))
          .run();
        await refreshDue(id);
        if (ids.length === SLICE_DELIVERIES) return 'more';
        // The row stays, because past deliveries refer to it.
        await db.orm.update(endpoints).set({ removed: true }).where(isThere(id)).run();
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
