/**
 * Opens the container of a backup (`archive.ts`).
 */
import { closeSync, createReadStream, fsyncSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { createGunzip } from 'node:zlib';
import { Decrypter } from 'age-encryption';
import { Fault, permanent, transient } from '../core/fault.ts';
import { AGE_LINE } from './age.ts';
import { counted } from './parts.ts';
import { readTar, type TarEntry } from './tar.ts';

const READ_BYTES = 1024 * 1024;

type UnpackOptions = Readonly<{
  passphrase: Uint8Array;
  /** What an archive may hold; nothing else is written. */
  names: readonly string[];
  /** Called with the bytes of the archive that were read so far, and with how many there are. */
  onBytes?: (done: number, total: number) => void;
}>;

/**
 * Unpacks an archive into a folder, as files that only this user can read. Until it has returned, the files there may
 * be only a part of it.
 * @throws Fault permanent `not_found`, `backup_damaged`, `passphrase_wrong`; transient `storage_unavailable`
 */
export async function unpackArchive(
  file: string,
  folder: string,
  { passphrase, names, onBytes }: UnpackOptions,
): Promise<readonly TarEntry[]> {
  const total = sizeOf(file);
  const parts = counted(createReadStream(file, { highWaterMark: READ_BYTES }), (done) => onBytes?.(done, total));
  const decrypter = new Decrypter();
  decrypter.addPassphrase(Buffer.from(passphrase).toString('utf8'));
  const plain = await decrypter.decrypt(Readable.toWeb(Readable.from(parts)) as never).catch((error) => {
    throw permanent(
      'passphrase_wrong',
      `the passphrase does not open ${file}: it was mistyped, is another file's, or the start of the file was altered`,
      error,
    );
  });
  const unpacked: TarEntry[] = [];
  try {
    await pipeline(plain as unknown as ReadableStream<Uint8Array>, createGunzip(), (tar: AsyncIterable<Uint8Array>) =>
      writeFiles(tar, folder, names, unpacked),
    );
  } catch (error) {
    if (error instanceof Fault || !(error instanceof Error)) throw error;
    if (!('syscall' in error)) throw damaged(file, error.message, error);
    throw transient(
      'storage_unavailable',
      `${file} cannot be unpacked (${error.message}): make room on the disk, or name a folder that you can write to`,
      error,
    );
  }
  return unpacked;
}

/** @returns the archive's bytes @throws Fault permanent `not_found`, `backup_damaged` */
function sizeOf(file: string): number {
  const start = Buffer.alloc(AGE_LINE.length);
  try {
    const handle = openSync(file, 'r');
    try {
      readSync(handle, start);
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : error;
    throw permanent('not_found', `the backup ${file} cannot be read (${why}); name another file`, error);
  }
  if (start.toString('latin1') !== AGE_LINE) throw damaged(file, 'it is no backup of this program');
  return statSync(file).size;
}

async function writeFiles(
  tar: AsyncIterable<Uint8Array>,
  folder: string,
  names: readonly string[],
  unpacked: TarEntry[],
): Promise<void> {
  let handle: number | null = null;
  try {
    await readTar(tar, (entry) => {
      if (!names.includes(entry.name)) throw new Error(`it holds ${entry.name}`);
      const opened = openSync(join(folder, entry.name), 'wx', 0o600);
      handle = opened;
      unpacked.push(entry);
      return {
        write(part) {
          for (let at = 0; at < part.length; ) at += writeSync(opened, part, at);
        },
        end() {
          fsyncSync(opened);
          closeSync(opened);
          handle = null;
        },
      };
    });
  } finally {
    if (handle !== null) closeSync(handle);
  }
}

/** Returns the fault of a file that is not as it was written. */
export const damaged = (file: string, why: string, cause?: unknown) =>
  permanent('backup_damaged', `${file} is damaged (${why}): use another copy of it`, cause);
