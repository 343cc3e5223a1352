/**
 * A small secret in a file, encrypted with a passphrase. scrypt derives the key, AES-256-GCM encrypts and
 * authenticates. The readable part of the file is authenticated too, so nothing in it can be changed without the
 * passphrase. A checksum distinguishes a damaged file from a wrong passphrase. It protects nothing, because anybody can
 * compute it.
 *
 * Format 1: a JSON object with exactly the keys of `schema`. The additional data of GCM is the JSON text, without
 * spaces, of the list [version, kind, label, kdf, cipher, salt, nonce]; `checksum` is the SHA-256 of that text, a line
 * feed, and the hex of `sealed`, which is the ciphertext followed by the 16-byte tag.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes, scryptSync } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import * as z from 'zod';
import { permanent } from '../core/fault.ts';

/** 128 MiB and half a second per guess (RFC 7914). */
const SCRYPT = { N: 2 ** 17, r: 8, p: 1, maxmem: 2 ** 28 } as const;
const KDF = 'scrypt N=131072 r=8 p=1';
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const SALT_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** A real file has less than a thousand bytes. */
const FILE_BYTES_MAX = 16_384;
/** Checked for new files only. Existing files open with the passphrase that they have. */
export const PASSPHRASE_BYTES_MIN = 12;

const hex = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${2 * bytes}}$`));

const schema = z.strictObject({
  version: z.literal(1),
  kind: z.string(),
  /** Public facts about the secret, such as a fingerprint or a public key. */
  label: z.string().max(200),
  kdf: z.literal(KDF),
  cipher: z.literal(CIPHER),
  salt: hex(SALT_BYTES),
  nonce: hex(NONCE_BYTES),
  sealed: z.string().regex(/^([0-9a-f]{2}){17,1024}$/),
  checksum: hex(32),
});
type Sealed = z.infer<typeof schema>;
type Header = Omit<Sealed, 'sealed' | 'checksum'>;

const headerText = ({ version, kind, label, kdf, cipher, salt, nonce }: Header): string =>
  JSON.stringify([version, kind, label, kdf, cipher, salt, nonce]);

const checksumOf = (header: Header, sealed: string): string =>
  createHash('sha256')
    .update(`${headerText(header)}\n${sealed}`)
    .digest('hex');

/** Derives a key, which the caller wipes. Takes half a second and blocks. */
const keyOf = (passphrase: Uint8Array, salt: string): Buffer =>
  scryptSync(passphrase, Buffer.from(salt, 'hex'), KEY_BYTES, SCRYPT);

/** @throws Fault permanent `passphrase_weak` */
export function refuseWeak(passphrase: Uint8Array): void {
  if (passphrase.length >= PASSPHRASE_BYTES_MIN) return;
  throw permanent(
    'passphrase_weak',
    `the passphrase is shorter than ${PASSPHRASE_BYTES_MIN} characters: use several words, or let a password manager create one`,
  );
}

/**
 * Encrypts a secret.
 * @param kind such as `seed`; a file of one kind does not open as another
 * @returns the file's text
 * @throws Fault permanent `passphrase_weak`
 */
export function seal(kind: string, label: string, secret: Uint8Array, passphrase: Uint8Array): string {
  refuseWeak(passphrase);
  const salt = randomBytes(SALT_BYTES).toString('hex');
  const nonce = randomBytes(NONCE_BYTES).toString('hex');
  const header: Header = { version: 1, kind, label, kdf: KDF, cipher: CIPHER, salt, nonce };
  const key = keyOf(passphrase, salt);
  try {
    const cipher = createCipheriv(CIPHER, key, Buffer.from(nonce, 'hex')).setAAD(Buffer.from(headerText(header)));
    const sealed = Buffer.concat([cipher.update(secret), cipher.final(), cipher.getAuthTag()]).toString('hex');
    return `${JSON.stringify({ ...header, sealed, checksum: checksumOf(header, sealed) }, null, 2)}\n`;
  } finally {
    key.fill(0);
  }
}

/** A sealed file that was read and is undamaged. */
export type SealedFile = Readonly<{
  file: string;
  label: string;
  /**
   * Returns the secret, which the caller wipes.
   * @throws Fault permanent `passphrase_wrong`
   */
  open(passphrase: Uint8Array): Buffer;
}>;

/**
 * Reads a sealed file, and checks it as far as possible without the passphrase.
 * @throws Fault permanent `sealed_file_missing`, `sealed_file_open` (other users may read it), `sealed_file_damaged`,
 * `sealed_file_other`
 */
export function readSealed(file: string, kind: string): SealedFile {
  const text = readOwnFile(file);
  const content = parse(file, text);
  if (content.kind !== kind) {
    throw permanent(
      'sealed_file_other',
      `${file} contains a secret of the kind "${content.kind}", not "${kind}": name another file`,
    );
  }
  return { file, label: content.label, open: (passphrase) => open(content, file, passphrase) };
}

/** @throws Fault permanent */
function readOwnFile(file: string): string {
  const { mode, size } = statOf(file);
  if ((mode & 0o077) !== 0) {
    throw permanent('sealed_file_open', `other users of this machine can access ${file}; run: chmod 600 ${file}`);
  }
  if (size > FILE_BYTES_MAX) throw damaged(file, `it has ${size} bytes`);
  return readFileSync(file, 'utf8');
}

function statOf(file: string) {
  try {
    return statSync(file);
  } catch (error) {
    throw permanent(
      'sealed_file_missing',
      `${file} cannot be read (${error instanceof Error ? error.message : error})`,
      error,
    );
  }
}

function parse(file: string, text: string): Sealed {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw damaged(file, 'it is not JSON');
  }
  const { data, error } = schema.safeParse(value);
  if (!data)
    throw damaged(
      file,
      `these keys are wrong: ${error.issues.map(({ path }) => path.join('.') || 'the file').join(', ')}`,
    );
  if (checksumOf(data, data.sealed) !== data.checksum) throw damaged(file, 'its checksum is wrong');
  return data;
}

const damaged = (file: string, why: string) =>
  permanent('sealed_file_damaged', `${file} is damaged (${why}): restore a copy of it`);

function open(content: Sealed, file: string, passphrase: Uint8Array): Buffer {
  const key = keyOf(passphrase, content.salt);
  try {
    const bytes = Buffer.from(content.sealed, 'hex');
    const decipher = createDecipheriv(CIPHER, key, Buffer.from(content.nonce, 'hex'), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(headerText(content))).setAuthTag(bytes.subarray(-TAG_BYTES));
    const secret = decipher.update(bytes.subarray(0, -TAG_BYTES));
    try {
      decipher.final();
    } catch {
      secret.fill(0);
      throw permanent(
        'passphrase_wrong',
        `the passphrase does not open ${file}. The file is undamaged, so the passphrase was mistyped or is another file's`,
      );
    }
    return secret;
  } finally {
    key.fill(0);
  }
}
