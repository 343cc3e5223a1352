/**
 * Contents of a backup, and its file: the container of `lib/archive.ts`, encrypted with a passphrase.
 */
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { permanent } from '../../core/fault.ts';
import { sealArchive } from '../../lib/archive.ts';
import { counted } from '../../lib/parts.ts';

const READ_BYTES = 1024 * 1024;
/** For new files. */
export const PASSPHRASE_BYTES_MIN = 12;
/** 128 MiB and about a second for each guess. */
const WORK_FACTOR = 17;

/** Files that a backup may hold; nothing else is written when it is unpacked. */
export const names = ['manifest.json', 'quayside.db', 'secret.key', 'settings.json', 'signer.backup'] as const;
export type Name = (typeof names)[number];

/** A file to pack: its content, or the path and size of a file that does not change meanwhile. */
export type Entry = Readonly<{ name: Name }> &
  (Readonly<{ content: Uint8Array }> | Readonly<{ path: string; bytes: number }>);

type PackOptions = Readonly<{
  passphrase: Uint8Array;
  /** The time of the files in the archive, in Unix milliseconds. */
  madeAtMs: number;
  /** Called with the number of bytes packed so far of the files that have a path. */
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
  let packed = 0;
  const files = entries.map((entry) => {
    if ('content' in entry) return { ...entry, bytes: entry.content.length, madeAtMs, content: [entry.content] };
    const before = packed;
    packed += entry.bytes;
    return { ...entry, madeAtMs, content: counted(partsOf(entry.path), (bytes) => onBytes(before + bytes)) };
  });
  const out = createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true });
  try {
    await pipeline(sealArchive(files, passphrase, WORK_FACTOR), out);
  } finally {
    // A failure may come before the file is opened, which would then appear after the caller has removed it.
    if (!out.closed) await once(out, 'close');
  }
}

/** Yields a file, which is opened when the first part is asked for. */
async function* partsOf(path: string): AsyncGenerator<Buffer> {
  yield* createReadStream(path, { highWaterMark: READ_BYTES });
}
