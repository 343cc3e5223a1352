/**
 * Encryption of streams with a passphrase in the age format, version 1 (https://age-encryption.org/v1), which `age -d`
 * opens. A stream that was cut, extended, reordered or altered does not open.
 */
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { Decrypter, Encrypter } from 'age-encryption';

/** The first line of every file in this format. */
export const AGE_LINE = 'age-encryption.org/v1\n';

type Web = globalThis.ReadableStream<Uint8Array>;

/**
 * Encrypts what `plain` yields.
 * @param workFactor 2^n is the scrypt parameter N: 17 takes 128 MiB and about a second
 */
export async function* encryptAge(
  plain: AsyncIterable<Uint8Array>,
  passphrase: string,
  workFactor: number,
): AsyncGenerator<Uint8Array> {
  const encrypter = new Encrypter();
  encrypter.setScryptWorkFactor(workFactor);
  encrypter.setPassphrase(passphrase);
  yield* readable(await encrypter.encrypt(webOf(plain)));
}

/**
 * Decrypts what `sealed` yields, once its header is read. What the stream yields is authentic, and all of it was there
 * only once it has ended without an error.
 * @throws Error if the passphrase is another, or the header was altered; the stream throws for all that follows
 */
export async function decryptAge(
  sealed: AsyncIterable<Uint8Array>,
  passphrase: string,
): Promise<AsyncIterable<Uint8Array>> {
  const decrypter = new Decrypter();
  decrypter.addPassphrase(passphrase);
  return readable(await decrypter.decrypt(webOf(sealed)));
}

const webOf = (parts: AsyncIterable<Uint8Array>): Web => Readable.toWeb(Readable.from(parts)) as unknown as Web;
const readable = (stream: Web): AsyncIterable<Uint8Array> => stream as unknown as ReadableStream<Uint8Array>;
