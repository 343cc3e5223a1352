/**
 * Fetches a node's database: downloads, checks and unpacks it in one pass, so that it needs room only once.
 * @module
 */
import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { Fault, permanent } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { decompress, formatOf } from './decompress.ts';
import { downloadFile } from './download.ts';
import { openSnapshot, readSmall } from './snapshot-source.ts';
import { unpackTar } from './tar-unpack.ts';

const GIB = 1 << 30;
/** What unpacks into more than this, compared with its size, is stopped by the room that must stay free. */
const UNPACKED_SHARE = 1.4;
/** The download stops before the disk has less. */
export const FREE_BYTES_MIN = 5 * GIB;
const LOOK_BYTES = 16 << 20;
/** More than any network's database. */
const ARCHIVE_BYTES_MAX = 2 ** 45;
const PROGRESS_MS = 1_000;
/** Files with checksums that publishers put beside theirs. */
const BESIDE = ['.sha256', '.sha256sum', '.md5sum', '.md5'] as const;

export type Checksum = Readonly<{ kind: 'sha256' | 'md5'; hex: string; from: string }>;

export type SnapshotProgress = Readonly<{
  received: number;
  bytes: number | null;
  written: number;
  cuts: number;
  bytesPerS: number;
}>;

export type SnapshotOptions = Readonly<{
  url: string;
  /** Must not exist, or be empty. */
  folder: string;
  strip: number;
  /** Null: there is none, and that is wanted. */
  checksum: Checksum | null;
  /** Downloads all of it before it is unpacked, so that an ended command goes on later; takes room for both. */
  isKept?: boolean;
  clock: Clock;
  /** Returns the free bytes of the disk. */
  readFree(): Promise<number>;
  onProgress(now: SnapshotProgress): void;
}>;

export type Fetched = Readonly<{
  received: number;
  files: number;
  unpackedBytes: number;
  sha256: string;
  cuts: number;
}>;

/** Looks for a checksum in the usual files beside the snapshot; null if there is none. */
export async function findChecksum(url: string): Promise<Checksum | null> {
  for (const ending of BESIDE) {
    const place = new URL(url);
    place.pathname += ending;
    const text = await readSmall(place.href);
    const kind = ending.startsWith('.sha256') ? 'sha256' : 'md5';
    const hex = text === null ? null : readChecksum(kind, text);
    if (hex !== null) return { kind, hex, from: `${place.host}${place.pathname}` };
  }
  return null;
}

/** Returns the first checksum of its kind in a text, in lower case; null if there is none. */
export function readChecksum(kind: Checksum['kind'], text: string): string | null {
  const [found] = new RegExp(`(?<![0-9a-f])[0-9a-f]{${kind === 'md5' ? 32 : 64}}(?![0-9a-f])`, 'i').exec(text) ?? [];
  return found?.toLowerCase() ?? null;
}

/**
 * Fetches the snapshot into a folder beside the wanted one, and renames it once everything was right.
 * @throws Fault `folder_not_empty`, `disk_full`, `checksum_wrong`, `unpack_failed`, and what the source, the filter and
 * the archive throw; then nothing of the snapshot is left
 */
