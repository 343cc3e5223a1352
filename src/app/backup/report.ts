/**
 * State of this installation's backups: a file beside the database.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { writeSecretFile } from '../../lib/secret-file.ts';

const madeBackup = z.strictObject({
  file: z.string(),
  made_at_ms: z.int(),
  /** When it was restored into a scratch folder and found sound. */
  proved_at_ms: z.int().nullable(),
  /** When it was copied to where `backup.send` says. */
  sent_at_ms: z.int().nullable(),
});
type MadeBackup = z.infer<typeof madeBackup>;

const schema = z.strictObject({
  newest: madeBackup.nullable(),
  /** The newest one that was proved. */
  proved: madeBackup.nullable(),
  /** Names of scheduled backups that are whole, were proved, and are not deleted yet. */
  scheduled: z.array(z.string()),
  /**
   * Those that were not proved or lack the signer's part: deleted once a newer one is proved. The schedule deletes no
   * others.
   */
  unproved: z.array(z.string()),
  /** Why the last scheduled backup failed; null after one that did not. */
  failure: z.strictObject({ at_ms: z.int(), message: z.string() }).nullable(),
});
type BackupReport = z.infer<typeof schema>;

const none: BackupReport = { newest: null, proved: null, scheduled: [], unproved: [], failure: null };

const reportFile = (dataDir: string): string => join(dataDir, 'backup-report.json');

/** Returns an empty report if there is none, or it is not readable: a backup that nobody knows of is none. */
export function readBackupReport(dataDir: string): BackupReport {
  try {
    return schema.parse(JSON.parse(readFileSync(reportFile(dataDir), 'utf8')));
  } catch {
    return none;
  }
}

/** Returns what the dashboard shows of a report. */
export const backupsOf = ({ newest, proved, failure }: BackupReport) => ({
  madeAtMs: newest?.made_at_ms ?? null,
  proved: proved?.proved_at_ms ? { madeAtMs: proved.made_at_ms, provedAtMs: proved.proved_at_ms } : null,
  failure: failure?.message ?? null,
});

export function updateBackupReport(dataDir: string, change: (report: BackupReport) => Partial<BackupReport>): void {
  const report = readBackupReport(dataDir);
  writeSecretFile(reportFile(dataDir), `${JSON.stringify({ ...report, ...change(report) })}\n`);
}

/** Remembers a backup that was just made, and proved if it says so. */
export const rememberBackup = (dataDir: string, made: MadeBackup): void =>
  updateBackupReport(dataDir, ({ proved }) => ({ newest: made, proved: made.proved_at_ms === null ? proved : made }));
