/**
 * Encrypts a stream with a passphrase, in chunks, so that a file of any size is written and read in constant memory.
 *
 * Format 1: a line of JSON, which is `schema`, and then the chunks of `lib/sealed-chunks.ts`. scrypt of the passphrase
 * and `salt` gives 64 bytes: the key, and a check value of which the line has the SHA-256. So a file that was cut,
 * extended, reordered or mixed with another one does not open.
 * @module
 */
import { createHash, randomBytes, scryptSync } from 'node:crypto';
import * as z from 'zod';
import { permanent } from '../../core/fault.ts';
import { CHUNK_BYTES, CHUNK_CIPHER, openChunks, sealChunks } from '../../lib/sealed-chunks.ts';

const KIND = 'quayside backup';
/** 128 MiB and half a second per guess (RFC 7914). */
const SCRYPT = { N: 2 ** 17, r: 8, p: 1, maxmem: 2 ** 28 } as const;
const KDF = 'scrypt N=131072 r=8 p=1';
const KEY_BYTES = 32;
const SALT_BYTES = 32;
const LINE_BYTES_MAX = 1024;
const LINE_FEED = 0x0a;
/** For new files. */
export const PASSPHRASE_BYTES_MIN = 12;

const hex = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${2 * bytes}}$`));
const schema = z.strictObject({
  kind: z.literal(KIND),
  version: z.literal(1),
  kdf: z.literal(KDF),
  cipher: z.literal(CHUNK_CIPHER),
  chunk_bytes: z.literal(CHUNK_BYTES),
  salt: hex(SALT_BYTES),
  check: hex(32),
});

/**
 * Encrypts what `plain` yields.
 * @throws Fault permanent `passphrase_weak`
 */
export async function* seal(plain: AsyncIterable<Uint8Array>, passphrase: Uint8Array): AsyncGenerator<Buffer> {
  if (passphrase.length < PASSPHRASE_BYTES_MIN) {
    throw permanent(
      'passphrase_weak',
      `the passphrase is shorter than ${PASSPHRASE_BYTES_MIN} characters: use several words, or let a password manager create one`,
    );
  }
  const salt = randomBytes(SALT_BYTES).toString('hex');
  const { key, check } = derive(passphrase, salt);
  const line = JSON.stringify({
    kind: KIND,
    version: 1,
    kdf: KDF,
    cipher: CHUNK_CIPHER,
    chunk_bytes: CHUNK_BYTES,
    salt,
    check,
  });
  try {
    yield Buffer.from(`${line}\n`);
    yield* sealChunks(plain, { key, line });
  } finally {
    key.fill(0);
  }
}

/**
 * Decrypts what `sealed` yields. What it yields is authentic, and all of it was there only once it has ended without an
 * error.
 * @param file names it in errors
 * @throws Fault permanent `backup_damaged`, `passphrase_wrong`
 */
export async function* unseal(
  sealed: AsyncIterable<Uint8Array>,
  passphrase: Uint8Array,
  file: string,
): AsyncGenerator<Buffer> {
  const source = sealed[Symbol.asyncIterator]();
  const { line, rest } = await readLine(source, file);
  const { salt, check: expected } = parseLine(line, file);
  const { key, check } = derive(passphrase, salt);
  try {
    if (check !== expected) {
      throw permanent('passphrase_wrong', `the passphrase does not open ${file}: it was mistyped or is another file's`);
    }
    yield* openChunks(following(rest, source), { key, line }, (why, cause) => damaged(file, why, cause));
  } finally {
    key.fill(0);
  }
}

/** Derives a key, which the caller wipes. Takes half a second and blocks. */
function derive(passphrase: Uint8Array, salt: string): Readonly<{ key: Buffer; check: string }> {
  const derived = scryptSync(passphrase, Buffer.from(salt, 'hex'), 2 * KEY_BYTES, SCRYPT);
  const check = createHash('sha256').update(derived.subarray(KEY_BYTES)).digest('hex');
  return { key: derived.subarray(0, KEY_BYTES), check };
}

/** @throws Fault permanent `backup_damaged` */
async function readLine(source: AsyncIterator<Uint8Array>, file: string) {
  let read = Buffer.alloc(0);
  while (read.indexOf(LINE_FEED) < 0 && read.length <= LINE_BYTES_MAX) {
    const { value, done } = await source.next();
    if (done) throw damaged(file, 'it was cut off, or is no backup');
    read = Buffer.concat([read, value as Uint8Array]);
  }
  const end = read.indexOf(LINE_FEED);
  if (end < 0 || end > LINE_BYTES_MAX) throw damaged(file, 'it is no backup of this program');
  return { line: read.subarray(0, end).toString('utf8'), rest: read.subarray(end + 1) };
}

/** @throws Fault permanent `backup_damaged` */
function parseLine(line: string, file: string): z.infer<typeof schema> {
  try {
    return schema.parse(JSON.parse(line));
  } catch (error) {
    throw damaged(file, 'its first line is not that of a backup that this program knows', error);
  }
}

async function* following(rest: Uint8Array, source: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield rest;
  for (let next = await source.next(); !next.done; next = await source.next()) yield next.value;
}

/** Returns the fault of a file that is not as it was written. */
export const damaged = (file: string, why: string, cause?: unknown) =>
  permanent('backup_damaged', `${file} is damaged (${why}): use another copy of it`, cause);
