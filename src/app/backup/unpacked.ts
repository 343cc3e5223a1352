/** A backup that was unpacked into a scratch folder, and the check that it is sound. */
import { join } from 'node:path';
import { type Database, openSqliteDatabase } from '../../database/database.ts';
import { checkIntegrity } from '../../database/engine/inspection.ts';
import { migrate } from '../../database/engine/migrate.ts';
import { openSecretKey } from '../../lib/secret-key.ts';
import { filesIn, type Manifest, unpackArchive } from './archive.ts';
import { openScratch } from './scratch.ts';

/** A folder with the files of a backup, whose database was migrated and opened. */
export type Unpacked = Readonly<{
  folder: string;
  manifest: Manifest;
  /** Faults of the unpacked database; empty when it is sound. */
  problems: readonly string[];
  database: Database;
}>;

/**
 * Unpacks a backup, lets SQLite check it, gives it to `work`, and removes the scratch folder.
 * @param parent the folder in which the scratch folder is made
 * @throws Fault permanent `backup_damaged`, `passphrase_wrong`, `secret_key_wrong`, `database_newer`, `not_found`
 */
export async function withUnpacked<T>(
  file: string,
  { parent, passphrase }: Readonly<{ parent: string; passphrase: Uint8Array }>,
  work: (unpacked: Unpacked) => Promise<T>,
): Promise<T> {
  const scratch = openScratch(parent);
  const { folder } = scratch;
  try {
    const manifest = await unpackArchive(file, folder, passphrase);
    const path = join(folder, 'quayside.db');
    const { pages, foreignKeys } = checkIntegrity(path);
    migrate({ file: path, backupDir: null });
    const secretKey = openSecretKey(join(folder, 'secret.key'));
    const database = openSqliteDatabase({ file: path, outageWaitS: 0, secretKey });
    try {
      await database.probe();
      return await work({ folder, manifest, problems: [...pages, ...foreignKeys], database });
    } finally {
      database.close();
    }
  } finally {
    scratch.remove();
  }
}

/** The result of a proof. `problems` is empty for a sound backup. */
type Proof = Readonly<{
  manifest: Manifest;
  files: readonly string[];
  ledgerEntries: number;
  problems: readonly string[];
}>;

/**
 * Proves a backup by restoring it into a scratch folder within `parent` and adding up the ledger.
 * @throws Fault permanent: see `withUnpacked`
 */
export const proveBackup = (file: string, parent: string, passphrase: Uint8Array): Promise<Proof> =>
  withUnpacked(file, { parent, passphrase }, async ({ folder, manifest, problems, database }) => {
    const ledger = await database.ledger.verify();
    return {
      manifest,
      files: filesIn(folder),
      ledgerEntries: ledger.entries,
      problems: [...problems, ...ledger.problems],
    };
  });
