/**
 * The signer's part of a backup: its journal and its policy in one encrypted file, never the seed or the keystore.
 *
 * The key is derived from the seed. A running signer has it, so that a backup is made at any time without a person;
 * nobody else has: whoever stores the file learns neither what was paid to whom nor the limits. And nothing more can be
 * lost: without the seed phrase, which is on paper, no backup of a signer is worth anything.
 *
 * It is written and read part by part, so that neither side needs more memory for a longer journal.
 *
 * Format 1: a line of JSON, which is `lineSchema`, and then the chunks of `lib/sealed-chunks.ts`. Their key is
 * HKDF-SHA-256 of the seed with `salt`, which is random. They hold, gzipped, a line of JSON, which is `contentSchema`,
 * and the bytes of `signer.db`.
 */
import { hkdfSync, randomBytes } from 'node:crypto';
import { closeSync, createReadStream, fstatSync, openSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';
import * as z from 'zod';
import { Fault, permanent, transient } from '../core/fault.ts';
import { counted } from '../lib/parts.ts';
import { CHUNK_BYTES, CHUNK_CIPHER, type ChunkKey, openChunks, sealChunks } from '../lib/sealed-chunks.ts';
import type { Journal } from './journal.ts';
import type { JournalSnapshot } from './journal-snapshot.ts';
import { fingerprintOf } from './keystore.ts';

const KIND = 'signer backup';
const VERSION = 1;
const KEY_BYTES = 32;
const SALT_BYTES = 32;
const READ_BYTES = 256 * 1024;
const LINE_FEED = 0x0a;
const LINE_BYTES_MAX = 1024;
/** A policy has at most 1 MiB, and JSON at most six characters for each of its own. */
const CONTENT_LINE_BYTES_MAX = 8 * 1024 * 1024;

const lineSchema = z.strictObject({
  kind: z.literal(KIND),
  version: z.literal(VERSION),
  fingerprint: z.string().regex(/^[0-9a-f]{8}$/),
  made_at_ms: z.int().nonnegative(),
  cipher: z.literal(CHUNK_CIPHER),
  chunk_bytes: z.literal(CHUNK_BYTES),
  salt: z.string().regex(/^[0-9a-f]{64}$/),
});

const contentSchema = z.strictObject({ policy: z.string(), journal_bytes: z.int().nonnegative() });

type BackupParts = Readonly<{
  /** The text of `policy.json`. */
  policy: string;
  journal: Pick<Journal, 'snapshot'>;
  madeAtMs: number;
}>;

/** Called with the bytes that were read so far, and with how many there are. */
export type OnBytes = (done: number, total: number) => void;

/** A backup in a file that was not read yet, of the seed that was given. */
export type SignerBackup = Readonly<{
  madeAtMs: number;
  /**
   * Writes the journal into a new file, which is on the disk when this resolves, and whole only then.
   * @returns the text of `policy.json`
   * @throws Fault permanent `backup_damaged`; transient `storage_unavailable`
   */
  unpack(journalFile: string, onBytes?: OnBytes): Promise<string>;
}>;

/**
 * Encrypts a backup of the journal as it is when the first part is asked for. It ends what it began also if no further
 * part is asked for (`return`).
 * @throws Fault transient: see `Journal.snapshot`
 */
export async function* sealBackup(
  seed: Uint8Array,
  { policy, journal, madeAtMs }: BackupParts,
): AsyncGenerator<Buffer, void> {
  const snapshot = journal.snapshot();
  try {
    const salt = randomBytes(SALT_BYTES).toString('hex');
    const label = { kind: KIND, version: VERSION, fingerprint: fingerprintOf(seed), made_at_ms: madeAtMs } as const;
    const line = JSON.stringify({ ...label, cipher: CHUNK_CIPHER, chunk_bytes: CHUNK_BYTES, salt });
    const key = keyOf(seed, salt);
    try {
      yield Buffer.from(`${line}\n`);
      yield* sealContent(contentOf(policy, snapshot), { key, line });
    } finally {
      key.fill(0);
    }
  } finally {
    snapshot.close();
  }
}

const keyOf = (seed: Uint8Array, salt: string): Buffer =>
  Buffer.from(hkdfSync('sha256', seed, Buffer.from(salt, 'hex'), 'quayside signer backup v1', KEY_BYTES));

async function* contentOf(policy: string, { bytes, read }: JournalSnapshot): AsyncGenerator<Buffer, void> {
  yield Buffer.from(`${JSON.stringify({ policy, journal_bytes: bytes })}\n`);
  yield* read();
}

async function* sealContent(content: AsyncIterable<Buffer>, key: ChunkKey): AsyncGenerator<Buffer, void> {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  // An error of the content ends `gzip` with it.
  const packed = pipeline(content, gzip).catch(() => {});
  try {
    yield* sealChunks(gzip, key);
  } finally {
    gzip.destroy();
    await packed;
  }
}

/**
 * Opens a backup, of which only the first line is read.
 * @throws Fault permanent `not_found`, `backup_damaged`, `backup_foreign` (of another seed), `backup_newer`
 */
export function openBackup(file: string, seed: Uint8Array): SignerBackup {
  const { line, version, bytes } = readStart(file);
  if (version < VERSION) throw damaged(file, 'it is not a file of `quayside-signer backup`');
  if (version > VERSION) {
    throw permanent(
      'backup_newer',
      `${file} was made by a newer version of this program (format ${version}): restore it with that version`,
    );
  }
  const { fingerprint, made_at_ms: madeAtMs, salt } = parseLine(file, line);
  refuseForeign(fingerprint, seed);
  return {
    madeAtMs,
    unpack: (journalFile, onBytes) =>
      writing(file, journalFile, async (journal) => {
        const key = keyOf(seed, salt);
        let policy = '';
        try {
          await pipeline(
            createReadStream(file, { start: Buffer.byteLength(line) + 1, highWaterMark: READ_BYTES }),
            (parts: AsyncIterable<Buffer>) => counted(parts, (done) => onBytes?.(done, bytes)),
            (sealed) => openChunks(sealed, { key, line }, (why, cause) => damaged(file, why, cause)),
            createGunzip(),
            async (plain: AsyncIterable<Buffer>) => {
              policy = await writeContent(file, plain, journal);
            },
          );
          return policy;
        } finally {
          key.fill(0);
        }
      }),
  };
}

/** Reads the first line of a file; of one that has none, or another than a backup's, the version is 0. */
function readStart(file: string): Readonly<{ line: string; version: number; bytes: number }> {
  const start = Buffer.alloc(LINE_BYTES_MAX);
  let bytes: number;
  try {
    const handle = openSync(file, 'r');
    try {
      bytes = fstatSync(handle).size;
      readSync(handle, start, 0, LINE_BYTES_MAX, 0);
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : error;
    throw permanent('not_found', `${file} cannot be read (${why}); name a backup’s file`, error);
  }
  const line = start.subarray(0, Math.max(0, start.indexOf(LINE_FEED))).toString('utf8');
  try {
    return {
      line,
      version: z.object({ kind: z.literal(KIND), version: z.int() }).parse(JSON.parse(line)).version,
      bytes,
    };
  } catch {
    return { line, version: 0, bytes };
  }
}

/** @throws Fault permanent `backup_damaged` */
function parseLine(file: string, line: string): z.infer<typeof lineSchema> {
  const { data, error } = lineSchema.safeParse(JSON.parse(line));
  if (data) return data;
  throw damaged(file, 'its first line is not that of a backup', error);
}

/** @throws Fault permanent `backup_foreign` */
function refuseForeign(fingerprint: string, seed: Uint8Array): void {
  const own = fingerprintOf(seed);
  if (fingerprint === own) return;
  throw permanent(
    'backup_foreign',
    `this is a backup of the signer ${fingerprint}, but the seed phrase is that of ${own}: use the other one`,
  );
}

/** Gives `work` a new file, which is on the disk when this resolves. @throws Fault */
async function writing<T>(backup: string, file: string, work: (handle: FileHandle) => Promise<T>): Promise<T> {
  try {
    const handle = await open(file, 'wx', 0o600);
    try {
      const result = await work(handle);
      await handle.sync();
      return result;
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof Fault || !(error instanceof Error)) throw error;
    if (!('syscall' in error)) throw damaged(backup, error.message, error);
    throw transient(
      'storage_unavailable',
      `${backup} cannot be restored (${error.message}): make room on the disk, or name a folder that you can write to`,
      error,
    );
  }
}

/** Writes the journal of a backup's content. @returns the policy @throws Fault permanent `backup_damaged` */
async function writeContent(file: string, plain: AsyncIterable<Buffer>, journal: FileHandle): Promise<string> {
  const head: Buffer[] = [];
  let headBytes = 0;
  let content: z.infer<typeof contentSchema> | null = null;
  let left = 0;
  for await (const part of plain) {
    let rest = part;
    if (!content) {
      const end = part.indexOf(LINE_FEED);
      head.push(end < 0 ? part : part.subarray(0, end));
      headBytes += part.length;
      if (headBytes > CONTENT_LINE_BYTES_MAX) throw damaged(file, 'its policy is too long');
      if (end < 0) continue;
      content = contentSchema.parse(JSON.parse(Buffer.concat(head).toString('utf8')));
      left = content.journal_bytes;
      rest = part.subarray(end + 1);
    }
    left -= rest.length;
    await journal.writeFile(rest);
  }
  if (!content || left !== 0) throw damaged(file, 'its journal has another length than it says');
  return content.policy;
}

const damaged = (file: string, why: string, cause?: unknown) =>
  permanent('backup_damaged', `${file} is damaged (${why}): use another copy of it`, cause);
