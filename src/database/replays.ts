/** Keys that a request uses up: the nonce of its signature, and the Idempotency-Key of a POST with its result. */
import { invariant } from '../core/fault.ts';
import type { Mode } from '../core/transfer.ts';
import { DAY_MS } from '../lib/clock.ts';
import type { Db } from './engine/open.ts';
import { perDatabase } from './engine/rows.ts';

/** Identifies a repeated POST. `bodyHash` covers the parsed body with its defaults. */
export type Replay = Readonly<{ idempotencyKey: string | null; path: string; bodyHash: string }>;

/** A key belongs to one store, mode and path. */
export type ReplayScope = Readonly<{ storeId: string; mode: Mode; replay: Replay; nowMs: number }>;

type Recalled = Readonly<{ kind: 'new' | 'other_body' } | { kind: 'same_body'; madeId: string }>;

/**
 * A nonce of an API key. It is kept until a request with it would be too old anyhow. `from`: the client's address,
 * which is saved with the key's last use.
 */
export type NonceUse = Readonly<{ keyId: string; nonce: string; nowMs: number; keepUntilMs: number; from?: string }>;

/** Shortest time between two saved uses of a key. */
const USE_NOTED_EVERY_MS = 60_000;
/** Lifetime of an Idempotency-Key: a day, including its last millisecond. */
const KEPT_MS = DAY_MS + 1;
/** Expired keys that one new key removes. There are more than one, so that their number falls. */
const CLEARED_PER_NEW = 8;
/** Interval in which new nonces together remove expired keys. */
const CLEAR_EVERY_MS = 1_000;
/** Most keys that they remove together. */
const CLEARED_MAX = 1_000;

const scopeOf = ({ storeId, mode, replay: { path } }: ReplayScope): string => `${storeId} ${mode} ${path}`;

export const replaysOf = perDatabase(({ client }: Db) => {
  // An expired row of the same key counts as removed.
  const insert = client.prepare(
    `INSERT INTO replays (scope, key, body_hash, made_id, keep_until_ms)
     VALUES (:scope, :key, :bodyHash, :madeId, :keepUntilMs)
     ON CONFLICT (scope, key) DO UPDATE
     SET body_hash = excluded.body_hash, made_id = excluded.made_id, keep_until_ms = excluded.keep_until_ms
     WHERE replays.keep_until_ms <= :nowMs`,
  );
  const find = client.prepare<Readonly<{ bodyHash: string; madeId: string }>>(
    `SELECT body_hash AS "bodyHash", made_id AS "madeId" FROM replays
     WHERE scope = :scope AND key = :key AND keep_until_ms > :nowMs`,
  );
  const clear = client.prepare(
    `DELETE FROM replays WHERE (scope, key) IN
     (SELECT scope, key FROM replays WHERE keep_until_ms <= :nowMs ORDER BY keep_until_ms LIMIT :limit)`,
  );
  /** New nonces since expired ones were last removed. */
  let added = 0;
  /** The time at which expired ones were last removed. */
  let clearedAtMs = 0;

  async function clearTogether(nowMs: number): Promise<void> {
    added += 1;
    if (Math.abs(nowMs - clearedAtMs) < CLEAR_EVERY_MS) return;
    await clear.run({ nowMs, limit: Math.min(added * CLEARED_PER_NEW, CLEARED_MAX) });
    added = 0;
    clearedAtMs = nowMs;
  }

  return {
    /** Uses up a nonce. @returns false when it was used before */
    async useNonce({ keyId: scope, nonce: key, nowMs, keepUntilMs }: NonceUse): Promise<boolean> {
      await clearTogether(nowMs);
      return (await insert.run({ scope, key, bodyHash: null, madeId: null, keepUntilMs, nowMs })).changes === 1;
    },
    isUsed: async ({ keyId: scope, nonce: key, nowMs }: NonceUse): Promise<boolean> =>
      (await find.get({ scope, key, nowMs })) !== undefined,
    /** Returns the result of this key within its day. */
    async recall(scope: ReplayScope): Promise<Recalled> {
      const { idempotencyKey: key, bodyHash } = scope.replay;
      if (key === null) return { kind: 'new' };
      const known = await find.get({ scope: scopeOf(scope), key, nowMs: scope.nowMs });
      if (!known) return { kind: 'new' };
      return known.bodyHash === bodyHash ? { kind: 'same_body', madeId: known.madeId } : { kind: 'other_body' };
    },
    /** Saves the id that a successful request made or changed, for a day. Does nothing for a request without a key. */
    async remember(scope: ReplayScope, madeId: string): Promise<void> {
      const { idempotencyKey: key, bodyHash } = scope.replay;
      const { nowMs } = scope;
      if (key === null) return;
      const row = { scope: scopeOf(scope), key, bodyHash, madeId, nowMs, keepUntilMs: nowMs + KEPT_MS };
      invariant((await insert.run(row)).changes === 1, 'an idempotency key is recalled before it is remembered');
      await clear.run({ nowMs, limit: CLEARED_PER_NEW });
    },
  };
});

