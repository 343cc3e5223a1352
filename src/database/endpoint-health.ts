/** Health of endpoints: of one, of all, and of those of a store. */

import { and, eq, sql } from 'drizzle-orm';
import type { EventType } from '../core/event.ts';
import type { Mode } from '../core/transfer.ts';
import type { DeliveryState } from './deliveries.ts';
import { isPresent } from './endpoints.ts';
import { mapInOrder } from './engine/each.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse } from './engine/prepared.ts';
import { firstEventId } from './events.ts';
import { IS_UNPROVEN } from './sending.ts';
import { endpoints } from './tables.ts';

export type RecentDelivery = Readonly<{ id: string; eventType: EventType; state: DeliveryState; attempts: number }>;

export type ShownHealth = Readonly<{
  id: string;
  storeId: string;
  mode: Mode;
  url: string;
  createdAtMs: number;
  disabledAtMs: number | null;
  disabledReason: string | null;
  /** Since when it has accepted nothing although it was tried; null if its last answer was 2xx. */
  failingSinceMs: number | null;
  /** Deliveries that wait, counted up to `WAITING_COUNTED_MAX`. */
  waiting: number;
  /** Its deliveries among the store's newest `RECENT_EVENTS` events of its mode, newest first. */
  recent: readonly RecentDelivery[];
}>;

export const WAITING_COUNTED_MAX = 10_000;
export const RECENT_EVENTS = 500;
/** More deliveries that failed for good are not counted. */
export const FAILED_COUNTED_MAX = 1_000;
/** Endpoints that are listed when they are off or accept nothing. */
export const TROUBLED_MAX = 100;
/** More endpoints of a store are not looked at for deliveries that failed. */
const LOOKED_MAX = 200;

type Troubled = Readonly<{ id: string; url: string }>;

/** Troubles of sending, over all endpoints. */
export type WebhookTrouble = Readonly<{
  /** The first that are on and have accepted nothing since a time, longest first. */
  failing: readonly (Troubled & Readonly<{ sinceMs: number }>)[];
  disabled: readonly (Troubled & Readonly<{ reason: string | null }>)[];
  /** The time at which the first delivery that can be sent now became due; null for none. */
  dueSinceMs: number | null;
  /** Deliveries that failed for good, of events since `sinceMs`, counted up to `FAILED_COUNTED_MAX`. */
  failed: number;
}>;

/** As the index has it. */
const IN_TROUBLE = '(failing_since_ms IS NOT NULL OR disabled_at_ms IS NOT NULL)';

export function healthQueries({ client, orm, read }: Db) {
  const { storeId, mode, url, createdAtMs, disabledAtMs, disabledReason, failingSinceMs } = endpoints;
  const endpoint = atFirstUse(
    orm
      .select({ id: endpoints.id, storeId, mode, url, createdAtMs, disabledAtMs, disabledReason, failingSinceMs })
      .from(endpoints)
      .where(and(eq(endpoints.id, sql.placeholder('id')), isPresent)),
  );
  const waiting = client
    .prepare(
      `SELECT count(*) FROM (SELECT 1 FROM deliveries
         WHERE endpoint_id = :id AND due_at_ms IS NOT NULL LIMIT ${WAITING_COUNTED_MAX}) AS limited`,
    )
    .pluck();
  const recent = client.prepare(
    `SELECT d.id, recent.type AS "eventType", d.state, d.attempts
     FROM (SELECT id, type FROM events WHERE store_id = :storeId AND mode = :mode
           ORDER BY id DESC LIMIT ${RECENT_EVENTS}) AS recent
     JOIN deliveries AS d ON d.event_id = recent.id AND d.endpoint_id = :id ORDER BY recent.id DESC`,
  );
  return {
    /** @returns null when there is no such endpoint */
    async health(id: string): Promise<ShownHealth | null> {
      return read(async (): Promise<ShownHealth | null> => {
        const found = await endpoint.get({ id });
        if (!found) return null;
        const { storeId, mode } = found;
        return {
          ...found,
          waiting: (await waiting.get({ id })) as number,
          recent: (await recent.all({ id, storeId, mode })) as RecentDelivery[],
        };
      });
    },
  };
}

export function troubleQueries({ client, read }: Db) {
  const firstDue = client
    .prepare(
      `SELECT due_at_ms FROM endpoints
       WHERE (${IS_UNPROVEN}) = :isUnproven AND due_at_ms <= :nowMs ORDER BY due_at_ms LIMIT 1`,
    )
    .pluck();
  const failed = client
    .prepare(
      `SELECT count(*) FROM (SELECT 1 FROM deliveries
         WHERE state = 'failed' AND event_id >= :from AND last_error IS DISTINCT FROM 'endpoint_removed'
         ORDER BY event_id DESC LIMIT ${FAILED_COUNTED_MAX}) AS limited`,
    )
    .pluck();
  const failing = client.prepare(
    `SELECT id, url, failing_since_ms AS "sinceMs" FROM endpoints
     WHERE ${IN_TROUBLE} AND failing_since_ms IS NOT NULL AND disabled_at_ms IS NULL AND removed = 0
     ORDER BY failing_since_ms, id LIMIT ${TROUBLED_MAX}`,
  );
  const disabled = client.prepare(
    `SELECT id, url, disabled_reason AS reason FROM endpoints
     WHERE ${IN_TROUBLE} AND disabled_at_ms IS NOT NULL AND removed = 0 ORDER BY disabled_at_ms, id LIMIT ${TROUBLED_MAX}`,
  );
  const failedOf = client
    .prepare(
      `SELECT (SELECT count(*) FROM (SELECT 1 FROM deliveries AS d
         WHERE d.endpoint_id = e.id AND d.state = 'failed' AND d.event_id >= :from LIMIT :limit) AS limited)
       FROM endpoints AS e WHERE e.store_id = :storeId AND e.mode = :mode AND e.removed = 0 LIMIT ${LOOKED_MAX}`,
    )
    .pluck();
  return {
    async trouble(nowMs: number, sinceMs: number): Promise<WebhookTrouble> {
      return read(async (): Promise<WebhookTrouble> => {
        const due = await mapInOrder(
          [0, 1],
          async (isUnproven) => (await firstDue.get({ isUnproven, nowMs })) as number | undefined,
        );
        const dueMs = due.filter((atMs) => atMs !== undefined);
        return {
          failing: (await failing.all()) as WebhookTrouble['failing'],
          disabled: (await disabled.all()) as WebhookTrouble['disabled'],
          dueSinceMs: dueMs.length === 0 ? null : Math.min(...dueMs),
          failed: (await failed.get({ from: firstEventId(sinceMs) })) as number,
        };
      });
    },
    /** Counts what failed for good at a store's endpoints in one mode, of events since a time, up to `limit`. */
    async countFailed(at: Readonly<{ storeId: string; mode: Mode }>, sinceMs: number, limit: number): Promise<number> {
      const counted = await read(() => failedOf.all({ ...at, limit, from: firstEventId(sinceMs) }));
      return Math.min(
        limit,
        (counted as number[]).reduce((sum, one) => sum + one, 0),
      );
    },
  };
}
