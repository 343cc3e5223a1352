/**
 * The keystore: known seeds, its documented format, and every kind of damage.
 */
import { createDecipheriv, createHash, scryptSync } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createKeystore, fingerprintOf, readKeystore, seedOf } from '../../src/signer/keystore.ts';
import { createOperatorKey, readOperatorKey } from '../../src/signer/operator-key.ts';
import { refusalOf, refuses } from '../support/refusal.ts';

const dir = mkdtempSync(join(tmpdir(), 'quayside-keystore-'));
test.after(() => rmSync(dir, { recursive: true, force: true }));

const passphrase = Buffer.from('pässwörter sind länger');
/** BIP-39's first test vector without a passphrase; wallets show the fingerprint 73c5da0a. */
const words = `${'abandon '.repeat(11)}about`;
const seedHex =
  '5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc19a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4';
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

const file = join(dir, 'keystore.json');
createKeystore(file, seedOf(words), passphrase);
const text = readFileSync(file, 'utf8');
const content = JSON.parse(text);

function spoiledFile(spoiled: string): string {
  const other = join(dir, 'spoiled.json');
  writeFileSync(other, spoiled, { mode: 0o600 });
  return other;
}

test('seed phrases of all lengths give the same seeds as other wallets', () => {
  assert.is(hex(seedOf(words)), seedHex);
  assert.is(fingerprintOf(seedOf(words)), '73c5da0a');
  assert.is(hex(seedOf(`  ABANDON ${'abandon\n'.repeat(10)} About `)), seedHex, 'case and spaces do not matter');
  for (const [count, last] of [
    [15, 'address'],
    [18, 'agent'],
    [21, 'admit'],
    [24, 'art'],
  ] as const) {
    assert.is(seedOf(`${'abandon '.repeat(count - 1)}${last}`).length, 64);
  }
});

test('text that is not a seed phrase is refused without quoting it', () => {
  for (const wrong of [
    '',
    'abandon',
    `${'abandon '.repeat(11)}abandon`,
    `${'abandon '.repeat(10)}about`,
    words.replace('about', 'zzzz'),
  ]) {
    assert.throws(
      () => seedOf(wrong),
      (error: Error) => /not a seed phrase/.test(error.message) && !/abandon|zzzz/.test(error.message),
    );
  }
});

test('only its owner can access a keystore; it opens with its passphrase and contains no readable secret', () => {
  assert.is(statSync(file).mode & 0o777, 0o600);
  const keystore = readKeystore(file);
  assert.is(keystore.fingerprint, '73c5da0a');
  assert.is(hex(keystore.unlock(passphrase)), seedHex);
  refuses('passphrase_wrong', () => keystore.unlock(Buffer.from('another passphrase')));
  assert.not.ok(text.includes(seedHex) || text.includes('abandon'));
  refuses('keystore_exists', () => createKeystore(file, seedOf(words), passphrase));
  assert.is(readFileSync(file, 'utf8'), text, 'the file is never overwritten');
});

test('the format is the documented one: scrypt and GCM alone open it', () => {
  const { version, kind, label, kdf, cipher, salt, nonce, sealed, checksum } = content;
  const header = JSON.stringify([version, kind, label, kdf, cipher, salt, nonce]);
  assert.equal(
    { version, kind, kdf, cipher },
    { version: 1, kind: 'seed', kdf: 'scrypt N=131072 r=8 p=1', cipher: 'aes-256-gcm' },
  );
  assert.is(createHash('sha256').update(`${header}\n${sealed}`).digest('hex'), checksum);
  const key = scryptSync(passphrase, Buffer.from(salt, 'hex'), 32, { N: 131072, r: 8, p: 1, maxmem: 2 ** 28 });
  const bytes = Buffer.from(sealed, 'hex');
  const opened = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'hex')).setAAD(Buffer.from(header));
  opened.setAuthTag(bytes.subarray(-16));
  assert.is(Buffer.concat([opened.update(bytes.subarray(0, -16)), opened.final()]).toString('hex'), seedHex);
});

test('no two files are alike', () => {
  const other = join(dir, 'other.json');
  createKeystore(other, seedOf(words), passphrase);
  const again = JSON.parse(readFileSync(other, 'utf8'));
  for (const part of ['salt', 'nonce', 'sealed']) assert.is.not(again[part], content[part]);
});

test('a change of any byte of the file is detected before a passphrase is needed', () => {
  for (let at = 0; at < text.length; at++) {
    const spoiled = text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1);
    const code = refusalOf(() => readKeystore(spoiledFile(spoiled)));
    assert.match(code, /^sealed_file_(damaged|other)$/, `byte ${at}, ${JSON.stringify(text[at])}`);
  }
});

test('a truncated file, a longer one and one with an additional key are detected too', () => {
  for (const spoiled of [
    '',
    text.slice(0, -10),
    `${text}x`,
    ' '.repeat(20_000) + text,
    JSON.stringify({ ...content, more: 1 }),
  ]) {
    refuses('sealed_file_damaged', () => readKeystore(spoiledFile(spoiled)));
  }
});

test('a changed file with a correct checksum does not open either', () => {
  const flip = (digits: string, at: number) =>
    digits.slice(0, at) + (digits[at] === '0' ? '1' : '0') + digits.slice(at + 1);
  const changes = [
    { label: '73c5da0b' },
    { nonce: flip(content.nonce, 5) },
    { sealed: flip(content.sealed, 0) },
    { sealed: flip(content.sealed, content.sealed.length - 1) },
  ];
  for (const change of changes) {
    const { sealed, checksum: _, ...header } = { ...content, ...change };
    const { version, kind, label, kdf, cipher, salt, nonce } = header;
    const checksum = createHash('sha256')
      .update(`${JSON.stringify([version, kind, label, kdf, cipher, salt, nonce])}\n${sealed}`)
      .digest('hex');
    const keystore = readKeystore(spoiledFile(JSON.stringify({ ...header, sealed, checksum })));
    assert.is(
      refusalOf(() => keystore.unlock(passphrase)),
      'passphrase_wrong',
      JSON.stringify(change),
    );
  }
});

test('a file that others may read is refused, and so is a missing one', () => {
  const other = spoiledFile(text);
  chmodSync(other, 0o640);
  refuses('sealed_file_open', () => readKeystore(other));
  chmodSync(other, 0o600);
  assert.is(readKeystore(other).fingerprint, '73c5da0a');
  refuses('sealed_file_missing', () => readKeystore(join(dir, 'none.json')));
});

test('an approver’s key does not open as a keystore, nor a keystore as an approver’s key', () => {
  const key = join(dir, 'anna.json');
  const approver = createOperatorKey(key, passphrase);
  assert.is(readOperatorKey(key).approver, approver);
  refuses('sealed_file_other', () => readKeystore(key));
  refuses('sealed_file_other', () => readOperatorKey(file));
  refuses('operator_key_exists', () => createOperatorKey(key, passphrase));
});

test.run();
