/**
 * Reads backups of format 1, which earlier versions made: a JSON object with exactly the keys of `schema`. The key is
 * HKDF-SHA-256 of the seed; the additional data of GCM is the JSON text, without spaces, of the list [version, kind,
 * fingerprint, made_at_ms]; `sealed` is the ciphertext of gzipped JSON and the 16-byte tag.
 * @module
 */
import { createDecipheriv, hkdfSync } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import * as z from 'zod';
import type { Fault } from '../core/fault.ts';

const KIND = 'signer backup';
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const TAG_BYTES = 16;
/** They had at most 64 MiB. */
const CONTENT_BYTES_MAX = 1024 * 1024 * 1024;

const schema = z.strictObject({
  version: z.literal(1),
  kind: z.literal(KIND),
  fingerprint: z.string().regex(/^[0-9a-f]{8}$/),
  made_at_ms: z.int().nonnegative(),
  nonce: z.string().regex(/^[0-9a-f]{24}$/),
  sealed: z.base64(),
});
export type OlderBackup = z.infer<typeof schema>;

const content = z.strictObject({ policy: z.string(), journal: z.base64() });

type Damaged = (why: string, cause?: unknown) => Fault;

/** Reads what is readable of a backup. */
export function parseOlderBackup(text: string, damaged: Damaged): OlderBackup {
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw damaged('it is not a whole file of `quayside signer backup`', error);
  }
}

/** Decrypts a backup. */
export function openOlderBackup(
  { version, kind, fingerprint, made_at_ms, nonce, sealed }: OlderBackup,
  seed: Uint8Array,
  damaged: Damaged,
): Readonly<{ policy: string; journal: Buffer }> {
  const key = Buffer.from(hkdfSync('sha256', seed, new Uint8Array(0), 'quayside signer backup v1', KEY_BYTES));
  try {
    const bytes = Buffer.from(sealed, 'base64');
    const decipher = createDecipheriv(CIPHER, key, Buffer.from(nonce, 'hex'), { authTagLength: TAG_BYTES });
    decipher
      .setAAD(Buffer.from(JSON.stringify([version, kind, fingerprint, made_at_ms])))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    const plain = Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]);
    const { policy, journal } = content.parse(
      JSON.parse(gunzipSync(plain, { maxOutputLength: CONTENT_BYTES_MAX }).toString('utf8')),
    );
    return { policy, journal: Buffer.from(journal, 'base64') };
  } catch (error) {
    throw damaged('it was changed or cut off', error);
  } finally {
    key.fill(0);
  }
}
