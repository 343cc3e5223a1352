/**
 * Packs the files of a backup one after the other: for each, a line of JSON with its name and size, then its bytes; the
 * whole is compressed (gzip) and then encrypted (`sealed-stream.ts`).
 * @module
 */
import { once } from 'node:events';
import { closeSync, createReadStream, createWriteStream, fsyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';
import * as z from 'zod';
import { Fault } from '../../core/fault.ts';
import { damaged, seal, unseal } from './sealed-stream.ts';

const READ_BYTES = 1024 * 1024;
const LINE_BYTES_MAX = 1024;
const LINE_FEED = 0x0a;

/** What a backup may hold; nothing else is written when it is unpacked. */
export const names = ['manifest.json', 'quayside.db', 'secret.key', 'settings.json', 'signer.backup'] as const;
export type Name = (typeof names)[number];

const entryLine = z.strictObject({ name: z.enum(names), bytes: z.int().nonnegative() });

/** A file to pack: its content, or the path and size of a file that does not change meanwhile. */
export type Entry = Readonly<{ name: Name }> &
  (Readonly<{ content: Uint8Array }> | Readonly<{ path: string; bytes: number }>);

/**
 * Writes `file`, which must not exist, with mode 0600; it is on the disk when this resolves.
 * @param onBytes called with the number of bytes packed so far
 */
export async function packArchive(
  file: string,
  entries: readonly Entry[],
  passphrase: Uint8Array,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  const sealing = (plain: AsyncIterable<Uint8Array>) => seal(plain, passphrase);
  const out = createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true });
  try {
    await pipeline(Readable.from(contents(entries, onBytes)), gzip, sealing, out);
  } finally {
    // A failure may come before the file is opened, which would then appear after the caller has removed it.
    if (!out.closed) await once(out, 'close');
  }
}

async function* contents(entries: readonly Entry[], onBytes: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  let packed = 0;
  for (const entry of entries) {
    const bytes = 'path' in entry ? entry.bytes : entry.content.length;
    yield Buffer.from(`${JSON.stringify({ name: entry.name, bytes })}\n`);
    if ('content' in entry) {
      yield entry.content;
      continue;
    }
    for await (const part of createReadStream(entry.path, { highWaterMark: READ_BYTES })) {
      yield part;
      packed += part.length;
      onBytes(packed);
    }
  }
}

/**
 * Unpacks an archive into a folder. Until it has returned, the files there may be only a part of it.
 * @returns the names of the files
 * @throws Fault permanent `backup_damaged`, `passphrase_wrong`
 */
export async function unpackArchive(file: string, folder: string, passphrase: Uint8Array): Promise<readonly Name[]> {
  const unpacked: Name[] = [];
  const opening = (sealed: AsyncIterable<Uint8Array>) => unseal(sealed, passphrase, file);
  const writing = (plain: AsyncIterable<Uint8Array>) => unpackFiles(plain, { file, folder, unpacked });
  try {
    await pipeline(createReadStream(file, { highWaterMark: READ_BYTES }), opening, createGunzip(), writing);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw damaged(file, error instanceof Error ? error.message : String(error), error);
  }
  return unpacked;
}

type Place = Readonly<{ file: string; folder: string; unpacked: Name[] }>;

async function unpackFiles(plain: AsyncIterable<Uint8Array>, { file, folder, unpacked }: Place): Promise<void> {
  let line: Buffer = Buffer.alloc(0);
  let open: { handle: number; left: number } | null = null;
  const endIfComplete = () => {
    if (open?.left !== 0) return;
    fsyncSync(open.handle);
    closeSync(open.handle);
    open = null;
  };
  try {
    for await (const part of plain) {
      let rest: Buffer = Buffer.from(part);
      while (rest.length > 0) {
        if (open) {
          const written: number = writeSync(open.handle, rest, 0, Math.min(rest.length, open.left));
          open.left -= written;
          rest = rest.subarray(written);
        } else {
          const end = rest.indexOf(LINE_FEED);
          line = Buffer.concat([line, end < 0 ? rest : rest.subarray(0, end)]);
          if (line.length > LINE_BYTES_MAX) throw damaged(file, 'a name is too long');
          if (end < 0) break;
          rest = rest.subarray(end + 1);
          const { name, bytes } = entryLine.parse(JSON.parse(line.toString('utf8')));
          line = Buffer.alloc(0);
          open = { handle: openSync(join(folder, name), 'wx', 0o600), left: bytes };
          unpacked.push(name);
        }
        endIfComplete();
      }
    }
    if (open || line.length > 0) throw damaged(file, 'it ends within a file');
  } finally {
    if (open) closeSync((open as { handle: number }).handle);
  }
}
