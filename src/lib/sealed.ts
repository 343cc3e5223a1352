/**
 * Backups as files: a stream, compressed with gzip and encrypted with a passphrase in the age format. `age -d` and
 * `gunzip` open it without this program; `unseal.ts` does within it.
 */
import { createCipheriv, createHmac, hkdfSync, randomBytes, scrypt } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { constants, createGzip } from 'node:zlib';

/**
 * Yields what is sealed. It ends what it began also if no further part is asked for (`return`).
 * @param workFactor see `encryptAge`
 * @throws what `plain` throws
 */
export async function* seal(
  plain: AsyncIterable<Uint8Array>,
  passphrase: Uint8Array,
  workFactor: number,
): AsyncGenerator<Buffer, void> {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  // An error of the content ends `gzip` with it.
  const packed = pipeline(plain, gzip).catch(() => {});
  try {
    yield* encryptAge(gzip, passphrase, workFactor);
  } finally {
    gzip.destroy();
    await packed;
  }
}

// ── The age format ──────────────────────────────────────────────────────────────────────────────────────────────────

/** The first line of every file in this format. */
export const AGE_LINE = 'age-encryption.org/v1\n';

const CHUNK_BYTES = 64 * 1024;
/** So many chunks are yielded at once, 1 MiB: the signer closes callers that take too long for a part of its backup. */
const CHUNKS_AT_ONCE = 16;
const CIPHER = 'chacha20-poly1305';
const TAG_BYTES = 16;
const NONCE_BYTES = 12;
const SCRYPT_BLOCK_SIZE = 8;

const deriveKey = promisify<Uint8Array, Uint8Array, number, object, Buffer>(scrypt);

/**
 * Encrypts what `plain` yields.
 * @param workFactor 2^n is the scrypt parameter N: 17 takes 128 MiB and about a second
 */
async function* encryptAge(
  plain: AsyncIterable<Uint8Array>,
  passphrase: Uint8Array,
  workFactor: number,
): AsyncGenerator<Buffer, void> {
  const fileKey = randomBytes(16);
  const nonce = randomBytes(16);
  const payloadKey = subkeyOf(fileKey, nonce, 'payload');
  try {
    yield Buffer.concat([await headerOf(fileKey, passphrase, workFactor), nonce]);
    let part: Buffer[] = [];
    let number = 0;
    for await (const { chunk, isLast } of chunksOf(plain)) {
      part.push(sealed(payloadKey, chunkNonce(number++, isLast), chunk));
      if (!isLast && number % CHUNKS_AT_ONCE !== 0) continue;
      yield Buffer.concat(part);
      part = [];
    }
  } finally {
    fileKey.fill(0);
    payloadKey.fill(0);
  }
}

const subkeyOf = (fileKey: Uint8Array, salt: Uint8Array, info: string): Buffer =>
  Buffer.from(hkdfSync('sha256', fileKey, salt, info, 32));

/** The header: the file's key, wrapped with the passphrase, and a MAC of all that is before it. */
async function headerOf(fileKey: Uint8Array, passphrase: Uint8Array, workFactor: number): Promise<Buffer> {
  const salt = randomBytes(16);
  const [N, r] = [2 ** workFactor, SCRYPT_BLOCK_SIZE];
  const labelled = Buffer.concat([Buffer.from('age-encryption.org/v1/scrypt'), salt]);
  // The memory that scrypt needs is 128 * N * r, and OpenSSL counts a little more.
  const wrapKey = await deriveKey(passphrase, labelled, 32, { N, r, p: 1, maxmem: 2 * 128 * N * r });
  const wrapped = sealed(wrapKey, Buffer.alloc(NONCE_BYTES), fileKey);
  wrapKey.fill(0);
  const header = `${AGE_LINE}-> scrypt ${base64(salt)} ${workFactor}\n${base64(wrapped)}\n---`;
  const mac = createHmac('sha256', subkeyOf(fileKey, Buffer.alloc(0), 'header'))
    .update(header)
    .digest();
  return Buffer.from(`${header} ${base64(mac)}\n`);
}

const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

/** Returns the ciphertext and its tag. */
function sealed(key: Uint8Array, nonce: Uint8Array, plain: Uint8Array): Buffer {
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** The chunk's number from 0 in 11 bytes, big endian, and a byte that is 1 for the last chunk. */
function chunkNonce(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUIntBE(number, NONCE_BYTES - 7, 6);
  nonce[NONCE_BYTES - 1] = isLast ? 1 : 0;
  return nonce;
}

/** Cuts a stream into chunks. The last one is empty only if the stream is. */
async function* chunksOf(source: AsyncIterable<Uint8Array>) {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const part of source) {
    held.push(part);
    heldBytes += part.length;
    if (heldBytes <= CHUNK_BYTES) continue;
    let rest = Buffer.concat(held);
    for (; rest.length > CHUNK_BYTES; rest = rest.subarray(CHUNK_BYTES)) {
      yield { chunk: rest.subarray(0, CHUNK_BYTES), isLast: false };
    }
    held = [rest];
    heldBytes = rest.length;
  }
  yield { chunk: Buffer.concat(held), isLast: true };
}
