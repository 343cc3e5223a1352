/**
 * Idempotency keys: which result a POST had, remembered for a day.
 */
import { and, eq, sql } from 'drizzle-orm';
import type { Mode } from '../core/transfer.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, preparedInsert } from './engine/prepared.ts';
import { replays } from './tables.ts';

/** Identifies a repeated POST. `bodyHash` covers the parsed body with defaults applied. */
export type Replay = Readonly<{ idempotencyKey: string | null; path: string; bodyHash: string }>;

const KEPT_MS = 24 * 3600 * 1000;

/** Expired keys that one new key removes: more than one, so that their number falls. */
const CLEARED_MAX = 4;

/** A key belongs to one store, mode and path. */
export type ReplayScope = Readonly<{ storeId: string; mode: Mode; replay: Replay; nowMs: number }>;

/** To be called within a transaction. */
export type Replays = Readonly<{
  /** Returns what this key led to within its day. */
  recall(scope: ReplayScope): Readonly<{ kind: 'new' | 'other_body' } | { kind: 'same_body'; madeId: string }>;
  /** Remembers a success and what it made, or changed; does nothing for a request without a key. */
  remember(scope: ReplayScope, madeId: string): void;
}>;

export function createReplays(db: Db): Replays {
  const insert = preparedInsert(db, replays);
  const isOfScope = and(
    eq(replays.storeId, sql.placeholder('storeId')),
    eq(replays.mode, sql.placeholder('mode')),
    eq(replays.path, sql.placeholder('path')),
    eq(replays.idempotencyKey, sql.placeholder('idempotencyKey')),
  );
  const find = atFirstUse(
    db.orm
      .select({ bodyHash: replays.bodyHash, madeId: replays.madeId, createdAtMs: replays.createdAtMs })
      .from(replays)
      .where(isOfScope),
  );
  const remove = atFirstUse(db.orm.delete(replays).where(isOfScope));
  const clear = db.client.prepare(
    `DELETE FROM replays WHERE (store_id, mode, path, idempotency_key) IN
     (SELECT store_id, mode, path, idempotency_key FROM replays
      WHERE created_at_ms < ? ORDER BY created_at_ms LIMIT ${CLEARED_MAX})`,
  );
  return {
    recall({ storeId, mode, replay: { path, idempotencyKey, bodyHash }, nowMs }) {
      if (idempotencyKey === null) return { kind: 'new' };
      const known = find.get({ storeId, mode, path, idempotencyKey });
      if (!known || known.createdAtMs < nowMs - KEPT_MS) return { kind: 'new' };
      return known.bodyHash === bodyHash ? { kind: 'same_body', madeId: known.madeId } : { kind: 'other_body' };
    },
    remember({ storeId, mode, replay: { path, idempotencyKey, bodyHash }, nowMs }, madeId) {
      if (idempotencyKey === null) return;
      const row = { storeId, mode, path, idempotencyKey, bodyHash, madeId, createdAtMs: nowMs };
      // A row with this key has expired, or `recall` would have found it.
      remove.run(row);
      insert(row);
      clear.run(nowMs - KEPT_MS);
    },
  };
}