export async function fetchSnapshot(options: SnapshotOptions): Promise<Fetched> {
  const { url, folder, strip, checksum, clock, readFree, onProgress } = options;
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw permanent(
      'folder_not_empty',
      `${folder} is not empty: move away what is in it, and keep it until the new one works`,
    );
  }
  const format = formatOf(new URL(url).pathname);
  let [received, written, looked, cuts, shownMs] = [0, 0, 0, 0, 0];
  const source = options.isKept
    ? await downloadFirst(options)
    : await openSnapshot(url, clock, () => {
        cuts += 1;
      });
  if (source.bytes !== null) await expectRoom(readFree, source.bytes * UNPACKED_SHARE + FREE_BYTES_MIN, folder);
  const fromMs = clock.nowMs();
  const hashes = { sha256: createHash('sha256'), md5: createHash('md5') };
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source.stream) {
      received += chunk.length;
      hashes.sha256.update(chunk);
      if (checksum?.kind === 'md5') hashes.md5.update(chunk);
      yield chunk;
      const nowMs = clock.nowMs();
      if (nowMs - shownMs < PROGRESS_MS) continue;
      shownMs = nowMs;
      const bytesPerS = (received * 1000) / Math.max(1, nowMs - fromMs);
      onProgress({ received, bytes: source.bytes, written, cuts, bytesPerS });
    }
  }
  async function beforeWrite(bytes: number): Promise<void> {
    written += bytes;
    if (written - looked < LOOK_BYTES) return;
    looked = written;
    await expectRoom(readFree, FREE_BYTES_MIN, folder);
  }
  const draft = `${folder}.unverified`;
  mkdirSync(dirname(folder), { recursive: true });
  makeDraft(draft);
  try {
    const { files, bytes } = await unpackTar(decompress(counted(), format), draft, strip, beforeWrite);
    const sha256 = hashes.sha256.digest('hex');
    if (checksum) expectChecksum(checksum, checksum.kind === 'md5' ? hashes.md5.digest('hex') : sha256);
    if (existsSync(folder)) rmdirSync(folder);
    renameSync(draft, folder);
    const record = {
      source: url.replace(/\/\/[^/@]*@/, '//'),
      at: new Date(clock.nowMs()).toISOString(),
      sha256,
      checksum,
    };
    writeFileSync(`${folder}.source.json`, `${JSON.stringify(record, null, 2)}\n`);
    if (options.isKept) rmSync(archiveOf(folder));
    return { received, files, unpackedBytes: bytes, sha256, cuts };
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    // An archive that is wrong is so the next time too. Without room it waits for a larger disk.
    if (options.isKept && error instanceof Fault && error.code !== 'disk_full')
      rmSync(archiveOf(folder), { force: true });
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof Fault || code === undefined) throw error;
    if (code === 'ENOSPC') throw diskFull(folder, 0, FREE_BYTES_MIN, error);
    throw permanent('unpack_failed', `${draft}: ${message}. Nothing of the snapshot was kept`, error);
  }
}

const archiveOf = (folder: string): string => `${folder}.archive`;

/** Downloads the archive beside the folder, or goes on with what an earlier run has of it. @throws Fault `disk_full` */
async function downloadFirst({ url, folder, clock, readFree, onProgress }: SnapshotOptions) {
  const file = archiveOf(folder);
  const fromMs = clock.nowMs();
  let [looked, shownMs, atStart] = [0, 0, -1];
  const beforeWrite = async (received: number, bytes: number | null): Promise<void> => {
    if (atStart < 0) {
      atStart = received;
      // All that is still to come, and what it unpacks into.
      if (bytes !== null) await expectRoom(readFree, bytes * (1 + UNPACKED_SHARE) - received + FREE_BYTES_MIN, folder);
    }
    if (received - looked >= LOOK_BYTES) {
      looked = received;
      await expectRoom(readFree, FREE_BYTES_MIN, folder);
    }
    const nowMs = clock.nowMs();
    if (nowMs - shownMs < PROGRESS_MS) return;
    shownMs = nowMs;
    const bytesPerS = ((received - atStart) * 1000) / Math.max(1, nowMs - fromMs);
    onProgress({ received, bytes, written: 0, cuts: 0, bytesPerS });
  };
  mkdirSync(dirname(folder), { recursive: true });
  if (!existsSync(file)) await downloadFile({ url, file, bytesMax: ARCHIVE_BYTES_MAX, clock, beforeWrite });
  return { bytes: statSync(file).size, stream: createReadStream(file) as AsyncIterable<Uint8Array> };
}

/** A folder that is left over may be of a download that still runs. */
function makeDraft(draft: string): void {
  try {
    mkdirSync(draft, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw permanent(
      'folder_not_empty',
      `${draft} exists: another download runs, or was killed. If none runs, remove it`,
    );
  }
}

async function expectRoom(readFree: () => Promise<number>, bytes: number, folder: string): Promise<void> {
  const free = await readFree();
  if (free < bytes) throw diskFull(folder, free, bytes);
}

const diskFull = (folder: string, free: number, bytes: number, cause?: unknown): Fault =>
  permanent(
    'disk_full',
    `the disk of ${folder} has ${(free / GIB).toFixed(1)} GiB left, and ${(bytes / GIB).toFixed(1)} GiB are needed: use a larger one. Nothing of the snapshot was kept`,
    cause,
  );

function expectChecksum({ kind, hex, from }: Checksum, found: string): void {
  if (found === hex) return;
  throw permanent(
    'checksum_wrong',
    `the ${kind} of the download is ${found}, and ${from} says ${hex}. Nothing of it was kept: get it again, or from elsewhere`,
  );
}
