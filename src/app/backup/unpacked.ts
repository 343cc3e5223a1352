/**
 * A backup that was unpacked into a scratch folder, and whether it is what it says.
 */
import { join } from 'node:path';
import { type Database, openSqliteDatabase } from '../../database/database.ts';
import { checkIntegrity, describeSnapshot } from '../../database/engine/inspection.ts';
import { migrate } from '../../database/engine/migrate.ts';
import { ledgerProblems } from '../../database/ledger.ts';
import { openSecretKey } from '../../lib/secret-key.ts';
import { type Manifest, unpackArchive } from './archive.ts';
import { openScratch } from './scratch.ts';

const BUSY_TIMEOUT_MS = 5_000;

/** A folder with the files of a backup, its database brought to this program's schema and open. */
export type Unpacked = Readonly<{
  folder: string;
  manifest: Manifest;
  /** Faults of the unpacked database; empty when it is sound. */
  problems: readonly string[];
  database: Database;
}>;

/**
 * Unpacks a backup, checks it against its manifest, gives it to `work`, and removes the scratch folder.
 * @param parent the folder in which the scratch folder is made
 * @throws Fault permanent `backup_damaged`, `passphrase_wrong`, `secret_key_wrong`, `database_newer`, `not_found`
 */
export async function withUnpacked<T>(
  file: string,
  { parent, passphrase }: Readonly<{ parent: string; passphrase: Uint8Array }>,
  work: (unpacked: Unpacked) => Promise<T>,
): Promise<T> {
  const scratch = openScratch(parent, 'unpacked-backup');
  const { folder } = scratch;
  try {
    const manifest = await unpackArchive(file, folder, passphrase);
    const path = join(folder, 'quayside.db');
    const problems = problemsOf(path, manifest);
    migrate({ file: path, backupDir: null });
    const secretKey = openSecretKey(join(folder, 'secret.key'));
    const options = { file: path, busyTimeoutMs: BUSY_TIMEOUT_MS, outageWaitS: 0 };
    const database = openSqliteDatabase({ ...options, secretKey });
    try {
      await database.probe();
      return await work({ folder, manifest, problems, database });
    } finally {
      database.close();
    }
  } finally {
    scratch.remove();
  }
}

/** @throws Fault `storage_unavailable`, `storage_damaged` */
function problemsOf(path: string, manifest: Manifest): string[] {
  const { pages, foreignKeys } = checkIntegrity(path, 0);
  const { counts, schemaVersion } = describeSnapshot(path);
  const tables = [...new Set([...Object.keys(counts), ...Object.keys(manifest.counts)])];
  const different = tables.filter((table) => counts[table] !== manifest.counts[table]);
  return [
    ...pages,
    ...foreignKeys,
    ...different.map(
      (table) => `${table} has ${counts[table] ?? 'no'} rows, the manifest says ${manifest.counts[table] ?? 'none'}`,
    ),
    ...(schemaVersion === manifest.schema_version
      ? []
      : [`its schema is ${schemaVersion}, not ${manifest.schema_version}`]),
  ];
}

/** `problems` is empty for a backup that is sound. */
type Proof = Readonly<{ manifest: Manifest; ledgerEntries: number; problems: readonly string[] }>;

/**
 * Proves a backup: restores it into a scratch folder within `parent`, compares it with its manifest and adds up the
 * ledger.
 * @throws Fault permanent: see `withUnpacked`
 */
export const proveBackup = (file: string, parent: string, passphrase: Uint8Array): Promise<Proof> =>
  withUnpacked(file, { parent, passphrase }, async ({ manifest, problems, database }) => {
    const report = await database.ledger.verify();
    return { manifest, ledgerEntries: report.entries, problems: [...problems, ...ledgerProblems(report)] };
  });
