/**
 * Idempotency keys: which result a POST had, remembered for a day.
 */
import type { Mode } from '../core/transfer.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, findBy, given, preparedInsert } from './engine/prepared.ts';
import { replays } from './tables.ts';

/** Identifies a repeated POST. `bodyHash` covers the parsed body with defaults applied. */
export type Replay = Readonly<{ idempotencyKey: string | null; path: string; bodyHash: string }>;

const KEPT_MS = 24 * 3600 * 1000;

/** Expired keys that one new key removes: more than one, so that their number falls. */
const CLEARED_MAX = 4;

/** A key belongs to one store, mode and path. */
export type ReplayScope = Readonly<{ storeId: string; mode: Mode; replay: Replay; nowMs: number }>;

type Recalled = Readonly<{ kind: 'new' | 'other_body' } | { kind: 'same_body'; madeId: string }>;

/** Returns functions that are called within a transaction. */
export function createReplays(db: Db) {
  const insert = preparedInsert(db, replays);
  const find = findBy(db, replays, 'storeId', 'mode', 'path', 'idempotencyKey');
  const isOfScope = given(replays, 'storeId', 'mode', 'path', 'idempotencyKey');
  const remove = atFirstUse(db.orm.delete(replays).where(isOfScope));
  const clear = db.client.prepare(
    `DELETE FROM replays WHERE (store_id, mode, path, idempotency_key) IN
     (SELECT store_id, mode, path, idempotency_key FROM replays
      WHERE created_at_ms < ? ORDER BY created_at_ms LIMIT ${CLEARED_MAX})`,
  );
  return {
    /** Returns what this key led to within its day. */
    recall({ storeId, mode, replay: { path, idempotencyKey, bodyHash }, nowMs }: ReplayScope): Recalled {
      if (idempotencyKey === null) return { kind: 'new' };
      const known = find.get({ storeId, mode, path, idempotencyKey });
      if (!known || known.createdAtMs < nowMs - KEPT_MS) return { kind: 'new' };
      return known.bodyHash === bodyHash ? { kind: 'same_body', madeId: known.madeId } : { kind: 'other_body' };
    },
    /** Remembers a success and what it made, or changed; does nothing for a request without a key. */
    remember({ storeId, mode, replay: { path, idempotencyKey, bodyHash }, nowMs }: ReplayScope, madeId: string): void {
      if (idempotencyKey === null) return;
      const row = { storeId, mode, path, idempotencyKey, bodyHash, madeId, createdAtMs: nowMs };
      // A row with this key has expired, or `recall` would have found it.
      remove.run(row);
      insert(row);
      clear.run(nowMs - KEPT_MS);
    },
  };
}

export type Replays = ReturnType<typeof createReplays>;
