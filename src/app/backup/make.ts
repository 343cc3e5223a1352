/** Makes a backup while everything runs: one encrypted file with everything that a new machine needs. */
import {
  chmodSync,
  copyFileSync,
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config, SignerConfig } from '../../config/config.ts';
import { Fault, permanent, transient } from '../../core/fault.ts';
import type { OperatorAct } from '../../database/audit-log.ts';
import { copyDatabase } from '../../database/engine/inspection.ts';
import type { Clock } from '../../lib/clock.ts';
import { readShipped } from '../../lib/installation.ts';
import type { Log } from '../../lib/log.ts';
import { syncFolder } from '../../lib/secret-file.ts';
import { databaseFile, secretKeyFile } from '../../lib/secret-key.ts';
import { openConfiguredSigner } from '../../signer/client.ts';
import { readRoom } from '../watches/disk.ts';
import { filesIn, type Manifest, packArchive, writeNewFile, writeSealed } from './archive.ts';
import { updateBackupReport } from './report.ts';
import { openScratch, removeAbandoned } from './scratch.ts';
import { proveBackup } from './unpacked.ts';

/**
 * Copies of the database that the disk must have room for: the scratch copy, and the backup if its folder is there too.
 */
const COPIES = 2;
const MIB = 2 ** 20;

export type BackupParts = Readonly<{
  config: Config;
  env: NodeJS.ProcessEnv;
  act: OperatorAct;
  clock: Clock;
  log: Log;
}>;

export type ProvedBackup = Readonly<{
  file: string;
  bytes: number;
  files: readonly string[];
  /** The reason why the signer's part is missing; null if it is there, or there is no signer. */
  signerFault: string | null;
}>;

/**
 * Makes one backup in a folder, which is created if missing, and proves it by a trial restore. Only then does the file
 * get its name.
 * @throws Fault permanent `sqlite_only`, `passphrase_weak`, `backup_target`, `backup_unsound`; transient
 * `backup_no_room`, `storage_unavailable`; see `withUnpacked`
 */
export async function makeProvedBackup(
  parts: BackupParts,
  folder: string,
  passphrase: Uint8Array,
): Promise<ProvedBackup> {
  const { config, act, clock } = parts;
  if (config.databaseUrl !== null) {
    throw permanent(
      'sqlite_only',
      'a backup only works with SQLite, but database_url names a PostgreSQL database. Copy the database with the ' +
        "server's own tools, and keep secret.key, the settings and the signer's backup.",
    );
  }
  await refuseWithoutRoom(config);
  const file = join(folder, `quayside-${fileTime(act.atMs)}.tar.gz.age`);
  const partial = `${file}.partial`;
  prepareTarget(folder, partial);
  try {
    const { files, signerFault } = await packBackup(partial, parts, passphrase);
    const { problems } = await proveBackup(partial, config.dataDir, passphrase);
    if (problems.length > 0) {
      const what = problems.join('; ');
      throw permanent('backup_unsound', `the backup was not sound and is removed (${what}): run \`quayside doctor\``);
    }
    renameSync(partial, file);
    syncFolder(folder);
    const newest = { file, made_at_ms: act.atMs, proved_at_ms: clock.nowMs(), sent_at_ms: null };
    updateBackupReport(config.dataDir, () => ({ newest }));
    return { file, bytes: statSync(file).size, files, signerFault };
  } finally {
    rmSync(partial, { force: true });
  }
}

/**
 * Seals a key file into a folder, which is created if missing, beside backups that a database server makes itself.
 * `age -d FILE | gunzip` opens it.
 * @returns the sealed file
 * @throws Fault permanent `passphrase_weak`, `backup_target`
 */
export async function sealKeyFile(
  keyFile: string,
  folder: string,
  passphrase: Uint8Array,
  nowMs: number,
): Promise<string> {
  const file = join(folder, `secret.key-${fileTime(nowMs)}.gz.age`);
  prepareTarget(folder, file);
  await writeSealed(file, createReadStream(keyFile), passphrase);
  syncFolder(folder);
  return file;
}

const fileTime = (atMs: number): string => new Date(atMs).toISOString().replaceAll(/[-:.]/g, '');

/**
 * Refuses a backup without room for it. The data folder temporarily contains a copy of the database, and then the trial
 * restore. A full disk would refuse payments.
 * @throws Fault transient `backup_no_room`, `disk_unreadable`
 */
async function refuseWithoutRoom({ dataDir, alarms }: Config): Promise<void> {
  const { freeBytes, usedBytes } = await readRoom(dataDir);
  const neededBytes = COPIES * usedBytes + alarms.diskFreeBytesMin;
  if (freeBytes >= neededBytes) return;
  const [free, needed] = [freeBytes, neededBytes].map((bytes) => `${Math.ceil(bytes / MIB)} MiB`);
  throw transient('backup_no_room', `${dataDir} has ${free} free, and a backup needs ${needed} there. Free some`);
}

/** Writes the backup into a new file. */
async function packBackup(file: string, parts: BackupParts, passphrase: Uint8Array) {
  const { config, env, act } = parts;
  const scratch = openScratch(config.dataDir);
  try {
    const inside = (name: string) => join(scratch.folder, name);
    copyDatabase(databaseFile(config.dataDir), inside('quayside.db'));
    // The signer's part comes after the database, because `payout reconcile` can handle a journal that is newer than
    // the database.
    const signerFault = config.signer ? await writeSignerPart(config.signer, inside('signer.backup'), parts) : null;
    copyFileSync(secretKeyFile(config.dataDir, env), inside('secret.key'));
    if (env.QUAYSIDE_CONFIG) copyFileSync(resolve(env.QUAYSIDE_CONFIG), inside('settings.json'));
    const files = filesIn(scratch.folder);
    const manifest: Manifest = {
      version: 1,
      program_version: readShipped<{ version: string }>('package.json').version,
      made_at_ms: act.atMs,
    };
    writeFileSync(inside('manifest.json'), JSON.stringify(manifest));
    // The files keep these modes when they are unpacked, so the modes of the originals must not count.
    for (const name of readdirSync(scratch.folder)) chmodSync(inside(name), 0o600);
    await packArchive(file, scratch.folder, passphrase);
    return { files, signerFault };
  } finally {
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
      `the folder ${folder} cannot be made (${error instanceof Error ? error.message : error}): set \`backup.folder\` to another one`,
    );
  }
  if (existsSync(file)) throw permanent('backup_target', `${file} exists already; run \`quayside backup\` again`);
}

/**
 * Asks the running signer for its part, which only the seed phrase opens, and writes it into a new file. A backup
 * without it is better than none.
 * @returns the reason why it is missing; null if it is there
 */
async function writeSignerPart({ dir }: SignerConfig, file: string, { log }: BackupParts): Promise<string | null> {
  const signer = openConfiguredSigner({ dir });
  try {
    await writeNewFile(file, signer.backup());
    return null;
  } catch (error) {
    rmSync(file, { force: true });
    if (!(error instanceof Fault) && !(error instanceof Error && 'syscall' in error)) throw error;
    log.error({ error: error.message }, 'the backup is made without the signer’s part');
    return error.message;
  } finally {
    await signer.close();
  }
}
