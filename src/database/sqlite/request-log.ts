/**
 * The newest API requests of each store and mode.
 * @module
 */
import { and, asc, between, desc, eq, gte, inArray, lt, lte } from 'drizzle-orm';
import type { Mode } from '../../core/transfer.ts';
import { REQUESTS_AGE_MS_MAX, REQUESTS_KEPT_MAX, type RequestLogDatabase } from '../request-log.ts';
import type { Db } from './open.ts';
import { apiRequests, keys } from './tables.ts';

/** Too old ones are removed at most so many at a time, beside what else is written. */
const OLD_REMOVED_MAX = 1_000;

export function requestLogCommands(db: Db): RequestLogDatabase {
  const { orm } = db;

  function removeBeyond(storeId: string, mode: Mode): void {
    const own = and(eq(apiRequests.storeId, storeId), eq(apiRequests.mode, mode));
    const first = orm
      .select({ id: apiRequests.id })
      .from(apiRequests)
      .where(own)
      .orderBy(desc(apiRequests.id))
      .limit(1)
      .offset(REQUESTS_KEPT_MAX)
      .get();
    if (first)
      orm
        .delete(apiRequests)
        .where(and(own, lte(apiRequests.id, first.id)))
        .run();
  }

  function removeOld(beforeMs: number): void {
    const old = orm
      .select({ id: apiRequests.id })
      .from(apiRequests)
      .where(lt(apiRequests.atMs, beforeMs))
      .orderBy(asc(apiRequests.atMs))
      .limit(OLD_REMOVED_MAX);
    orm.delete(apiRequests).where(inArray(apiRequests.id, old)).run();
  }

  return {
    async saveRequests(requests, nowMs) {
      await db.write(() => {
        const changed = new Map<string, Readonly<{ storeId: string; mode: Mode }>>();
        for (const request of requests) {
          const at =
            changed.get(request.keyId) ??
            orm.select({ storeId: keys.storeId, mode: keys.mode }).from(keys).where(eq(keys.id, request.keyId)).get();
          if (!at) continue;
          changed.set(request.keyId, at);
          orm
            .insert(apiRequests)
            .values({ ...request, ...at })
            .run();
        }
        for (const { storeId, mode } of changed.values()) removeBeyond(storeId, mode);
        removeOld(nowMs - REQUESTS_AGE_MS_MAX);
      });
    },
    async listRequests({ storeId, mode, statuses, requestId, sessionId = null, beforeId, limit, nowMs }) {
      return db.read(() =>
        orm
          .select({ request: apiRequests, hint: keys.hint })
          .from(apiRequests)
          .innerJoin(keys, eq(keys.id, apiRequests.keyId))
          .where(
            and(
              eq(apiRequests.storeId, storeId),
              eq(apiRequests.mode, mode),
              gte(apiRequests.atMs, nowMs - REQUESTS_AGE_MS_MAX),
              statuses ? between(apiRequests.status, statuses.from, statuses.to) : undefined,
              requestId === null ? undefined : eq(apiRequests.requestId, requestId),
              sessionId === null ? undefined : eq(apiRequests.sessionId, sessionId),
              beforeId === null ? undefined : lt(apiRequests.id, beforeId),
            ),
          )
          .orderBy(desc(apiRequests.id))
          .limit(limit)
          .all()
          .map(({ request: { storeId: _, mode: __, ...request }, hint }) => ({ ...request, keyHint: hint })),
      );
    },
  };
}
