/**
 * Rotating the secret key beside a running API: everything that it protects works before, meanwhile and afterwards, and
 * a version goes only when nothing needs it.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type RotationParts, retireSecretKey, rotateSecretKey } from '../../src/app/secret-key-rotation.ts';
import { createIntentMacs, isPayback } from '../../src/core/intent.ts';
import type { Database } from '../../src/database/database.ts';
import { lockFile } from '../../src/database/sqlite/instance-lock.ts';
import { keyNames, openSecretKeys, readKeyTable } from '../../src/lib/secret-key.ts';
import { type ApiServer, withApi } from '../support/api-server.ts';
import { openSale } from '../support/payment-scenes.ts';
import {
  type Contents,
  checkAll,
  claimed,
  connectBeside,
  fill,
  keyFileOf,
  leave,
  left,
  operator,
  rotationParts,
} from '../support/rotation-bench.ts';

type Scene = Readonly<{ api: ApiServer; contents: Contents; beside: Database; parts: RotationParts }>;

/** A filled installation, and a connection beside its API. */
const withScene = (work: (scene: Scene) => Promise<void>): Promise<void> =>
  withApi({ pages: true, addresses: 40 }, async (api) => {
    const contents = await fill(api);
    const beside = connectBeside(api);
    try {
      await work({ api, contents, beside, parts: rotationParts(api, beside) });
    } finally {
      beside.close();
    }
  });

const isFault =
  (code: string, text = /./) =>
  (error: { code?: string; message: string }) =>
    error.code === code && text.test(error.message);

async function rejects(work: () => Promise<unknown>, isExpected: ReturnType<typeof isFault>): Promise<void> {
  const error = await work().then(
    () => null,
    (reason) => reason,
  );
  assert.ok(error && isExpected(error), `${error?.code}: ${error?.message}`);
}

/** Returns the columns that hold a text of each version, by reading every text in the file. */
function columnsByVersion(file: string): Record<string, string[]> {
  const raw = new Sqlite(file, { readonly: true });
  const found = new Map<string, Set<string>>();
  const tables = raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[];
  for (const table of tables) {
    for (const row of raw.prepare(`SELECT * FROM "${table}"`).all() as Record<string, unknown>[]) {
      for (const [column, value] of Object.entries(row)) {
        if (typeof value !== 'string') continue;
        const mac = column === 'intent' ? (JSON.parse(value) as { mac?: string }).mac : value;
        const isBare =
          (column === 'intent' || `${table}.${column}` === 'refunds.mac') && /^[0-9a-f]{64}$/.test(mac ?? '');
        const version = isBare ? 'v1' : /^(v\d+)\.[A-Za-z0-9+/_=-]{38,}$/.exec(mac ?? '')?.[1];
        if (version) found.set(version, (found.get(version) ?? new Set()).add(`${table}.${column}`));
      }
    }
  }
  raw.close();
  return Object.fromEntries([...found].map(([version, columns]) => [version, [...columns].sort()]));
}

const sealedColumns = [
  'addresses.mac',
  'keys.mac',
  'keys.secret',
  'meta.value',
  'notice_targets.address',
  'notice_targets.code',
  'outgoing_transfers.mac',
  'own_wallets.mac',
  'payouts.intent',
  'people.totp_secret',
  'refund_addresses.mac',
  'refunds.mac',
  'stores.mac',
  'transfers.mac',
  'webhook_secrets.next_secret',
  'webhook_secrets.secret',
];

test('everything that the key sealed gets the new version, and works all the while', () =>
  withScene(async ({ api, contents, beside, parts }) => {
    assert.equal(columnsByVersion(api.file), { v1: sealedColumns });
    const done = await rotateSecretKey(parts);
    assert.ok(done.kind === 'done');
    assert.equal([done.version, done.before, done.isContinued, done.pass.refused], [2, 1, false, 0]);
    const after = columnsByVersion(api.file);
    assert.equal(after.v2, sealedColumns);
    // The refund that an approver approved as it is.
    assert.equal(after.v1, ['payouts.intent', 'refunds.mac']);
    assert.is(done.pass.kept.length, 2);
    await checkAll(api, contents);
    assert.equal(await beside.secretKeyState(), { current: 2, sinceMs: parts.act.atMs, isFinished: true });
    const [entry] = await beside.listAudit(1);
    assert.equal([entry?.command, entry?.target], ['secret-key rotate', 'version 2']);
    assert.equal([entry?.before, entry?.after], [{ current: 1 }, { current: 2 }]);
    // What the API writes now has the new version, though it was started before.
    const sale = await openSale(api);
    const key = await api.addKey(api.merchantId, 'test', ['sessions:read']);
    assert.is((await api.client(key).send('GET', `/api/v1/checkout/sessions/${sale.id}`)).status, 200);
    const again = await beside.secretKeyUse();
    assert.equal(
      again.filter(({ version }) => version !== 2).map(({ what, version, rows }) => [what, version, rows]),
      [
        ['destinations of refunds', 1, 1],
        ['payouts of refunds', 1, 1],
      ],
    );
  }));

