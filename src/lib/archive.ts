/**
 * The container of a backup: a tar of its files, compressed with gzip and encrypted with a passphrase in the age
 * format. `age -d FILE | tar -xz` opens it without this program. It is written part by part.
 */
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import { encryptAge } from './age.ts';
import { type TarFile, writeTar } from './tar.ts';

/**
 * Yields an archive. It ends what it began also if no further part is asked for (`return`).
 * @param workFactor see `encryptAge`
 * @throws what a file's content throws
 */
export async function* sealArchive(
  files: Iterable<TarFile>,
  passphrase: Uint8Array,
  workFactor: number,
): AsyncGenerator<Buffer, void> {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  // An error of the content ends `gzip` with it.
  const packed = pipeline(writeTar(files), gzip).catch(() => {});
  try {
    yield* encryptAge(gzip, passphrase, workFactor);
  } finally {
    gzip.destroy();
    await packed;
  }
}
