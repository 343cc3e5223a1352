/**
 * Backups as files: a stream, compressed with gzip and encrypted with a passphrase in the age format. `age -d` and
 * `gunzip` open it without this program; `unseal.ts` does within it.
 */
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import { encryptAge } from './age.ts';

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
