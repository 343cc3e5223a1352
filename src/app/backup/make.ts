/**
 * Makes a backup: one encrypted file with what a new machine needs, while everything runs.
 */
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Config, SignerConfig } from '../../config/config.ts';
import { permanent, transient } from '../../core/fault.ts';
import { copyDatabase, describeSnapshot } from '../../database/engine/snapshot.ts';
import { readShipped } from '../../lib/installation.ts';
import { counted } from '../../lib/parts.ts';
import { syncFolder } from '../../lib/secret-file.ts';
import { databaseFile, secretKeyFile } from '../../lib/secret-key.ts';
import { openConfiguredSigner } from '../../signer/client.ts';
import { filesIn, type Manifest, packArchive } from './archive.ts';
import { openScratch, removeAbandoned } from './scratch.ts';

type BackupParts = Readonly<{
  config: Pick<Config, 'dataDir' | 'limits' | 'networks'>;
  env: NodeJS.ProcessEnv;
  /** The operator's settings file; null in the sandbox. */
  settingsFile: string | null;
  /** Writes the signer's part into a new file, or leaves none there; null without a signer. */
  signerPart: ((file: string) => Promise<void>) | null;
  passphrase: Uint8Array;
  nowMs: number;
  /** Called with the bytes that were packed, and with how many there are. */
  onProgress: (done: number, total: number) => void;
}>;

/**
 * Writes the backup into a folder, which is created if missing.
 * @returns the file, its size, and what it holds
 * @throws Fault permanent `passphrase_weak`, `backup_target`; transient `storage_unavailable`, and those of the signer
 */
export async function makeBackup(folder: string, parts: BackupParts) {
  const { config, nowMs, passphrase, onProgress } = parts;
  const file = join(folder, `quayside-${new Date(nowMs).toISOString().replaceAll(/[-:.]/g, '')}.tar.gz.age`);
  const partial = `${file}.${process.pid}.partial`;
  prepareTarget(folder, file);
  const scratch = openScratch(config.dataDir, 'making-backup');
  try {
    const inside = (name: string) => join(scratch.folder, name);
    copyDatabase(databaseFile(config.dataDir), inside('quayside.db'));
    const content = describeSnapshot(inside('quayside.db'), nowMs);
    // After the database: a journal that knows more than the database is what `payout reconcile` is for.
    await parts.signerPart?.(inside('signer.backup'));
    copyFileSync(secretKeyFile(config.dataDir, parts.env), inside('secret.key'));
    if (parts.settingsFile !== null) copyFileSync(parts.settingsFile, inside('settings.json'));
    const files = filesIn(scratch.folder);
    const manifest: Manifest = {
      version: 1,
      program_version: readShipped<{ version: string }>('package.json').version,
      made_at_ms: nowMs,
      schema_version: content.schemaVersion,
      sandbox: config.networks.some(({ sandbox }) => sandbox),
      files,
      counts: content.counts,
      pool_target: config.limits.poolTarget,
      pools: content.pools.map(({ dailyMax, ...pool }) => ({ ...pool, daily_max: dailyMax })),
    };
    writeFileSync(inside('manifest.json'), JSON.stringify(manifest));
    // They are unpacked as they are here, whatever the mode of what they were copied from.
    for (const name of readdirSync(scratch.folder)) chmodSync(inside(name), 0o600);
    const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
    await packArchive(partial, scratch.folder, {
      passphrase,
      onBytes: (done) => onProgress(Math.min(done, total), total),
    });
    renameSync(partial, file);
    syncFolder(folder);
    return { file, bytes: statSync(file).size, manifest };
  } finally {
    rmSync(partial, { force: true });
    scratch.remove();
  }
}

/** @throws Fault permanent `backup_target` */
function prepareTarget(folder: string, file: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    removeAbandoned(folder);
  } catch (error) {
    throw permanent(
      'backup_target',
      `the folder ${folder} cannot be made (${error instanceof Error ? error.message : error}): name another one with \`quayside backup --to\``,
    );
  }
  if (existsSync(file)) throw permanent('backup_target', `${file} exists already; run \`quayside backup\` again`);
}

/**
 * Asks the running signer for its part, a file that only the seed phrase opens, and writes it into a new file, which is
 * whole when this resolves.
 * @param onBytes called with the number of bytes received so far
 * @throws Fault those of the signer's client; transient `storage_unavailable`
 */
export async function writeSignerPart(
  { dir }: Pick<SignerConfig, 'dir'>,
  file: string,
  onBytes: (bytes: number) => void = () => {},
): Promise<void> {
  const signer = openConfiguredSigner({ dir });
  const out = createWriteStream(file, { flags: 'wx', mode: 0o600 });
  try {
    await pipeline(counted(signer.backup(), onBytes), out);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw transient(
      'storage_unavailable',
      `the signer’s part cannot be written (${error.message}): make room, then run \`quayside backup\` again`,
      error,
    );
  } finally {
    // A failure may come before the file is opened, which would then appear after the caller has removed it.
    if (!out.closed) await once(out, 'close');
    await signer.close();
  }
}
