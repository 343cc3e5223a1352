/** Encrypted secrets. */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createVault } from '../../../src/database/sealing.ts';
import { fails, merchant, T0_MS } from '../../conformance/database/place.ts';
import { closing } from '../../support/closing.ts';
import { connectTo, openTempDatabase } from '../../support/temp-database.ts';

const isWrongKey = (error: { code?: string; kind?: string; message: string }): boolean =>
  error.code === 'secret_key_wrong' && error.kind === 'permanent' && /secret key/i.test(error.message);

test('a sealed secret opens with its key and name, and sealing it twice gives different texts', () => {
  const vault = createVault(randomBytes(32));
  for (const secret of ['', 'whsec_abc', 'ключ 🔑', 'x'.repeat(10_000)]) {
    const sealed = vault.seal(secret, 'key k1');
    assert.is(vault.open(sealed, 'key k1'), secret);
    assert.is.not(vault.seal(secret, 'key k1'), sealed);
    assert.throws(() => vault.open(sealed, 'key k2'), isWrongKey);
    assert.throws(() => createVault(randomBytes(32)).open(sealed, 'key k1'), isWrongKey);
  }
});

test('one changed bit anywhere is detected', () => {
  const vault = createVault(randomBytes(32));
  const bytes = Buffer.from(vault.seal('secret', 'n').slice(3), 'base64');
  for (let at = 0; at < bytes.length * 8; at++) {
    const changed = Buffer.from(bytes);
    changed[at >> 3] = (changed[at >> 3] ?? 0) ^ (1 << (at & 7));
    assert.throws(() => vault.open(`v1.${changed.toString('base64')}`, 'n'), isWrongKey);
  }
  assert.throws(() => vault.open(`v1.${bytes.subarray(0, 5).toString('base64')}`, 'n'), isWrongKey);
});

test('a key of another length is refused', () => {
  assert.throws(() => createVault(new Uint8Array(16)).seal('secret', 'n'), isWrongKey);
});

test('a file opens only with the key that it was first opened with', async () => {
  const place = closing(openTempDatabase());
  await place.database.probe();
  const wrong = closing(connectTo(place.file, undefined, undefined, randomBytes(32)));
  await fails(wrong.alarms.list(1), 'secret_key_wrong');
  await closing(place.connect()).probe();
});

test('no secret is readable in the files', async () => {
  const place = closing(openTempDatabase());
  const secrets = ['whsec_of_m1', 'ss_very_secret_indeed'];
  await place.database.stores.create(merchant('m1'));
  const key = { id: 'k1', storeId: 'm1', mode: 'test', hint: 'sk_test_…abcd', keyHash: 'ab'.repeat(32) } as const;
  await place.database.keys.create({
    ...key,
    scopes: [],
    createdAtMs: T0_MS,
    revokedAtMs: null,
    secret: 'ss_very_secret_indeed',
  });
  const folder = dirname(place.file);
  const inFiles = (text: string) =>
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .some(({ name }) => readFileSync(join(folder, name)).includes(text));
  for (const secret of secrets) assert.not.ok(inFiles(secret), secret);
  assert.ok(inFiles('sk_test_…abcd'), 'the search finds what is there');
  assert.is((await place.database.keys.find('ab'.repeat(32)))?.secret, 'ss_very_secret_indeed');
});

test.run();
