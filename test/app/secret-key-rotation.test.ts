/**
 * Rotating the secret key of an installation that is stopped: everything that it protects works with the new key and
 * nothing opens with the old one.
 */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rotateSecretKey } from '../../src/app/secret-key-rotation.ts';
import { createIntentMac, isPayback } from '../../src/core/intent.ts';
import { takeInstanceLock } from '../../src/database/engine/instance-lock.ts';
import { fitsDatabase } from '../../src/database/rotate-secret-key.ts';
import { openSecretKey, secretKeyText } from '../../src/lib/secret-key.ts';
import { type ApiServer, withApi } from '../support/api-server.ts';
import { type Contents, checkAll, claimed, endApproval, fill, keyFileOf, rotationParts } from './rotation-bench.ts';

/** A filled installation without an approved refund; the server that has it open is idle while the key is rotated. */
const withScene = (work: (api: ApiServer, contents: Contents) => Promise<void>): Promise<void> =>
  withApi({ pages: true, addresses: 40 }, async (api) => {
    const contents = await fill(api);
    await endApproval(api, contents);
    await work(api, contents);
  });

async function rejects(work: () => Promise<unknown>, code: string, text: RegExp): Promise<void> {
  const error = await work().then(
    () => null,
    (reason) => reason,
  );
  assert.is(error?.code, code, error?.message);
  assert.match(error.message, text);
}

/** Returns every sealed value and MAC of the file, by table and column. */
function sealedValues(file: string): Map<string, string[]> {
  const raw = new Sqlite(file, { readonly: true });
  const found = new Map<string, string[]>();
  const tables = raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[];
  for (const table of tables) {
    for (const row of raw.prepare(`SELECT * FROM "${table}"`).all() as Record<string, unknown>[]) {
      for (const [column, value] of Object.entries(row)) {
        if (typeof value !== 'string') continue;
        const text = column === 'intent' ? ((JSON.parse(value) as { mac?: string }).mac ?? '') : value;
        const isIntent = column === 'intent' || `${table}.${column}` === 'refunds.mac';
        if (!(isIntent ? /^[0-9a-f]{64}$/ : /^v1\.[A-Za-z0-9+/_=-]{38,}$/).test(text)) continue;
        const name = `${table}.${column}`;
        found.set(name, [...(found.get(name) ?? []), text]);
      }
    }
  }
  raw.close();
  return found;
}

const sealedColumns = [
  'addresses.mac',
  'endpoints.secret',
  'keys.mac',
  'keys.secret',
  'meta.value',
  'notice_targets.address',
  'notice_targets.code',
  'payouts.intent',
  'people.totp_secret',
  'refund_addresses.mac',
  'refunds.mac',
  'stores.live_secret',
  'stores.mac',
  'stores.test_secret',
  'transfers.mac',
];

test('everything that the key sealed is sealed with the new one, and works', () =>
  withScene(async (api, contents) => {
    const before = sealedValues(api.file);
    assert.equal([...before.keys()].sort(), sealedColumns);
    const old = openSecretKey(keyFileOf(api));
    const steps: string[] = [];
    const done = await rotateSecretKey(rotationParts(api.file, (name) => steps.push(name)));
    assert.ok(done.kind === 'done');
    assert.equal({ altered: done.altered, claimLinks: done.claimLinks }, { altered: 0, claimLinks: 1 });
    assert.equal(
      [steps.slice(0, 2), steps.slice(-2)],
      [
        ['backup', 'new key'],
        ['key file', 'end'],
      ],
    );
    const after = sealedValues(api.file);
    for (const [column, values] of before) {
      assert.is(after.get(column)?.length, values.length, column);
      assert.equal(
        values.filter((value) => after.get(column)?.includes(value)),
        [],
        column,
      );
    }
    assert.not(await fitsDatabase({ file: api.file, url: null }, old));
    api.reopenDatabase();
    await checkAll(api, contents);
    const payout = await api.database().payouts.find(contents.refunds.named);
    assert.ok(payout && isPayback(payout.intent));
    const signerKey = openSecretKey(keyFileOf(api));
    assert.is(createIntentMac(signerKey)(payout.intent), payout.intent.mac, 'the signer accepts it');
    const [entry] = await api.database().audit.list(1);
    assert.equal(
      [entry?.command, entry?.target, entry?.after],
      ['secret-key rotate', 'the secret key', { resealed: done.resealed, altered: 0, claimLinks: 1 }],
    );
    assert.is(statSync(keyFileOf(api)).mode & 0o777, 0o600);
    assert.not(existsSync(`${keyFileOf(api)}.next`));
  }));

