/** Installations from before stores could be suspended and had a channel type: theirs are not, and use the API. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withOlderDatabase } from '../../support/older-database.ts';

const before = `
  INSERT INTO stores (id, name, status, settlement_currency, tolerance_minor, top_up_grace_s, monitoring_s, late_policy,
      credit, created_at_ms)
    VALUES ('m1', 'Shop', 'approved', 'USDC', 7, 100, 1000, 'accept', '', 5);
  INSERT INTO webhook_secrets (owner, mode, secret) VALUES ('m1', 'live', ''), ('m1', 'test', '');`;

test('older stores keep their settings, use the API and are not suspended', () =>
  withOlderDatabase('0034', before, async (database) => {
    const [store] = await database.listStores();
    assert.ok(store);
    const { webhookSecrets: _made, ...kept } = store;
    const times = { toleranceMinor: 7, topUpGraceS: 100, monitoringS: 1000 };
    const settings = { settlementCurrency: 'USDC', ...times, latePolicy: 'accept', credit: '' };
    const given = { channelType: 'API', zone: 'UTC', createdAtMs: 5 };
    assert.equal(kept, { id: 'm1', name: 'Shop', status: 'approved', settings, ...given });
    assert.equal(await database.suspendedStores(), []);
  }));

test.run();
