/**
 * State of this installation's backups: a file beside the database.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { writeSecretFile } from '../../lib/secret-file.ts';

const schema = z.strictObject({
  /** It was restored into a scratch folder and found sound. */
  newest: z
    .strictObject({
      file: z.string(),
      made_at_ms: z.int(),
      proved_at_ms: z.int(),
      /** When it was copied to where `backup.send` says. */
      sent_at_ms: z.int().nullable(),
    })
    .nullable(),
  /** Names of scheduled backups that are not deleted yet. The schedule deletes no others. */
  scheduled: z.array(z.string()),
  /** Why the last scheduled backup failed; null after one that did not. */
  failure: z.strictObject({ at_ms: z.int(), message: z.string() }).nullable(),
});
type BackupReport = z.infer<typeof schema>;

const none: BackupReport = { newest: null, scheduled: [], failure: null };

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
export const backupsOf = ({ newest, failure }: BackupReport) => ({
  proved: newest && { madeAtMs: newest.made_at_ms, provedAtMs: newest.proved_at_ms },
  failure: failure?.message ?? null,
});

export function updateBackupReport(dataDir: string, change: (report: BackupReport) => Partial<BackupReport>): void {
  const report = readBackupReport(dataDir);
  writeSecretFile(reportFile(dataDir), `${JSON.stringify({ ...report, ...change(report) })}\n`);
}