test('links of payers end, and open refunds have new claim links', () =>
  withScene(async (api, { sale, claimUrl, refunds }) => {
    const old = api.database().sessions.payerToken(sale.id);
    await rotateSecretKey(rotationParts(api.file));
    api.reopenDatabase();
    const database = api.database();
    assert.not(database.sessions.isPayerToken(sale.id, old));
    assert.ok(database.sessions.isPayerToken(sale.id, database.sessions.payerToken(sale.id)));
    assert.is(await database.refunds.findBy({ claimToken: claimUrl.slice(claimUrl.lastIndexOf('/') + 1) }), null);
    const claim = (await database.refunds.findBy({ id: refunds.asked }))?.claim;
    assert.ok(claim);
    const url = `${claimUrl.slice(0, claimUrl.lastIndexOf('/'))}/${claim.token}`;
    const body = new URLSearchParams({ address: `0x${claimed}`, confirmed: 'yes' });
    assert.is((await fetch(url, { method: 'POST', body, redirect: 'manual' })).status, 303);
    assert.is((await database.refunds.findBy({ id: refunds.asked }))?.destination?.key, claimed);
  }));

test('a row that was altered gets no new MAC', () =>
  withScene(async (api, contents) => {
    const raw = new Sqlite(api.file);
    raw.exec(`UPDATE keys SET scopes = '["refunds:write"]' WHERE id = '${api.liveKey.id}'`);
    raw.exec(`UPDATE refunds SET destination = '${'8'.repeat(40)}' WHERE id = '${contents.refunds.named}'`);
    raw.exec(`UPDATE transfers SET from_key = '${'8'.repeat(40)}'`);
    raw.close();
    const done = await rotateSecretKey(rotationParts(api.file));
    assert.is(done.kind === 'done' && done.altered, 4, 'a key, a refund and two transfers');
    api.reopenDatabase();
    assert.is((await api.client(api.liveKey).send('GET', '/api/v1/checkout/sessions/cs_0')).status, 401);
    assert.is((await api.database().refunds.findBy({ id: contents.refunds.named }))?.destination, null);
  }));

test('nothing changes while something runs, after a failed backup, or with an approved refund', () =>
  withApi({ pages: true, addresses: 40 }, async (api) => {
    const contents = await fill(api);
    const before = [...sealedValues(api.file)];
    const text = readFileSync(keyFileOf(api), 'utf8');
    const parts = rotationParts(api.file);
    const release = takeInstanceLock(dirname(api.file));
    await rejects(() => rotateSecretKey(parts), 'already_running', /stop it/);
    release();
    const failing = { ...parts, backup: () => Promise.reject(Object.assign(new Error('no room'), { code: 'room' })) };
    await rejects(() => rotateSecretKey(failing), 'room', /no room/);
    await rejects(() => rotateSecretKey(parts), 'refunds_approved', /1 open refunds .*quayside refund reject/);
    assert.equal([...sealedValues(api.file)], before);
    assert.is(readFileSync(keyFileOf(api), 'utf8'), text);
    await checkAll(api, contents);
    await endApproval(api, contents);
    assert.is((await rotateSecretKey(parts)).kind, 'done');
  }));

test('rows that are read in slices are sealed once', () =>
  withScene(async (api, { refunds }) => {
    const raw = new Sqlite(api.file);
    const columns = (raw.pragma('table_info(refunds)') as { name: string }[]).map(({ name }) => name);
    const own: Record<string, string> = {
      id: "'rf_z' || n",
      refund_id: 'n',
      claim_hash: 'NULL',
      receipt_number: 'NULL',
    };
    raw.exec(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2500)
      INSERT INTO refunds (${columns}) SELECT ${columns.map((name) => own[name] ?? name)} FROM refunds, numbers
      WHERE id = '${refunds.named}'`);
    raw.close();
    const done = await rotateSecretKey(rotationParts(api.file));
    assert.is(done.kind === 'done' && done.altered, 2500, 'copies, whose MAC is of another row');
  }));

test('a key of another database is refused', () =>
  withApi({}, async (api) => {
    writeFileSync(keyFileOf(api), secretKeyText(new Uint8Array(32).fill(9)));
    const refused = () => rotateSecretKey(rotationParts(api.file));
    await rejects(refused, 'secret_key_wrong', /is not the secret key of/);
    writeFileSync(`${keyFileOf(api)}.next`, secretKeyText(new Uint8Array(32).fill(8)), { mode: 0o600 });
    await rejects(refused, 'secret_key_wrong', /is not the secret key of/);
  }));

test.run();
