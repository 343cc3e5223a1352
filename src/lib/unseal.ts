/**
 * Opens what `sealed.ts` makes.
 */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { createGunzip } from 'node:zlib';
import { Decrypter } from 'age-encryption';
import { Fault, permanent, transient } from '../core/fault.ts';
import { AGE_LINE } from './sealed.ts';

const READ_BYTES = 1024 * 1024;

/**
 * Opens a sealed file. Until this has returned, what `take` got may be only a part of it.
 * @throws Fault permanent `not_found`, `backup_damaged`, `passphrase_wrong`; transient `storage_unavailable`
 */
export async function unseal(
  file: string,
  passphrase: Uint8Array,
  take: (plain: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<void> {
  await expectSealed(file);
  const parts = createReadStream(file, { highWaterMark: READ_BYTES });
  const decrypter = new Decrypter();
  decrypter.addPassphrase(Buffer.from(passphrase).toString('utf8'));
  const plain = await decrypter.decrypt(Readable.toWeb(parts) as never).catch((error) => {
    throw permanent(
      'passphrase_wrong',
      `the passphrase does not open ${file}: it was mistyped, is another file's, or the start of the file was altered`,
      error,
    );
  });
  try {
    await pipeline(plain as unknown as ReadableStream<Uint8Array>, createGunzip(), take);
  } catch (error) {
    if (error instanceof Fault || !(error instanceof Error)) throw error;
    if (!('syscall' in error)) throw damaged(file, error.message, error);
    throw transient(
      'storage_unavailable',
      `${file} cannot be unpacked (${error.message}): make room on the disk, or name a folder that you can write to`,
      error,
    );
  }
}

/** @throws Fault permanent `not_found`, `backup_damaged` */
async function expectSealed(file: string): Promise<void> {
  const start = Buffer.alloc(AGE_LINE.length);
  try {
    const handle = await open(file);
    await handle.read(start).finally(() => handle.close());
  } catch (error) {
    const why = error instanceof Error ? error.message : error;
    throw permanent('not_found', `the backup ${file} cannot be read (${why}); name another file`, error);
  }
  if (start.toString('latin1') !== AGE_LINE) throw damaged(file, 'it is no backup of this program');
}

/** Returns the fault of a file that is not as it was written. */
export const damaged = (file: string, why: string, cause?: unknown) =>
  permanent('backup_damaged', `${file} is damaged (${why}): use another copy of it`, cause);