// ── Nonces of requests ──────────────────────────────────────────────────────────────────────────────────────────────

const nameOf = ({ keyId, nonce }: NonceUse): string => `${keyId} ${nonce}`;

export const requestNoncesOf = perDatabase((db: Db) => {
  const replays = replaysOf(db);
  const noteUse = db.client.prepare(
    `UPDATE keys SET last_used_at_ms = :nowMs, last_used_from = :from
     WHERE id = :keyId AND (last_used_at_ms IS NULL OR last_used_at_ms <= :nowMs - ${USE_NOTED_EVERY_MS})`,
  );
  /** Nonces that are used up but not saved, oldest first, with the time until which they are kept. */
  const unsaved = new Map<string, number>();

  /** The time of the last saved use of each key. */
  const notedAtMs = new Map<string, number>();

  async function noteUseOf(keyId: string, nowMs: number, from: string): Promise<void> {
    if (nowMs - (notedAtMs.get(keyId) ?? 0) < USE_NOTED_EVERY_MS) return;
    await noteUse.run({ keyId, nowMs, from });
    notedAtMs.set(keyId, nowMs);
  }

  function clearUnsaved(nowMs: number): void {
    for (const [name, keepUntilMs] of unsaved) {
      if (keepUntilMs > nowMs) return;
      unsaved.delete(name);
    }
  }

  async function save({ from, ...use }: NonceUse): Promise<boolean> {
    const isFresh = await replays.useNonce(use);
    if (isFresh && from !== undefined) await noteUseOf(use.keyId, use.nowMs, from);
    return isFresh;
  }

  /** @param mayBeSavedLater answers at once even if another process is writing, for requests that change nothing */
  async function use(nonce: NonceUse, mayBeSavedLater = false): Promise<boolean> {
    clearUnsaved(nonce.nowMs);
    const name = nameOf(nonce);
    if (unsaved.has(name)) return false;
    unsaved.set(name, nonce.keepUntilMs);
    try {
      if (mayBeSavedLater && (await db.read(() => replays.isUsed(nonce)))) {
        unsaved.delete(name);
        return false;
      }
      const saved = db
        .write(() => save(nonce), { isGrouped: true })
        .then((isFresh) => {
          unsaved.delete(name);
          return isFresh;
        });
      const later = new Promise<true>((resolve) => setImmediate(resolve, true));
      // If saving fails, the nonce still stays used up until this process ends.
      saved.catch(() => {});
      return await (mayBeSavedLater ? Promise.race([saved, later]) : saved);
    } catch (error) {
      unsaved.delete(name);
      throw error;
    }
  }

  return {
    /** Uses up a nonce, or returns false when it was used before. Removes a bounded number of expired nonces. */
    use,
    /** Does the same within a transaction, for a request that changes something in it. */
    spend: async (nonce: NonceUse): Promise<boolean> => !unsaved.has(nameOf(nonce)) && (await save(nonce)),
  };
});
