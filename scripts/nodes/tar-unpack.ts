/**
 * Unpacks a tar archive while it arrives, and only what a database is made of: files and folders, inside one new
 * folder. Anything else is refused, because the archive is somebody else's: links, devices, absolute paths and paths
 * that climb out.
 *
 * Formats: POSIX ustar, GNU long names and sizes, and pax headers
 * (https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html, https://www.gnu.org/software/tar/manual).
 *
 * @module
 */
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { permanent, transient } from '../../src/core/fault.ts';

const BLOCK_BYTES = 512;
/** Names and pax headers are short; a longer one is an attack on our memory. */
const HEADER_BYTES_MAX = 1 << 20;

export type Unpacked = Readonly<{ files: number; bytes: number }>;

/** Hands out a stream's bytes in pieces of the size that is wanted. */
function openBytes(source: AsyncIterable<Uint8Array>) {
  const chunks = source[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array();
  /** Returns between 1 and `max` bytes; null at the end. */
  async function some(max: number): Promise<Uint8Array | null> {
    while (rest.length === 0) {
      const { value, done } = await chunks.next();
      if (done) return null;
      rest = value;
    }
    const taken = rest.subarray(0, max);
    rest = rest.subarray(taken.length);
    return taken;
  }
  /** @throws Fault transient `archive_truncated` at an earlier end */
  async function exactly(bytes: number): Promise<Buffer> {
    const whole = Buffer.alloc(bytes);
    for (let at = 0; at < bytes; ) {
      const part = await some(bytes - at);
      if (part === null) throw transient('archive_truncated', 'the archive ends in the middle: get it again');
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }
  return { some, exactly, end: () => chunks.return?.() };
}

type Bytes = ReturnType<typeof openBytes>;
type Header = Readonly<{ name: string; type: string; bytes: number }>;

const textOf = (block: Buffer, from: number, length: number): string => {
  const field = block.subarray(from, from + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end < 0 ? length : end);
};

/** Reads an octal number or, for more than 8 GiB, GNU's binary one. */
function numberOf(block: Buffer, from: number, length: number): number {
  if ((block[from] ?? 0) < 0x80) return Number.parseInt(textOf(block, from, length).trim() || '0', 8);
  const digits = block.subarray(from + 1, from + length).toString('hex');
  return Number(BigInt(`0x${digits}`));
}

/** @returns null at the end mark @throws Fault permanent `archive_malformed` */
function readHeader(block: Buffer): Header | null {
  if (block.every((byte) => byte === 0)) return null;
  const sum = block.reduce((all, byte, at) => all + (at >= 148 && at < 156 ? 0x20 : byte), 0);
  const bytes = numberOf(block, 124, 12);
  if (sum !== numberOf(block, 148, 8) || !Number.isSafeInteger(bytes) || bytes < 0) {
    throw permanent(
      'archive_malformed',
      'this is no tar archive, or it is damaged: check its address and its checksum',
    );
  }
  const prefix = textOf(block, 257, 5) === 'ustar' && block[263] !== 0x20 ? textOf(block, 345, 155) : '';
  const name = textOf(block, 0, 100);
  return { name: prefix ? `${prefix}/${name}` : name, type: textOf(block, 156, 1) || '0', bytes };
}

/** Reads `length key=value` lines. */
function readPax(text: string): ReadonlyMap<string, string> {
  return new Map([...text.matchAll(/^\d+ ([^=\n]+)=(.*)$/gm)].map(([, key = '', value = '']) => [key, value]));
}

const padding = (bytes: number): number => (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES;

/** Returns the parts of a path. @throws Fault permanent `archive_hostile` if it leads out of the folder */
function partsOf(name: string): string[] {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (!name.startsWith('/') && !parts.includes('..') && !name.includes('\0')) return parts;
  throw hostile(`has the path ${JSON.stringify(name)}, which leads out of its folder`);
}

const hostile = (what: string) =>
  permanent('archive_hostile', `the archive ${what}. Nothing of it is kept: do not use this source`);

/** Reads headers until one of a file or folder. @returns null at the end */
async function nextEntry(bytes: Bytes): Promise<Header | null> {
  let name: string | null = null;
  let size: number | null = null;
  for (;;) {
    const header = readHeader(await bytes.exactly(BLOCK_BYTES));
    if (header === null) return null;
    if (!['L', 'x', 'g'].includes(header.type))
      return { ...header, name: name ?? header.name, bytes: size ?? header.bytes };
    if (header.bytes > HEADER_BYTES_MAX) throw hostile(`has a header of ${header.bytes} bytes`);
    const text = (await bytes.exactly(header.bytes + padding(header.bytes))).toString('utf8', 0, header.bytes);
    if (header.type === 'L') name = text.replace(/\0.*$/s, '');
    if (header.type === 'x') {
      const pax = readPax(text);
      name = pax.get('path') ?? name;
      size = pax.has('size') ? Number(pax.get('size')) : size;
      if (size !== null && !(Number.isSafeInteger(size) && size >= 0))
        throw hostile('has a file of an impossible size');
    }
  }
}

async function writeFile(
  bytes: Bytes,
  path: string,
  length: number,
  beforeWrite: (bytes: number) => Promise<void>,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  // Fails if the name exists: an archive has each file once, and no link that it could write through.
  const file = await open(path, 'wx', 0o600);
  try {
    for (let left = length; left > 0; ) {
      const part = await bytes.some(left);
      if (part === null) throw transient('archive_truncated', `the archive ends in the middle of a file: get it again`);
      await beforeWrite(part.length);
      for (let at = 0; at < part.length; ) at += (await file.write(part, at)).bytesWritten;
      left -= part.length;
    }
  } finally {
    await file.close();
  }
}

/**
 * Unpacks into a folder, which must be new and empty. Reads the source to its end.
 * @param strip how many leading folders of each path are left out, with what is in no folder that deep
 * @param beforeWrite called with the number of bytes that are written next; may throw
 * @throws Fault permanent `archive_hostile`, `archive_malformed`; transient `archive_truncated`; what the source throws
 */
export async function unpackTar(
  source: AsyncIterable<Uint8Array>,
  folder: string,
  strip: number,
  beforeWrite: (bytes: number) => Promise<void>,
): Promise<Unpacked> {
  const bytes = openBytes(source);
  let [files, sum] = [0, 0];
  try {
    for (let entry = await nextEntry(bytes); entry !== null; entry = await nextEntry(bytes)) {
      const parts = partsOf(entry.name).slice(strip);
      if (entry.type === '5') {
        if (parts.length > 0) await mkdir(join(folder, ...parts), { recursive: true });
        continue;
      }
      if (entry.type !== '0' && entry.type !== '7') {
        throw hostile(`has ${JSON.stringify(entry.name)}, which is neither a file nor a folder (type ${entry.type})`);
      }
      if (parts.length === 0)
        throw hostile(`has the file ${JSON.stringify(entry.name)} above the folders to leave out`);
      await writeFile(bytes, join(folder, ...parts), entry.bytes, beforeWrite);
      await bytes.exactly(padding(entry.bytes));
      files += 1;
      sum += entry.bytes;
    }
    // What follows the end mark still counts for the checksum.
    while ((await bytes.some(Number.MAX_SAFE_INTEGER)) !== null);
    return { files, bytes: sum };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw hostile('has the same name twice');
    throw error;
  } finally {
    await bytes.end();
  }
}
