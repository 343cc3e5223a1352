/**
 * API keys.
 */

import { eq, getTableColumns, sql } from 'drizzle-orm';
import { type OperatorAct, recordAct } from './audit-log.ts';
import type { StoreSettings } from './column-values.ts';
import { builtOnce, changeRows, findRow, findRows, insertRow } from './engine/rows.ts';
import { requestNoncesOf } from './replays.ts';
import type { MacedRow, SealedDb } from './sealing.ts';
import type { MerchantStore } from './stores.ts';
import { keys, stores } from './tables.ts';

/** An API key as operators see it. The key itself is stored only as its SHA-256. */
export type ApiKey = Omit<typeof keys.$inferSelect, 'keyHash' | 'secret' | 'mac'> &
  Readonly<{
    /** Present if the row's MAC fails. The key is then refused. */
    isAltered?: true;
  }>;

/** A key to be saved. */
export type NewApiKey = Omit<ApiKey, 'name' | 'createdBy' | 'lastUsedAtMs' | 'lastUsedFrom' | 'isAltered'> &
  Partial<Pick<ApiKey, 'name'>> &
  Readonly<{ keyHash: string; secret: string }>;

/** A key as authentication needs it. `secret` signs requests and is stored encrypted. */
export type ApiKeyWithSecret = ApiKey &
  Readonly<{ secret: string; storeStatus: MerchantStore['status']; storeSettings: StoreSettings }>;

/** The name under which a key's secret is sealed. */
export const apiSecretName = (keyId: string): string => `key ${keyId}`;

type Protected = 'id' | 'storeId' | 'mode' | 'keyHash' | 'secret' | 'scopes' | 'revokedAtMs';

/** The fields of a key that its MAC covers: its identity, its sealed secret and its rights. */
export const macedKey = (row: Pick<typeof keys.$inferSelect, Protected>): MacedRow => {
  const { id, storeId, mode, keyHash, secret, scopes, revokedAtMs } = row;
  return { table: 'keys', key: [id], fields: [storeId, mode, keyHash, secret, JSON.stringify(scopes), revokedAtMs] };
};

export function keyCommands(db: SealedDb) {
  const { vault, guard } = db;
  const findByHash = builtOnce(
    db.orm
      .select({ ...getTableColumns(keys), storeStatus: stores.status, storeSettings: stores.settings })
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
    /** @param act the operator's command that creates it, for the audit log */
    async create({ keyHash, secret, name = null, ...key }: NewApiKey, act?: OperatorAct): Promise<void> {
      const sealed = vault.seal(secret, apiSecretName(key.id));
      const unused = { createdBy: act?.operator ?? null, lastUsedAtMs: null, lastUsedFrom: null };
      await db.write(async () => {
        const row = { ...key, name, ...unused, keyHash, secret: sealed };
        await insertRow(db, keys, { ...row, mac: guard.seal(macedKey(row)) });
        const { id: target, storeId, mode, hint } = key;
        const after = { storeId, mode, name, hint, scopes: key.scopes.join(',') };
        await recordAct(db, act, { target, before: null, after });
      });
    },
    /** Returns keys. Altered ones are marked. */
    async list(ofStore: string | null): Promise<readonly ApiKey[]> {
      const where = ofStore === null ? '' : 'WHERE store_id = :ofStore';
      const all = `${where} ORDER BY created_at_ms, id`;
      return (await db.read(() => findRows(db, keys, all, { ofStore }))).map(checked);
    },
    /** Returns the key with this id, revoked or not; null when unknown. */
    async show(keyId: string): Promise<ApiKey | null> {
      const row = await db.read(() => findRow(db, keys, { id: keyId }));
      return row ? checked(row) : null;
    },
    /** @returns false when there is no such key. Revoking it again keeps the first time, and is not recorded. */
    async revoke(keyId: string, act: OperatorAct): Promise<boolean> {
      return db.write(async () => {
        const key = await findRow(db, keys, { id: keyId });
        if (key?.revokedAtMs === null) {
          const revoked = { ...key, revokedAtMs: act.atMs };
          const { revokedAtMs } = revoked;
          // An altered row gets a valid MAC too, because a revoked key has no rights.
          const set = { revokedAtMs, mac: guard.seal(macedKey(revoked)) };
          await changeRows(db, keys, { id: keyId }, set);
          await recordAct(db, act, { target: keyId, before: { revokedAtMs: null }, after: { revokedAtMs: act.atMs } });
        }
        return key !== undefined;
      });
    },
    /** Returns the key with this SHA-256 (hex), revoked or not; null when unknown. */
    async find(keyHash: string): Promise<ApiKeyWithSecret | null> {
      const row = await db.read(() => findByHash().get({ keyHash }));
      if (!row || !isIntact(row)) return null;
      const { keyHash: _hash, mac: _mac, secret, storeStatus: status, ...key } = row;
      const storeStatus = status === 'pending' ? 'pending' : 'approved';
      return { ...key, storeStatus, secret: vault.open(secret, apiSecretName(key.id)) };
    },
    useNonce: requestNoncesOf(db).use,
  };
}
