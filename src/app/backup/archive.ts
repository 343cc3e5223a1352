/**
 * The file of a backup, which is a tar, compressed and encrypted with a passphrase (`lib/sealed.ts`). The system's
 * `tar` packs and unpacks it. `age -d FILE | tar -xz` opens it without this program.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import * as z from 'zod';
import { permanent, transient } from '../../core/fault.ts';
import { seal } from '../../lib/sealed.ts';
import { damaged, unseal } from '../../lib/unseal.ts';
import { PASSPHRASE_BYTES_MIN, refuseWeak } from '../../signer/sealed-file.ts';
import { whyFailed } from './command.ts';

/** Work factor of scrypt. Each guess of the passphrase costs 128 MiB and about a second. */
const WORK_FACTOR = 17;

const MANIFEST = 'manifest.json';
/**
 * Files that a backup can contain beside its manifest, in the order of their restore. The key is last. Without it the
 * database of an interrupted restore cannot be opened.
 */
const names = ['signer.backup', 'settings.json', 'quayside.db', 'secret.key'] as const;

/** Description of a backup, in the encrypted part. */
const manifestSchema = z.strictObject({
  version: z.literal(1),
  program_version: z.string(),
  /** The time at which the database was copied. */
  made_at_ms: z.int().nonnegative(),
});
export type Manifest = z.infer<typeof manifestSchema>;

/** Returns the files in a folder that go into a backup. */
export const filesIn = (folder: string): readonly string[] => names.filter((name) => existsSync(join(folder, name)));

/**
 * Packs a folder with a manifest and its files into `file`, which must not exist, with mode 0600. Resolves when the
 * file is on the disk.
 * @throws Fault permanent `passphrase_weak`; transient `storage_unavailable`
 */
export async function packArchive(file: string, folder: string, passphrase: Uint8Array): Promise<void> {
  const packed = [MANIFEST, ...filesIn(folder)];
  const tar = spawn('tar', ['-c', '-f', '-', '-C', folder, ...packed], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = whyFailed('tar', tar);
  try {
    await writeSealed(file, tar.stdout, passphrase);
    refuseFailed(await ended);
  } finally {
    tar.kill('SIGKILL');
    await ended;
  }
}

/**
 * Seals the data of `plain` into `file`, which must not exist, with mode 0600. Resolves when the file is on the disk.
 * @throws Fault permanent `passphrase_weak`
 */
export async function writeSealed(
  file: string,
  plain: AsyncIterable<Uint8Array>,
  passphrase: Uint8Array,
): Promise<void> {
  refuseWeak(passphrase);
  await writeNewFile(file, seal(plain, passphrase, WORK_FACTOR));
}

/** Writes a new file with mode 0600. Resolves when it is on the disk. */
export async function writeNewFile(file: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  const out = createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true });
  try {
    await pipeline(content, out);
  } finally {
    // After an early failure, the file may be opened only now, and would appear after the caller has removed it.
    if (!out.closed) await once(out, 'close');
  }
}

/**
 * Unpacks a backup into an empty folder. Only once it resolves are all files complete. The container authenticates
 * every byte and the end.
 * @throws Fault permanent `not_found`, `backup_damaged`, `passphrase_wrong`; transient `storage_unavailable`
 */
export async function unpackArchive(file: string, folder: string, passphrase: Uint8Array): Promise<Manifest> {
  await unseal(file, passphrase, async (plain) => {
    // With `-o` the files belong to this user.
    const tar = spawn('tar', ['-x', '-o', '-f', '-', '-C', folder], { stdio: ['pipe', 'ignore', 'pipe'] });
    const ended = whyFailed('tar', tar);
    try {
      // `tar` may stop before the padding at the end, so its exit code counts and not the broken pipe.
      tar.stdin.on('error', () => {});
      for await (const part of plain) {
        if (!tar.stdin.writable || tar.stdin.write(part)) continue;
        refuseFailed(await Promise.race([once(tar.stdin, 'drain').then(() => null), ended]));
      }
      tar.stdin.end();
      refuseFailed(await ended);
    } finally {
      tar.kill('SIGKILL');
      await ended;
    }
  });
  try {
    return manifestSchema.parse(JSON.parse(readFileSync(join(folder, MANIFEST), 'utf8')));
  } catch (error) {
    throw damaged(file, 'its manifest is missing, or was written by a newer program', error);
  }
}

/** @param why `tar` failed @throws Fault transient `storage_unavailable` unless that is null */
function refuseFailed(why: string | null): void {
  if (why === null) return;
  throw transient('storage_unavailable', `the backup cannot be packed or unpacked (${why}): make room, or install tar`);
}

/**
 * Returns the first line of a file with the passphrase of backups, which the caller wipes.
 * @throws Fault permanent `not_found`, `passphrase_file_open`
 */
export function readPassphrase(file: string): Buffer {
  try {
    if ((statSync(file).mode & 0o077) !== 0) {
      throw permanent('passphrase_file_open', `other users of this machine can access ${file}; run: chmod 600 ${file}`);
    }
    return Buffer.from(readFileSync(file, 'utf8').split(/\r?\n/)[0] ?? '');
  } catch (error) {
    if (error instanceof Error && 'errno' in error) {
      throw permanent(
        'not_found',
        `${file} cannot be read (${error.message}); it must belong to the user that runs Quayside, with mode 600 and a passphrase of at least ${PASSPHRASE_BYTES_MIN} characters`,
      );
    }
    throw error;
  }
}
