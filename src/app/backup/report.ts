/**
 * When this installation was backed up last, and whether that backup was proved: a file beside the database.
 * @module
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { writeSecretFile } from '../../lib/secret-file.ts';

const schema = z.strictObject({ file: z.string(), made_at_ms: z.int(), proved_at_ms: z.int().nullable() });
export type BackupReport = z.infer<typeof schema>;

const reportFile = (dataDir: string): string => join(dataDir, 'backup-report.json');

/** Remembers the newest backup. It is proved by the time it is called with `proved_at_ms`. */
export function writeBackupReport(dataDir: string, report: BackupReport): void {
  writeSecretFile(reportFile(dataDir), `${JSON.stringify(report)}\n`);
}

/** Returns null when there was no backup yet, or the file is not readable: a backup that nobody knows of is none. */
export function readBackupReport(dataDir: string): BackupReport | null {
  try {
    return schema.parse(JSON.parse(readFileSync(reportFile(dataDir), 'utf8')));
  } catch {
    return null;
  }
}
