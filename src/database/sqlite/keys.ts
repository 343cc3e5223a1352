/**
 * API keys and their used nonces.
 */

import { and, asc, eq, getTableColumns, isNotNull, isNull, lt, sql } from 'drizzle-orm';
import type { Keys } from '../keys.ts';
import { type ApiKey, USE_NOTED_EVERY_MS } from '../keys.ts';
import type { RecordAct } from './audit-log.ts';
import type { Db } from './open.ts';
import { atFirstUse, preparedInsert } from './prepared.ts';
import type { RowGuard } from './row-guard.ts';
import type { MacedRow } from './row-macs.ts';
import { keys, stores } from './tables.ts';
import type { Vault } from './vault.ts';

/** Expired nonces are removed this often at most, and by so many for each new one: their number falls. */
const CLEAR_NONCES_MS = 1_000;
const NONCES_CLEARED_PER_NEW = 8;
const NONCES_CLEARED_MAX = 1_000;

/** The name under which a key's secret is sealed. */
export const apiSecretName = (keyId: string): string => `key ${keyId}`;

const { keyHash: _hash, secret: _secret, mac: _mac, ...keyColumns } = getTableColumns(keys);

type Protected =
  | 'id'
  | 'storeId'
  | 'mode'
  | 'keyHash'
  | 'secret'
  | 'scopes'
  | 'sources'
  | 'expiresAtMs'
  | 'revokedAtMs';

/** What the MAC of a key covers: who it is, its sealed secret, and what it may do. */
export const macedKey = (row: Pick<typeof keys.$inferSelect, Protected>): MacedRow => {
  const { id, storeId, mode, keyHash, secret, scopes, sources, expiresAtMs, revokedAtMs } = row;
  const lists = [JSON.stringify(scopes), JSON.stringify(sources)];
  return { table: 'keys', key: [id], fields: [storeId, mode, keyHash, secret, ...lists, expiresAtMs, revokedAtMs] };
};

type Parts = Readonly<{ guard: RowGuard; recordAct: RecordAct }>;

export function keyCommands(db: Db, vault: Vault, { guard, recordAct }: Parts): Keys {
  const insert = preparedInsert(db, keys);
  const findByHash = atFirstUse(
    db.orm
      .select({ ...getTableColumns(keys), storeStatus: stores.status })
      .from(keys)
      .innerJoin(stores, eq(stores.id, keys.storeId))
      .where(eq(keys.keyHash, sql.placeholder('keyHash'))),
  );
  const isIntact = (row: typeof keys.$inferSelect): boolean => {
    const remedy = `revoke it by \`quayside key revoke ${row.id}\` and create another`;
    return guard.accepts(macedKey(row), row.mac, `API key ${row.id} of store ${row.storeId}`, remedy);
  };
  const checked = (row: typeof keys.$inferSelect): ApiKey => {
    const { keyHash: _hash, secret: _secret, mac: _mac, ...key } = row;
    return isIntact(row) ? key : { ...key, isAltered: true };
  };
  return {
    async create({ keyHash, secret, name = null, sources = [], expiresAtMs = null, ...key }, act) {
      const sealed = vault.seal(secret, apiSecretName(key.id));
      const unused = { createdBy: act?.operator ?? null, lastUsedAtMs: null, lastUsedFrom: null };
      await db.write(() => {
        const row = { ...key, name, sources, expiresAtMs, ...unused, keyHash, secret: sealed };
        insert({ ...row, mac: guard.seal(macedKey(row)) });
        const { id: target, storeId, mode, hint } = key;
        const texts = { scopes: key.scopes.join(','), sources: sources.join(',') };
        if (act) recordAct(act, { target, before: null, after: { storeId, mode, name, hint, ...texts, expiresAtMs } });
      });
    },
    async list(ofStore) {
      const select = db.orm.select().from(keys);
      const all = ofStore === null ? select : select.where(eq(keys.storeId, ofStore));
      return db.read(() => all.orderBy(keys.createdAtMs, keys.id).all()).map(checked);
    },
    async expiring(beforeMs, limit) {
      const isExpiring = and(isNotNull(keys.expiresAtMs), isNull(keys.revokedAtMs), lt(keys.expiresAtMs, beforeMs));
      const select = db.orm.select(keyColumns).from(keys).where(isExpiring).orderBy(asc(keys.expiresAtMs)).limit(limit);
      return db.read((): ApiKey[] => select.all());
    },
    async show(keyId) {
      const row = db.read(() => db.orm.select().from(keys).where(eq(keys.id, keyId)).get());
      return row ? checked(row) : null;
    },
    async revoke(keyId, act) {
      return db.write(() => {
        const key = db.orm.select().from(keys).where(eq(keys.id, keyId)).get();
        if (key?.revokedAtMs === null) {
          const revoked = { ...key, revokedAtMs: act.atMs };
          const { revokedAtMs } = revoked;
          // An altered row gets a MAC too: what is revoked may do nothing.
          const set = { revokedAtMs, mac: guard.seal(macedKey(revoked)) };
          db.orm.update(keys).set(set).where(eq(keys.id, keyId)).run();
          recordAct(act, { target: keyId, before: { revokedAtMs: null }, after: { revokedAtMs: act.atMs } });
        }
        return key !== undefined;
      });
    },
    async find(keyHash) {
      const row = db.read(() => findByHash.get({ keyHash }));
      if (!row || !isIntact(row)) return null;
      const { keyHash: _hash, mac: _mac, secret, ...key } = row;
      return { ...key, secret: vault.open(secret, apiSecretName(key.id)) };
    },
    useNonce: createNonces(db),
  };
}

