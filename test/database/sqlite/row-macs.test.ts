/** MACs of rows: what they cover, their versions, and an installation from before there were any. */
import Sqlite from 'better-sqlite3';
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createRowMacs, type MacedRow } from '../../../src/database/sqlite/row-macs.ts';
import { createVault } from '../../../src/database/sqlite/vault.ts';
import { withOlderDatabase } from '../../support/older-database.ts';
import { runs } from '../../support/runs.ts';
import { dataKeysOf } from '../../support/secret-keys.ts';
import { connectTo, secretKey } from '../../support/temp-database.ts';

const macs = createRowMacs(dataKeysOf(secretKey));
const field = fc.oneof(fc.string({ maxLength: 6 }), fc.integer(), fc.constant(null));
const rows: fc.Arbitrary<MacedRow> = fc.record({
  table: fc.constantFrom('keys', 'key', 'addresses'),
  key: fc.array(field, { maxLength: 3 }),
  fields: fc.array(field, { maxLength: 4 }),
});

test('a MAC fits its own row and no other, however fields are split, typed or left out', () => {
  fc.assert(
    fc.property(rows, rows, (row, other) => {
      const mac = macs.seal(row);
      assert.match(mac, /^v1\.[A-Za-z0-9_-]{43}$/);
      assert.ok(macs.isIntact(row, mac));
      assert.is(macs.isIntact(other, mac), JSON.stringify(other) === JSON.stringify(row));
    }),
    { numRuns: runs(2_000) },
  );
  const one = (key: MacedRow['key'], fields: MacedRow['fields']): MacedRow => ({ table: 't', key, fields });
  const alike = [one(['a', 'b'], []), one(['a'], ['b']), one([], ['a', 'b']), one(['ab'], []), one(['a'], ['1:b'])];
  const typed = [one([], [1]), one([], ['1']), one([], [null]), one([], ['']), one([], ['n']), one([], [])];
  const all = [...alike, ...typed].map((row) => macs.seal(row));
  assert.is(new Set(all).size, all.length);
});

test('a MAC names its key: with that key it stays valid under a newer one, and without it none is', () => {
  const row: MacedRow = { table: 'keys', key: ['k1'], fields: ['m1'] };
  const newer = new Uint8Array(32).fill(8);
  const both = createRowMacs(dataKeysOf(secretKey, newer));
  const [first, second] = [macs.seal(row), both.seal(row)];
  assert.match(second, /^v2\./);
  assert.ok(both.isIntact(row, first) && both.isIntact(row, second));
  assert.not(macs.isIntact(row, second));
  const [, text = ''] = first.split('.');
  for (const bad of [null, '', text, `v2.${text}`, `v01.${text}`, `v1.${text}=`, `v1.${text.slice(1)}`, 'v1.', 'v9.x'])
    assert.not(both.isIntact(row, bad), String(bad));
});

const sealed = createVault(dataKeysOf(secretKey)).seal('ss_older', 'key k1');
const before = `
  INSERT INTO stores (id, name, status, settlement_currency, tolerance_minor, top_up_grace_s, monitoring_s, late_policy,
      credit, created_at_ms)
    VALUES ('m1', 'Shop', 'approved', 'USDT', 0, 100, 1000, 'hold', '', 0);
  INSERT INTO webhook_secrets (owner, mode, secret) VALUES ('m1', 'live', ''), ('m1', 'test', '');
  INSERT INTO keys (id, store_id, mode, key_hash, secret, hint, scopes, created_at_ms, sources, expires_at_ms)
    VALUES ('k1', 'm1', 'live', 'h1', '${sealed}', 'sk', '["sessions:read"]', 5, '["10.0.0.0/8"]', 99);
  INSERT INTO pools (id, family, mode, source, current, next_index, taken) VALUES (1, 'evm', 'test', 'x', 1, 6000, 0);
  WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 5999)
  INSERT INTO addresses (pool_id, family, mode, key, derivation_index, state)
    SELECT 1, 'evm', 'test', printf('%040x', i), i, 'free' FROM n;
  INSERT INTO networks (key, state, updated_at_ms) VALUES ('test:one', 'following', 0);
  INSERT INTO blocks (id, network, hash, parent, number, time_s, canonical, watched_through_id)
    VALUES (1, 'test:one', 'h', 'g', 1, 1, 1, 0);
  INSERT INTO transfers (block_id, network, tx, position, currency, from_key, address_id, units, decimals, confirmed, dust,
      counted)
    VALUES (1, 'test:one', 't1', 0, 'USDT', 'ff', 1, '5', 6, 0, 0, 'none');`;

test('rows of an older installation get their MACs once; one that comes later without a MAC is refused', () =>
  withOlderDatabase('0037', before, async (database, reopen, file) => {
    const found = await database.findKey('h1');
    assert.equal([found?.id, found?.secret, found?.sources], ['k1', 'ss_older', ['10.0.0.0/8']]);
    const raw = new Sqlite(file);
    const count = (where: string) => raw.prepare(`SELECT count(*) FROM addresses WHERE ${where}`).pluck().get();
    assert.equal([count('mac IS NULL'), count(`mac LIKE 'v1.%'`)], [0, 6000]);
    assert.match(raw.prepare('SELECT mac FROM transfers').pluck().get() as string, /^v1\./);
    raw.exec(`UPDATE keys SET mac = NULL, scopes = '["refunds:write"]'`);
    assert.is(await database.findKey('h1'), null);
    raw.close();
    const later = reopen();
    assert.is(await later.findKey('h1'), null, 'opening it again does not give the row a MAC');
    later.close();
  }));

test('a backup of the same installation works after a restore', () =>
  withOlderDatabase('0037', before, async (database, _reopen, file) => {
    const backup = `${file}-backup`;
    const raw = new Sqlite(file);
    await raw.backup(backup);
    raw.exec(`UPDATE keys SET mode = 'test', scopes = '["refunds:write"]'`);
    raw.close();
    assert.is(await database.findKey('h1'), null);
    const restored = connectTo(backup);
    assert.equal((await restored.findKey('h1'))?.scopes, ['sessions:read']);
    restored.close();
  }));

test.run();
