/**
 * Plain tar archives of files (POSIX ustar, pax(1)), as `tar -x` reads them. Sizes above 8 GiB are written as GNU tar
 * does, in base 256.
 */
import { invariant } from '../core/fault.ts';

const BLOCK_BYTES = 512;
const OCTAL_MAX = 0o77777777777;
const NAME_BYTES_MAX = 100;

/** A file to pack: its size in bytes, and as many bytes of content. `madeAtMs` is in Unix milliseconds. */
export type TarFile = Readonly<{
  name: string;
  bytes: number;
  madeAtMs: number;
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}>;

/** Yields an archive of files, which belong to nobody in particular and have mode 0600. */
export async function* writeTar(files: Iterable<TarFile>): AsyncGenerator<Uint8Array> {
  for (const { name, bytes, madeAtMs, content } of files) {
    yield headerOf(name, bytes, madeAtMs);
    yield* content;
    yield Buffer.alloc(paddingOf(bytes));
  }
  yield Buffer.alloc(2 * BLOCK_BYTES);
}

const paddingOf = (bytes: number): number => (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES;

function headerOf(name: string, bytes: number, madeAtMs: number): Buffer {
  invariant(Buffer.byteLength(name) <= NAME_BYTES_MAX, `the name ${name} fits into a header`);
  const header = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, at: number, digits: number) =>
    header.write(value.toString(8).padStart(digits, '0'), at, 'ascii');
  header.write(name, 0, NAME_BYTES_MAX, 'utf8');
  octal(0o600, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  if (bytes <= OCTAL_MAX) octal(bytes, 124, 11);
  else {
    header[124] = 0x80;
    header.writeBigUInt64BE(BigInt(bytes), 128);
  }
  octal(Math.floor(madeAtMs / 1000), 136, 11);
  header.write('0', 156, 'ascii');
  header.write('ustar\x0000', 257, 'ascii');
  octal(sumOf(header), 148, 6);
  header.write('\0 ', 154, 'ascii');
  return header;
}

/** The sum of a header's bytes, with its own field as spaces. */
function sumOf(header: Uint8Array): number {
  let sum = 8 * 0x20;
  for (const [at, byte] of header.entries()) if (at < 148 || at >= 156) sum += byte;
  return sum;
}

/** A file in an archive. */
export type TarEntry = Readonly<{ name: string; bytes: number; madeAtMs: number }>;

/**
 * Reads an archive of files. `open` is called for each and returns what takes its parts; `end` follows the last part.
 * @throws Error if it is no such archive, holds anything but files, or ends early
 */
export async function readTar(
  source: AsyncIterable<Uint8Array>,
  open: (entry: TarEntry) => Readonly<{ write(part: Uint8Array): void; end(): void }>,
): Promise<void> {
  const reader = readerOf(source);
  for (;;) {
    const header = await reader.read(BLOCK_BYTES);
    if (header.every((byte) => byte === 0)) break;
    const entry = entryOf(header);
    const file = open(entry);
    for (let left = entry.bytes; left > 0; ) {
      const part = await reader.readUpTo(left);
      file.write(part);
      left -= part.length;
    }
    file.end();
    await reader.read(paddingOf(entry.bytes));
  }
  await reader.drain();
}

function entryOf(header: Buffer): TarEntry {
  const text = (at: number, length: number): string =>
    /^[^\0]*/.exec(header.toString('utf8', at, at + length))?.[0] ?? '';
  const octal = (at: number, length: number): number => Number.parseInt(text(at, length).trim() || '0', 8);
  if (octal(148, 8) !== sumOf(header)) throw new Error('a header has another checksum');
  if (!['0', ''].includes(text(156, 1))) throw new Error(`${text(0, NAME_BYTES_MAX)} is no file`);
  const bytes = header[124] === 0x80 ? Number(header.readBigUInt64BE(128)) : octal(124, 12);
  return { name: text(0, NAME_BYTES_MAX), bytes, madeAtMs: octal(136, 12) * 1000 };
}

/** Hands a stream out in pieces of a wanted size. */
function readerOf(source: AsyncIterable<Uint8Array>) {
  const parts = source[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  async function more(): Promise<void> {
    const { value, done } = await parts.next();
    if (done) throw new Error('it ends within an archive');
    held = held.length === 0 ? Buffer.from(value) : Buffer.concat([held, value]);
  }
  function take(bytes: number): Buffer {
    const taken = held.subarray(0, bytes);
    held = held.subarray(taken.length);
    return taken;
  }
  return {
    async read(bytes: number): Promise<Buffer> {
      while (held.length < bytes) await more();
      return take(bytes);
    },
    async readUpTo(bytes: number): Promise<Buffer> {
      while (held.length === 0) await more();
      return take(bytes);
    },
    /** Reads to the end, which shows whether everything before it was authentic. */
    async drain(): Promise<void> {
      while (!(await parts.next()).done);
    },
  };
}