function createNonces(db: Db): Keys['useNonce'] {
  // An expired row of the same nonce counts as removed.
  const insert = db.client.prepare(
    `INSERT INTO nonces (key_id, nonce, keep_until_ms) VALUES (:keyId, :nonce, :keepUntilMs)
     ON CONFLICT DO UPDATE SET keep_until_ms = excluded.keep_until_ms WHERE keep_until_ms <= :nowMs`,
  );
  const clear = db.client.prepare(
    `DELETE FROM nonces WHERE (key_id, nonce) IN
     (SELECT key_id, nonce FROM nonces WHERE keep_until_ms <= :nowMs ORDER BY keep_until_ms LIMIT :limit)`,
  );
  const find = db.client.prepare(
    'SELECT 1 FROM nonces WHERE key_id = :keyId AND nonce = :nonce AND keep_until_ms > :nowMs',
  );
  const noteUse = db.client.prepare(
    `UPDATE keys SET last_used_at_ms = :nowMs, last_used_from = :from
     WHERE id = :keyId AND (last_used_at_ms IS NULL OR last_used_at_ms <= :nowMs - ${USE_NOTED_EVERY_MS})`,
  );
  /** Nonces that are used up but not saved, with the time until which that matters; oldest first. */
  const unsaved = new Map<string, number>();

  /** New nonces since expired ones were last removed, and when that was. */
  let added = 0;
  let clearedAtMs = 0;
  /** When the use of each key was last noted. */
  const notedAtMs = new Map<string, number>();

  function clearExpired(nowMs: number): void {
    added += 1;
    if (Math.abs(nowMs - clearedAtMs) < CLEAR_NONCES_MS) return;
    clear.run({ nowMs, limit: Math.min(added * NONCES_CLEARED_PER_NEW, NONCES_CLEARED_MAX) });
    added = 0;
    clearedAtMs = nowMs;
  }

  function noteUseOf(keyId: string, nowMs: number, from: string): void {
    if (nowMs - (notedAtMs.get(keyId) ?? 0) < USE_NOTED_EVERY_MS) return;
    noteUse.run({ keyId, nowMs, from });
    notedAtMs.set(keyId, nowMs);
  }

  function clearUnsaved(nowMs: number): void {
    for (const [name, keepUntilMs] of unsaved) {
      if (keepUntilMs > nowMs) return;
      unsaved.delete(name);
    }
  }

  return async ({ keyId, nonce, nowMs, keepUntilMs, mayBeSavedLater = false, from }) => {
    clearUnsaved(nowMs);
    const name = `${keyId} ${nonce}`;
    if (unsaved.has(name)) return false;
    unsaved.set(name, keepUntilMs);
    const save = (): boolean => {
      clearExpired(nowMs);
      const isFresh = insert.run({ keyId, nonce, nowMs, keepUntilMs }).changes === 1;
      if (isFresh && from !== undefined) noteUseOf(keyId, nowMs, from);
      return isFresh;
    };
    const saved = db.write(save, { isGrouped: true }).then((isFresh) => {
      unsaved.delete(name);
      return isFresh;
    });
    const later = new Promise<null>((resolve) => setImmediate(resolve, null));
    try {
      const isFresh = await (mayBeSavedLater ? Promise.race([saved, later]) : saved);
      if (isFresh !== null) return isFresh;
    } catch (error) {
      unsaved.delete(name);
      throw error;
    }
    // If saving fails at last, the nonce stays used up until this process ends.
    saved.catch(() => {});
    return db.read(() => find.get({ keyId, nonce, nowMs })) === undefined;
  };
}
