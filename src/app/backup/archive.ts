/**
 * The container of a backup: a tar of its files, compressed with gzip and encrypted with a passphrase in the age
 * format. `age -d FILE | tar -xz` opens it without this program.
 */
import { once } from 'node:events';
import { closeSync, createReadStream, createWriteStream, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';
import * as z from 'zod';
import { Fault, permanent } from '../../core/fault.ts';
import { AGE_LINE, decryptAge, encryptAge } from '../../lib/age.ts';
import { readTar, writeTar } from '../../lib/tar.ts';

const READ_BYTES = 1024 * 1024;
/** For new files. */
export const PASSPHRASE_BYTES_MIN = 12;
/** 128 MiB and about a second for each guess. */
const WORK_FACTOR = 17;

/** What a backup may hold; nothing else is written when it is unpacked. */
export const names = ['manifest.json', 'quayside.db', 'secret.key', 'settings.json', 'signer.backup'] as const;
export type Name = (typeof names)[number];
const nameSchema = z.enum(names);

/** A file to pack: its content, or the path and size of a file that does not change meanwhile. */
export type Entry = Readonly<{ name: Name }> &
  (Readonly<{ content: Uint8Array }> | Readonly<{ path: string; bytes: number }>);

type PackOptions = Readonly<{
  passphrase: Uint8Array;
  /** The time of the files in the archive, in Unix milliseconds. */
  madeAtMs: number;
  /** Called with the number of bytes packed so far. */
  onBytes: (bytes: number) => void;
}>;

/**
 * Writes `file`, which must not exist, with mode 0600; it is on the disk when this resolves.
 * @throws Fault permanent `passphrase_weak`
 */
export async function packArchive(file: string, entries: readonly Entry[], options: PackOptions): Promise<void> {
  const { passphrase, madeAtMs, onBytes } = options;
  if (passphrase.length < PASSPHRASE_BYTES_MIN) {
    throw permanent(
      'passphrase_weak',
      `the passphrase is shorter than ${PASSPHRASE_BYTES_MIN} characters: use several words, or let a password manager create one`,
    );
  }
  const packed = { bytes: 0 };
  const tar = writeTar(
    entries.map((entry) => ({
      name: entry.name,
      bytes: 'path' in entry ? entry.bytes : entry.content.length,
      madeAtMs,
      content: 'path' in entry ? countedFile(entry.path, packed, onBytes) : [entry.content],
    })),
  );
  const sealing = (plain: AsyncIterable<Uint8Array>) => encryptAge(plain, textOf(passphrase), WORK_FACTOR);
  const out = createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true });
  try {
    await pipeline(Readable.from(tar), createGzip({ level: constants.Z_BEST_SPEED }), sealing, out);
  } finally {
    // A failure may come before the file is opened, which would then appear after the caller has removed it.
    if (!out.closed) await once(out, 'close');
  }
}

const textOf = (passphrase: Uint8Array): string => Buffer.from(passphrase).toString('utf8');

async function* countedFile(
  path: string,
  packed: { bytes: number },
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const part of createReadStream(path, { highWaterMark: READ_BYTES })) {
    yield part;
    packed.bytes += part.length;
    onBytes(packed.bytes);
  }
}

/**
 * Unpacks an archive into a folder. Until it has returned, the files there may be only a part of it.
 * @returns the names of the files
 * @throws Fault permanent `backup_damaged`, `passphrase_wrong`
 */
export async function unpackArchive(file: string, folder: string, passphrase: Uint8Array): Promise<readonly Name[]> {
  refuseOther(file);
  const plain = await decryptAge(createReadStream(file, { highWaterMark: READ_BYTES }), textOf(passphrase)).catch(
    (error) => {
      throw permanent(
        'passphrase_wrong',
        `the passphrase does not open ${file}: it was mistyped, is another file's, or the start of the file was altered`,
        error,
      );
    },
  );
  const unpacked: Name[] = [];
  try {
    await pipeline(plain, createGunzip(), (tar: AsyncIterable<Uint8Array>) => unpackFiles(tar, folder, unpacked));
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw damaged(file, error instanceof Error ? error.message : String(error), error);
  }
  return unpacked;
}

/** @throws Fault permanent `backup_damaged` */
function refuseOther(file: string): void {
  const start = Buffer.alloc(AGE_LINE.length);
  const handle = openSync(file, 'r');
  try {
    readSync(handle, start);
  } finally {
    closeSync(handle);
  }
  if (start.toString('latin1') !== AGE_LINE) throw damaged(file, 'it is no backup of this program');
}

async function unpackFiles(tar: AsyncIterable<Uint8Array>, folder: string, unpacked: Name[]): Promise<void> {
  let handle: number | null = null;
  try {
    await readTar(tar, ({ name }) => {
      const opened = openSync(join(folder, nameSchema.parse(name)), 'wx', 0o600);
      handle = opened;
      unpacked.push(nameSchema.parse(name));
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
