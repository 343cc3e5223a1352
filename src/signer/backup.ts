/**
 * The signer's part of a backup: its journal and its policy in one encrypted file, never the seed or the keystore.
 *
 * The key is derived from the seed. A running signer has it, so that a backup is made at any time without a person;
 * nobody else has: whoever stores the file learns neither what was paid to whom nor the limits. And nothing more can be
 * lost: without the seed phrase, which is on paper, no backup of a signer is worth anything.
 *
 * Format 1: a JSON object with exactly the keys of `schema`. The key is HKDF-SHA-256 of the seed; the additional data
 * of GCM is the JSON text, without spaces, of the list [version, kind, fingerprint, made_at_ms]; `sealed` is the
 * ciphertext of gzipped JSON and the 16-byte tag.
 * @module
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import * as z from 'zod';
import { permanent } from '../core/fault.ts';
import { fingerprintOf } from './keystore.ts';
import { BACKUP_BYTES_MAX } from './protocol.ts';

const KIND = 'signer backup';
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CONTENT_BYTES_MAX = 1024 * 1024 * 1024;

const schema = z.strictObject({
  version: z.literal(1),
  kind: z.literal(KIND),
  fingerprint: z.string().regex(/^[0-9a-f]{8}$/),
  made_at_ms: z.int().nonnegative(),
  nonce: z.string().regex(/^[0-9a-f]{24}$/),
  sealed: z.base64(),
});
type Header = Omit<z.infer<typeof schema>, 'nonce' | 'sealed'>;

const content = z.strictObject({ policy: z.string(), journal: z.base64() });

/** What a backup holds: the text of `policy.json`, and `signer.db`. */
export type SignerBackup = Readonly<{ policy: string; journal: Uint8Array; madeAtMs: number }>;

const keyOf = (seed: Uint8Array): Buffer =>
  Buffer.from(hkdfSync('sha256', seed, new Uint8Array(0), 'quayside signer backup v1', KEY_BYTES));

const additionalData = ({ version, kind, fingerprint, made_at_ms }: Header): Buffer =>
  Buffer.from(JSON.stringify([version, kind, fingerprint, made_at_ms]));

/**
 * Encrypts a backup.
 * @returns the file's text, one line
 * @throws Fault permanent `backup_too_large`
 */
export function sealBackup(seed: Uint8Array, { policy, journal, madeAtMs }: SignerBackup): string {
  const plain = gzipSync(JSON.stringify({ policy, journal: Buffer.from(journal).toString('base64') }));
  const header: Header = { version: 1, kind: KIND, fingerprint: fingerprintOf(seed), made_at_ms: madeAtMs };
  const nonce = randomBytes(NONCE_BYTES);
  const key = keyOf(seed);
  try {
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(additionalData(header));
    const sealed = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64');
    if (sealed.length <= BACKUP_BYTES_MAX) return JSON.stringify({ ...header, nonce: nonce.toString('hex'), sealed });
  } finally {
    key.fill(0);
  }
  throw permanent(
    'backup_too_large',
    `the signer's backup would have more than ${BACKUP_BYTES_MAX / 2 ** 20} MiB: stop the signer, and copy signer.db and policy.json from its folder`,
  );
}

/**
 * Decrypts a backup.
 * @throws Fault permanent `backup_damaged`, `backup_foreign` (of another seed)
 */
export function openBackup(text: string, seed: Uint8Array): SignerBackup {
  const { nonce, sealed, ...header } = parse(text);
  const own = fingerprintOf(seed);
  if (header.fingerprint !== own) {
    throw permanent(
      'backup_foreign',
      `this is a backup of the signer ${header.fingerprint}, but the seed phrase is that of ${own}: use the other one`,
    );
  }
  const key = keyOf(seed);
  try {
    const bytes = Buffer.from(sealed, 'base64');
    const decipher = createDecipheriv(CIPHER, key, Buffer.from(nonce, 'hex'), { authTagLength: TAG_BYTES });
    decipher.setAAD(additionalData(header)).setAuthTag(bytes.subarray(-TAG_BYTES));
    const plain = Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]);
    const { policy, journal } = content.parse(
      JSON.parse(gunzipSync(plain, { maxOutputLength: CONTENT_BYTES_MAX }).toString('utf8')),
    );
    return { policy, journal: new Uint8Array(Buffer.from(journal, 'base64')), madeAtMs: header.made_at_ms };
  } catch (error) {
    throw damaged('it was changed or cut off', error);
  } finally {
    key.fill(0);
  }
}

function parse(text: string): z.infer<typeof schema> {
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw damaged('it is not a whole file of `quayside signer backup`', error);
  }
}

const damaged = (why: string, cause: unknown) =>
  permanent('backup_damaged', `the signer's backup is damaged (${why}): use another copy of it`, cause);
