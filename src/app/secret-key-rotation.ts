/**
 * Replaces the secret key of a stopped installation. It makes a backup, writes the new key into a second file, reseals
 * everything in one transaction, and replaces the old file. After an interruption, the database fits one of the two
 * files. The next run finds out which, and completes the rotation.
 */
import { chmodSync, chownSync, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../config/config.ts';
import { permanent } from '../core/fault.ts';
import type { OperatorAct } from '../database/audit-log.ts';
import { takeInstanceLock } from '../database/engine/instance-lock.ts';
import { type DatabasePlace, fitsDatabase, type Resealing, resealDatabase } from '../database/rotate-secret-key.ts';
import { syncFolder, writeSecretFile } from '../lib/secret-file.ts';
import { databaseFile, newSecretKey, openSecretKey, secretKeyFile, secretKeyText } from '../lib/secret-key.ts';

export type RotationParts = Readonly<{
  config: Pick<Config, 'dataDir' | 'databaseUrl'>;
  env: NodeJS.ProcessEnv;
  act: OperatorAct;
  /** Makes and checks a backup. If it fails, nothing is changed. */
  backup: () => Promise<void>;
  /** Called before each step, with its name. */
  onStep: (name: string) => void;
}>;

/** `ended`: an interrupted rotation lacked only the replacement of the old key's file. */
export type Rotation =
  | Readonly<{ kind: 'ended'; file: string }>
  | (Readonly<{ kind: 'done'; file: string }> & Resealing);

/**
 * Gives the installation a new secret key, or completes an interrupted rotation.
 * @throws Fault permanent `already_running`, `secret_key_invalid`, `secret_key_wrong`, `secret_key_fixed`,
 * `refunds_approved`, `database_in_use`, and those of the backup; transient `storage_unavailable`
 */
export async function rotateSecretKey(parts: RotationParts): Promise<Rotation> {
  const { config, env, act, backup, onStep } = parts;
  const { dataDir, databaseUrl: url } = config;
  const release = takeInstanceLock(dataDir);
  try {
    const [database, file] = [{ file: databaseFile(dataDir), url }, secretKeyFile(dataDir, env)];
    const next = `${file}.next`;
    const from = openSecretKey(file);
    if (!(await fitsDatabase(database, from))) {
      await refuseOther(database, file, next);
      replaceKey(next, file);
      return { kind: 'ended', file };
    }
    onStep('backup');
    await backup();
    onStep('new key');
    const to = newSecretKey();
    writeNext(next, file, to);
    const resealing = await resealDatabase(database, { from, to }, act, onStep);
    onStep('key file');
    replaceKey(next, file);
    onStep('end');
    return { kind: 'done', file, ...resealing };
  } finally {
    release();
  }
}

/** @throws Fault permanent `secret_key_wrong` if neither file has the database's key */
async function refuseOther(database: DatabasePlace, file: string, next: string): Promise<void> {
  if (existsSync(next) && (await fitsDatabase(database, openSecretKey(next)))) return;
  throw permanent(
    'secret_key_wrong',
    `${file} is not the secret key of ${database.url === null ? database.file : 'the database of QUAYSIDE_DATABASE_URL'}; restore the key file of this database`,
  );
}

/**
 * Writes the new key beside the old one, for the same users.
 * @throws Fault permanent `secret_key_fixed`
 */
function writeNext(next: string, file: string, key: Uint8Array): void {
  try {
    const { mode, uid, gid } = statSync(file);
    writeSecretFile(next, secretKeyText(key));
    chownSync(next, uid, gid);
    chmodSync(next, mode & 0o640);
  } catch (error) {
    rmSync(next, { force: true });
    throw permanent(
      'secret_key_fixed',
      `${next} cannot be written for the users of ${file} (${error instanceof Error ? error.message : error}). Run this ` +
        'as the owner of that file; if it is mounted read-only, set QUAYSIDE_SECRET_KEY_FILE to a copy in another folder, ' +
        'run this again, and put the new file in the place of the mounted one',
      error,
    );
  }
}

function replaceKey(next: string, file: string): void {
  renameSync(next, file);
  syncFolder(dirname(file));
}
