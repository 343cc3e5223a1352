/** Installations from before webhook secrets had a mode: live endpoints keep theirs, test mode gets others. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createVault } from '../../../src/database/sqlite/vault.ts';
import { withOlderDatabase } from '../../support/older-database.ts';
import { dataKeysOf } from '../../support/secret-keys.ts';
import { secretKey } from '../../support/temp-database.ts';

const sealed = createVault(dataKeysOf(secretKey)).seal('whsec_b2xk', 'store m1, webhook secret');
const endpoint = (id: string, mode: string, perSession: number, removed = 0): string =>
  `('${id}', 'm1', '${mode}', 'https://shop.example/${id}', '[]', ${perSession}, NULL, NULL, 0, ${removed})`;

const before = `
  INSERT INTO stores (id, name, status, settlement_currency, tolerance_minor, top_up_grace_s, monitoring_s, late_policy,
      webhook_secret, created_at_ms)
    VALUES ('m1', 'Shop', 'approved', 'USDT', 0, 100, 1000, 'hold', '${sealed}', 0);
  INSERT INTO endpoints VALUES ${endpoint('we_live', 'live', 0)}, ${endpoint('we_test', 'test', 0)},
    ${endpoint('we_live_once', 'live', 1)}, ${endpoint('we_test_once', 'test', 1)}, ${endpoint('we_gone', 'test', 0, 1)};`;

test('an older installation keeps the secret of live mode, and test mode gets new ones', () =>
  withOlderDatabase('0017', before, async (database, reopen) => {
    const ids = ['we_live', 'we_live_once', 'we_test', 'we_test_once'];
    const read = async (from = database) =>
      Promise.all(ids.map(async (id) => (await from.findWebhookSecret(id, 'live'))?.secret ?? ''));
    const [live, liveOnce, ofTest, testOnce] = await read();
    assert.equal([live, liveOnce], ['whsec_b2xk', 'whsec_b2xk']);
    for (const one of [ofTest, testOnce]) assert.match(one ?? '', /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.is.not(ofTest, testOnce);
    const store = await database.findStore('m1');
    assert.equal(store?.webhookSecrets, { live: 'whsec_b2xk', test: testOnce });
    assert.is((await database.listEndpoints('m1')).length, 4);
    const again = reopen();
    assert.equal(await read(again), [live, liveOnce, ofTest, testOnce], 'they are made once');
    again.close();
  }));

test.run();
