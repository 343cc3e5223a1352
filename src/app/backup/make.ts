/**
 * Makes a backup: one encrypted file with what a new machine needs, while everything runs.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { permanent } from '../../core/fault.ts';
import { copyDatabase, describeSnapshot } from '../../database/engine/snapshot.ts';
import { readShipped } from '../../lib/installation.ts';
import { syncFolder } from '../../lib/secret-file.ts';
import { databaseFile, secretKeyFile } from '../../lib/secret-key.ts';
import { type Entry, type Name, packArchive } from './archive.ts';
import type { Manifest } from './manifest.ts';
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
  /** Called with the bytes of the large files that were packed, and with all of them. */
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
    const copy = join(scratch.folder, 'quayside.db');
    copyDatabase(databaseFile(config.dataDir), copy);
    const content = describeSnapshot(copy, nowMs);
    // After the database: a journal that knows more than the database is what `payout reconcile` is for.
    const signerPart = join(scratch.folder, 'signer.backup');
    await parts.signerPart?.(signerPart);
    const entries: Entry[] = [
      fileEntry('quayside.db', copy),
      ...smallFiles(parts),
      ...(existsSync(signerPart) ? [fileEntry('signer.backup', signerPart)] : []),
    ];
    const manifest: Manifest = {
      version: 1,
      program_version: readShipped<{ version: string }>('package.json').version,
      made_at_ms: nowMs,
      schema_version: content.schemaVersion,
      sandbox: config.networks.some(({ sandbox }) => sandbox),
      files: entries.map((entry) => ({
        name: entry.name,
        bytes: 'path' in entry ? entry.bytes : entry.content.length,
      })),
      counts: content.counts,
      pool_target: config.limits.poolTarget,
      pools: content.pools.map(({ dailyMax, ...pool }) => ({ ...pool, daily_max: dailyMax })),
    };
    const first = { name: 'manifest.json', content: Buffer.from(JSON.stringify(manifest)) } as const;
    const total = entries.reduce((sum, entry) => sum + ('path' in entry ? entry.bytes : 0), 0);
    const options = { passphrase, madeAtMs: nowMs, onBytes: (done: number) => onProgress(done, total) };
    await packArchive(partial, [first, ...entries], options);
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

const fileEntry = (name: Name, path: string): Entry => ({ name, path, bytes: statSync(path).size });

function smallFiles({ config, env, settingsFile }: BackupParts): Entry[] {
  const paths: [Name, string | null][] = [
    ['secret.key', secretKeyFile(config.dataDir, env)],
    ['settings.json', settingsFile],
  ];
  return paths.flatMap(([name, path]) => (path === null ? [] : [{ name, content: readFileSync(path) }]));
}
