/** Installations from before keys could expire: theirs go on working, from anywhere. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createVault } from '../../../src/database/sqlite/vault.ts';
import { withOlderDatabase } from '../../support/older-database.ts';
import { dataKeysOf } from '../../support/secret-keys.ts';
import { secretKey } from '../../support/temp-database.ts';

const sealed = createVault(dataKeysOf(secretKey)).seal('ss_older', 'key k1');
const before = `
  INSERT INTO stores (id, name, status, settlement_currency, tolerance_minor, top_up_grace_s, monitoring_s, late_policy,
      credit, created_at_ms)
    VALUES ('m1', 'Shop', 'approved', 'USDT', 0, 100, 1000, 'hold', '', 0);
  INSERT INTO webhook_secrets (owner, mode, secret) VALUES ('m1', 'live', ''), ('m1', 'test', '');
  INSERT INTO keys (id, store_id, mode, key_hash, secret, hint, scopes, created_at_ms, revoked_at_ms)
    VALUES ('k1', 'm1', 'live', 'h1', '${sealed}', 'sk_live_…1', '["sessions:read"]', 5, NULL),
           ('k2', 'm1', 'live', 'h2', '${sealed}', 'sk_live_…2', '["refunds:write"]', 6, 7);`;

test('older keys have no end and no ranges, and keep their secret, scopes and revocation', () =>
  withOlderDatabase('0033', before, async (database) => {
    const life = {
      name: null,
      sources: [],
      expiresAtMs: null,
      createdBy: null,
      lastUsedAtMs: null,
      lastUsedFrom: null,
    };
    const found = await database.findKey('h1');
    assert.equal([found?.secret, found?.scopes, found?.storeStatus], ['ss_older', ['sessions:read'], 'approved']);
    const shared = { storeId: 'm1', mode: 'live' };
    assert.equal(await database.listKeys('m1'), [
      {
        id: 'k1',
        ...shared,
        hint: 'sk_live_…1',
        scopes: ['sessions:read'],
        createdAtMs: 5,
        revokedAtMs: null,
        ...life,
      },
      { id: 'k2', ...shared, hint: 'sk_live_…2', scopes: ['refunds:write'], createdAtMs: 6, revokedAtMs: 7, ...life },
    ]);
    assert.is((await database.expiringKeys(Number.MAX_SAFE_INTEGER, 9)).length, 0);
  }));

test.run();
