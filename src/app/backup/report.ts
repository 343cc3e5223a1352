/** The state of this installation's backups, in a file beside the database. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { writeSecretFile } from '../../lib/secret-file.ts';

const schema = z.strictObject({
  /** The newest backup that a trial restore has proved. */
  newest: z
    .strictObject({
      file: z.string(),
      made_at_ms: z.int(),
      proved_at_ms: z.int(),
      /** The time at which `backup.send` has copied it. */
      sent_at_ms: z.int().nullable(),
    })
    .nullable(),
  /** Names of scheduled backups that are not deleted yet. The schedule deletes no others. */
  scheduled: z.array(z.string()),
  /** The reason why the last scheduled backup failed; null if it succeeded. */
  failure: z.strictObject({ at_ms: z.int(), message: z.string() }).nullable(),
});
type BackupReport = z.infer<typeof schema>;

const none: BackupReport = { newest: null, scheduled: [], failure: null };

const reportFile = (dataDir: string): string => join(dataDir, 'backup-report.json');

/** Returns the report, or an empty one if it is missing or not readable. */
export function readBackupReport(dataDir: string): BackupReport {
  try {
    return schema.parse(JSON.parse(readFileSync(reportFile(dataDir), 'utf8')));
  } catch {
    return none;
  }
}

/** Returns the part of a report that the dashboard shows. */
export const backupsOf = ({ newest, failure }: BackupReport) => ({
  proved: newest && { madeAtMs: newest.made_at_ms, provedAtMs: newest.proved_at_ms },
  failure: failure?.message ?? null,
});

export function updateBackupReport(dataDir: string, change: (report: BackupReport) => Partial<BackupReport>): void {
  const report = readBackupReport(dataDir);
  writeSecretFile(reportFile(dataDir), `${JSON.stringify({ ...report, ...change(report) })}\n`);
}
