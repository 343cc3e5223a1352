/**
 * What `quayside secret-key` prints: which version is current, what was sealed with it, what an old one is still needed
 * for, and never a key.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../src/app/open-database.ts';
import { loadConfig } from '../../src/config/config.ts';
import { keyNames, openSecretKeys, readKeyTable } from '../../src/lib/secret-key.ts';
import { runQuayside } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-secret-key-'));
const file = join(folder, 'quayside.json');
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
writeFileSync(file, JSON.stringify({ data_dir: 'data', networks: { sepolia: { url: 'ws://127.0.0.1:1', xpub } } }));
const variables = { QUAYSIDE_CONFIG: file };
const keyFile = join(folder, 'data', 'secret.key');
test.after(() => rmSync(folder, { recursive: true, force: true }));

const printed: string[] = [];
async function run(words: readonly string[], more: NodeJS.ProcessEnv = {}) {
  const done = await runQuayside(words, { ...variables, ...more });
  printed.push(done.out, done.err);
  return done;
}
async function lines(...words: string[]): Promise<string[]> {
  const { code, out, err } = await run(words);
  assert.is(code, 0, err);
  return out.trimEnd().split('\n');
}
const idOf = (version: number) => keyNames(openSecretKeys(keyFile)).find((one) => one.version === version)?.id;

await lines('store', 'add', 'Shop');
await lines('key', 'create', '--mode', 'test');
await lines('webhooks', 'add', 'https://93.184.215.14/hook', '--mode', 'test');

test('the status of a key that was never rotated', async () => {
  const [head, only, ...others] = await lines('secret-key', 'status');
  assert.match(head ?? '', /^version +id +state +rows +claim links +signer$/);
  assert.match(only ?? '', new RegExp(`^1 +${idOf(1)} +current +[1-9]\\d* +- +-$`));
  assert.equal(others, []);
});

test('a rotation says which version is current, and how much was sealed with it', async () => {
  const said = await lines('secret-key', 'rotate', '--reason', 'a colleague has left');
  assert.is(said[0], 'Version 2 of the secret key is current. Before, it was version 1.');
  assert.match(said[1] ?? '', /^([1-9]\d*) of \1 rows were sealed with it\.$/);
  assert.is(said[2], 'Make a backup now. `quayside secret-key status` shows what still needs older versions.');
  assert.is(said.length, 3);
  assert.is(statSync(keyFile).mode & 0o777, 0o600);
  const [, old, current] = await lines('secret-key', 'status');
  assert.match(old ?? '', new RegExp(`^1 +${idOf(1)} +old +0 +0 +-$`));
  assert.match(current ?? '', new RegExp(`^2 +${idOf(2)} +current +[1-9]\\d* +- +-$`));
});

test('a rotation that was begun and not finished is named, and continued', async () => {
  const before = readFileSync(keyFile, 'utf8');
  writeFileSync(keyFile, `v3 ${'ab'.repeat(32)}\n${before}`, { mode: 0o600 });
  const said = await lines('secret-key', 'status');
  assert.match(said[3] ?? '', /^3 +[0-9a-f]{12} +to come +0 /);
  assert.is(said.at(-1), 'A rotation is not finished: run `quayside secret-key rotate`.');
  const [first] = await lines('secret-key', 'rotate');
  assert.is(first, 'Version 3 of the secret key is current. The rotation to it was continued.');
});

test('a key that somebody else keeps is written to a new file, with what to do', async () => {
  const given = join(folder, 'mounted.key');
  writeFileSync(given, readFileSync(keyFile), { mode: 0o440 });
  const own = { QUAYSIDE_SECRET_KEY_FILE: given };
  const refused = await run(['secret-key', 'rotate'], own);
  assert.is(refused.code, 1);
  assert.match(refused.err, `QUAYSIDE_SECRET_KEY_FILE names ${given}, which Quayside does not change`);
  const next = join(folder, 'next.key');
  const written = await run(['secret-key', 'rotate', '--to', next], own);
  assert.equal(written.out.trimEnd().split('\n'), [
    `wrote version 4 with the older ones to ${next}`,
    `Put it in the place of ${given}, restart Quayside and the signer, then run \`quayside secret-key rotate\`.`,
  ]);
  assert.equal([...readKeyTable(next).keys()], [4, 3, 2, 1]);
  assert.equal([...readKeyTable(given).keys()], [3, 2, 1]);
});

test('an old version is taken out once nothing needs it; the current one and an unknown one are not', async () => {
  for (const [version, code, why] of [
    ['3', 1, 'version 3 is the current one'],
    ['7', 3, 'has no version 7 of the secret key; it has 3, 2, 1'],
    ['x', 2, 'expected a whole number such as 1'],
  ] as const) {
    const { code: ended, err } = await run(['secret-key', 'retire', version]);
    assert.is(ended, code, err);
    assert.match(err, why);
  }
  const said = await lines('secret-key', 'retire', '1');
  assert.is(said[0], `Version 1 was taken out of ${keyFile}.`);
  assert.match(said[1] ?? '', /^0 of [1-9]\d* rows were sealed with it\.$/);
  assert.match(said.at(-1) ?? '', 'encrypted backups carry their own key');
  assert.equal([...readKeyTable(keyFile).keys()], [3, 2]);
});

test('a missing current version is refused, and rows that need a missing one are named', async () => {
  const before = readFileSync(keyFile, 'utf8');
  writeFileSync(keyFile, before.replace(/^v3.*\n/, ''));
  const lacking = await run(['secret-key', 'status']);
  writeFileSync(keyFile, before);
  assert.is(lacking.code, 1);
  assert.match(lacking.err, /version 3 of the secret key/i);
  const rename = (from: string, to: string) => {
    const raw = new Sqlite(join(folder, 'data', 'quayside.db'));
    assert.is(raw.prepare('UPDATE keys SET mac = replace(mac, ?, ?)').run(from, to).changes, 1);
    raw.close();
  };
  rename('v3.', 'v9.');
  const { code, out } = await run(['secret-key', 'status']);
  rename('v9.', 'v3.');
  assert.is(code, 1);
  assert.match(out, /^API keys: 1 need version 9 of the secret key, which is missing$/m);
  assert.is((await run(['secret-key', 'status'])).code, 0);
});

test('no key was printed, and what it protects still opens', async () => {
  assert.ok(existsSync(keyFile));
  for (const [, key] of readKeyTable(keyFile)) {
    assert.not.ok(printed.some((text) => text.includes(Buffer.from(key).toString('hex'))));
  }
  const database = openDatabase(loadConfig({ env: { ...process.env, ...variables }, cwd: folder }), process.env);
  const [endpoint] = await database.listEndpoints(null);
  assert.match((await database.findWebhookSecret(endpoint?.id ?? '', 'test'))?.secret ?? '', /^whsec_/);
  database.close();
});

test.run();