/** Files that call a vault or guard to seal, how often, and which columns the results are for. */
const sealers: Readonly<Record<string, number>> = {
  'keys.ts': 3,
  'mails.ts': 1,
  'notices/notices.ts': 2,
  'people/secrets.ts': 1,
  'payouts/freezes.ts': 1,
  'payouts/judgement.ts': 2,
  'payouts/outgoing.ts': 1,
  'pool.ts': 2,
  'refunds/destinations.ts': 1,
  'secret-keys/sealed-tables.ts': 3,
  'stores.ts': 2,
  'transfers.ts': 1,
  'vault.ts': 2,
  'webhook-secrets.ts': 2,
};

test('no other place in the sources seals anything: a new one needs its table in `secret-keys/sealed-tables.ts`', () => {
  const folder = resolve('src/database/sqlite');
  const source = (name: string) => readFileSync(join(folder, name), 'utf8');
  const names = (readdirSync(folder, { recursive: true }) as string[]).filter((name) => /(?<!\.d)\.ts$/.test(name));
  const found = names.flatMap((name) => {
    const calls = source(name).match(/\b(?:vault|guard|macs|createVault\([^\n]*\))\.seal\(/g)?.length ?? 0;
    return calls > 0 || name in sealers ? [[name, calls] as const] : [];
  });
  assert.equal(Object.fromEntries(found.sort()), sealers);
});

test('links from before stay valid, and new ones are of the new version', () =>
  withScene(async ({ api, contents, beside, parts }) => {
    const { sale, claimUrl, refunds } = contents;
    const before = api.database().payerToken(sale.id);
    await rotateSecretKey(parts);
    const token = (url: string) => url.slice(url.lastIndexOf('/') + 1);
    assert.is(
      (await beside.findRefundBy({ id: refunds.asked }))?.claim?.token,
      token(claimUrl),
      'the link is shown as it was',
    );
    assert.is.not(api.database().payerToken(sale.id), before);
    assert.ok(
      api.database().isPayerToken(sale.id, before) &&
        api.database().isPayerToken(sale.id, api.database().payerToken(sale.id)),
    );
    assert.not(api.database().isPayerToken(`${sale.id}x`, before), 'another payment’s link');
    const body = new URLSearchParams({ address: `0x${claimed}`, confirmed: 'yes' });
    assert.is((await fetch(claimUrl, { method: 'POST', body, redirect: 'manual' })).status, 303);
    assert.is((await beside.findRefundBy({ id: refunds.asked }))?.destination?.key, claimed);
    assert.is((await leave(api, sale, left)).status, 303, 'the page’s link from before takes a refund address');
  }));

test('a version goes once nothing needs it; links that it made are ended only when that is asked', () =>
  withScene(async ({ api, contents, beside, parts }) => {
    const { sale, claimUrl, refunds } = contents;
    const oldToken = api.database().payerToken(sale.id);
    const retire = (version: number, ends = false) => retireSecretKey(parts, version, ends);
    await rejects(() => retire(1), isFault('secret_key_needed', /is the current one/));
    await rotateSecretKey(parts);
    await rejects(() => retire(2), isFault('secret_key_needed'));
    await rejects(() => retire(7), isFault('not_found'));
    await rejects(() => retire(1, true), isFault('secret_key_needed', /2 open refunds that approvers/));
    assert.is(await beside.rejectRefund(refunds.approved, 'no', parts.act.atMs), true);
    const soon = { ...parts, act: operator('secret-key retire', api.clock.nowMs()) };
    await rejects(() => retireSecretKey(soon, 1, false), isFault('secret_key_needed', /1 claim links.*payment pages/));
    assert.equal([...readKeyTable(keyFileOf(api)).keys()], [2, 1], 'nothing was taken');
    const done = await retireSecretKey(soon, 1, true);
    assert.equal([done.version, done.replacedLinks, done.pass.kept], [1, 1, []]);
    assert.equal([...readKeyTable(keyFileOf(api)).keys()], [2]);
    assert.is(await beside.findRefundBy({ claimToken: claimUrl.slice(claimUrl.lastIndexOf('/') + 1) }), null);
    const claim = (await beside.findRefundBy({ id: refunds.asked }))?.claim;
    assert.ok(claim && (await beside.findRefundBy({ claimToken: claim.token })), 'it has a new link');
    assert.not(beside.isPayerToken(sale.id, oldToken));
    api.reopenDatabase();
    await checkAll(api, contents);
    assert.equal(Object.keys(columnsByVersion(api.file)), ['v2']);
    const retired = (await beside.listAudit(100)).filter(({ command }) => command === 'secret-key retire');
    assert.equal([...new Set(retired.map(({ target }) => target))], ['version 1']);
  }));

test('without links in use, a version goes by itself', () =>
  withApi({}, async (api) => {
    const beside = connectBeside(api);
    const parts = rotationParts(api, beside);
    await rotateSecretKey(parts);
    await rotateSecretKey(parts);
    assert.equal(await beside.secretKeyState(), { current: 3, sinceMs: parts.act.atMs, isFinished: true });
    for (const version of [1, 2]) await retireSecretKey(parts, version, false);
    assert.equal(
      keyNames(openSecretKeys(keyFileOf(api))).map(({ version }) => version),
      [3],
    );
    beside.close();
  }));

test('a row that was altered gets no new MAC', () =>
  withScene(async ({ api, parts, beside, contents }) => {
    const raw = new Sqlite(api.file);
    raw.exec(`UPDATE keys SET scopes = '["refunds:write"]' WHERE id = '${api.liveKey.id}'`);
    raw.exec(`UPDATE refunds SET destination = '${'8'.repeat(40)}' WHERE id = '${contents.refunds.named}'`);
    raw.exec(`UPDATE transfers SET from_key = '${'8'.repeat(40)}'`);
    raw.close();
    const done = await rotateSecretKey(parts);
    assert.ok(done.kind === 'done');
    assert.is(done.pass.refused, 4, 'a key, a refund and two transfers');
    assert.is((await api.client(api.liveKey).send('GET', '/api/v1/checkout/sessions/cs_0')).status, 401);
    assert.is((await beside.findRefundBy({ id: contents.refunds.named }))?.destination, null);
    assert.equal(
      (await beside.secretKeyUse())
        .filter(({ version, what }) => version === 1 && what === 'API keys')
        .map(({ rows }) => rows),
      [2],
    );
  }));

test('nothing is changed while the signer lacks the version, and it is asked again', () =>
  withScene(async ({ api, contents, parts, beside }) => {
    const names = () => keyNames(openSecretKeys(keyFileOf(api)));
    const older = names();
    const lacking = { ...parts, askSigner: async () => older };
    await rejects(() => rotateSecretKey(lacking), isFault('signer_lacks_key', /systemctl restart/));
    await rejects(() => rotateSecretKey(lacking), isFault('signer_lacks_key'));
    assert.equal(
      names().map(({ version }) => version),
      [1, 2],
      'one version is prepared, however often it is tried',
    );
    assert.equal(Object.keys(columnsByVersion(api.file)), ['v1']);
    // The same number with another key is not the same version.
    const other = names().map((one) => ({ ...one, id: '0'.repeat(12) }));
    await rejects(() => rotateSecretKey({ ...parts, askSigner: async () => other }), isFault('signer_lacks_key'));
    const done = await rotateSecretKey({ ...parts, askSigner: async () => names() });
    assert.ok(done.kind === 'done' && done.isContinued);
    assert.is((await beside.secretKeyState()).current, 2);
    await checkAll(api, contents);
    const payout = await beside.findPayout(contents.refunds.named);
    const keys = openSecretKeys(keyFileOf(api));
    assert.ok(payout && isPayback(payout.intent));
    assert.is(createIntentMacs(keys.find)(payout.intent, 2), payout.intent.mac, 'the signer accepts it');
  }));

test('two commands at once: the second is refused', () =>
  withApi({}, async (api) => {
    const beside = connectBeside(api);
    const release = lockFile(join(dirname(api.file), 'secret-key.lock'));
    assert.ok(release);
    await rejects(() => rotateSecretKey(rotationParts(api, beside)), isFault('secret_key_busy'));
    release();
    assert.is((await rotateSecretKey(rotationParts(api, beside))).kind, 'done');
    beside.close();
  }));

test('a running server that lacks a given key is restarted first', () =>
  withApi({}, async (api) => {
    const beside = connectBeside(api);
    const folder = dirname(api.file);
    const serverFile = (secret_keys: unknown) =>
      writeFileSync(
        join(folder, 'server.json'),
        JSON.stringify({ pid: process.pid, base_url: '', port: 1, metrics_url: '', dashboard_url: '', secret_keys }),
      );
    const given = { ...rotationParts(api, beside), env: { QUAYSIDE_SECRET_KEY_FILE: keyFileOf(api) } };
    serverFile(keyNames(openSecretKeys(keyFileOf(api))));
    await rejects(() => rotateSecretKey(given), isFault('secret_key_given', /--to FILE/));
    const to = join(folder, 'next.key');
    const written = await rotateSecretKey({ ...given, to });
    assert.equal([written.kind, written.version], ['written', 2]);
    assert.equal([...readKeyTable(to).keys()], [2, 1]);
    assert.equal([...readKeyTable(keyFileOf(api)).keys()], [1], 'a given file is not touched');
    writeFileSync(keyFileOf(api), readFileSync(to));
    await rejects(() => rotateSecretKey(given), isFault('server_lacks_key'));
    serverFile(keyNames(openSecretKeys(keyFileOf(api))));
    const done = await rotateSecretKey(given);
    assert.ok(done.kind === 'done' && done.isContinued);
    beside.close();
  }));

test.run();
