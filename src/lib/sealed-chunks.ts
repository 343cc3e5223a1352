/**
 * Encrypts a stream in chunks, so that a file of any size is written and read in constant memory.
 *
 * Each chunk is AES-256-GCM of `CHUNK_BYTES` of plaintext, the last one of 0 to `CHUNK_BYTES`, followed by its tag of
 * 16 bytes. The nonce is the chunk's number from 0 in 11 bytes, big endian, and a byte that is 1 for the last chunk and
 * 0 for others (the STREAM construction: Hoang, Reyhanitabar, Rogaway, Vizár, 2015). A line of text, which the caller
 * writes before the chunks, is the additional data of each. So chunks that were cut off, added, reordered or taken from
 * another stream do not open.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Fault } from '../core/fault.ts';

export const CHUNK_CIPHER = 'aes-256-gcm';
export const CHUNK_BYTES = 1024 * 1024;
const TAG_BYTES = 16;
const NONCE_BYTES = 12;

/** A key of 32 bytes, which encrypts one stream and no other, and the line before the chunks, without its line feed. */
export type ChunkKey = Readonly<{ key: Uint8Array; line: string }>;

/** Encrypts what `plain` yields. */
export async function* sealChunks(
  plain: AsyncIterable<Uint8Array>,
  { key, line }: ChunkKey,
): AsyncGenerator<Buffer, void> {
  let number = 0;
  for await (const { piece, isLast } of pieces(plain, CHUNK_BYTES)) {
    const cipher = createCipheriv(CHUNK_CIPHER, key, nonceOf(number++, isLast)).setAAD(Buffer.from(line));
    yield Buffer.concat([cipher.update(piece), cipher.final(), cipher.getAuthTag()]);
  }
}

/**
 * Decrypts what `sealed` yields. What it yields is authentic, and all of it was there only once it has ended without an
 * error.
 * @param damaged makes the fault that is raised for what was changed or cut off
 */
export async function* openChunks(
  sealed: AsyncIterable<Uint8Array>,
  { key, line }: ChunkKey,
  damaged: (why: string, cause?: unknown) => Fault,
): AsyncGenerator<Buffer, void> {
  let number = 0;
  for await (const { piece, isLast } of pieces(sealed, CHUNK_BYTES + TAG_BYTES)) {
    if (piece.length < TAG_BYTES) throw damaged('it was cut off');
    const decipher = createDecipheriv(CHUNK_CIPHER, key, nonceOf(number++, isLast), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(line)).setAuthTag(piece.subarray(-TAG_BYTES));
    const plain = decipher.update(piece.subarray(0, -TAG_BYTES));
    try {
      decipher.final();
    } catch (error) {
      throw damaged('it was changed or cut off', error);
    }
    yield plain;
  }
}

function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUIntBE(number, NONCE_BYTES - 7, 6);
  nonce[NONCE_BYTES - 1] = isLast ? 1 : 0;
  return nonce;
}

/** Cuts a stream into pieces of `bytes`; the last one has 0 to `bytes`. */
async function* pieces(source: AsyncIterable<Uint8Array>, bytes: number) {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const part of source) {
    held.push(part);
    heldBytes += part.length;
    while (heldBytes > bytes) {
      const all = Buffer.concat(held);
      yield { piece: all.subarray(0, bytes), isLast: false };
      held = [all.subarray(bytes)];
      heldBytes -= bytes;
    }
  }
  yield { piece: Buffer.concat(held), isLast: true };
}
