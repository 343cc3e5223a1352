/**
 * Checks the standby's copy of the database by restoring it: whether it is whole, and how far it is behind. The result
 * of the last check is a file beside the database.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { Config } from '../config/config.ts';
import { Fault, transient } from '../core/fault.ts';
import { checkIntegrity, newestReportMs } from '../database/engine/inspection.ts';
import { openSqlite } from '../database/engine/open.ts';
import { ledgerCommands } from '../database/ledger.ts';
import type { Clock } from '../lib/clock.ts';
import { writeSecretFile } from '../lib/secret-file.ts';
import { databaseFile } from '../lib/secret-key.ts';
import { runCommand } from './backup/command.ts';
import { openScratch } from './backup/scratch.ts';
import { readRoom } from './watches/disk.ts';

const schema = z.strictObject({
  checked_at_ms: z.int(),
  /** Age of the newest commit in the copy at the check. */
  behind_ms: z.int().nullable(),
  /** Reasons why the copy cannot be used; empty if it can. */
  problems: z.array(z.string()),
});
export type StandbyReport = z.infer<typeof schema>;

const reportFile = (dataDir: string): string => join(dataDir, 'standby-report.json');

/** Returns the last check; null if there was none, or its file is not readable. */
export function readStandbyReport(dataDir: string): StandbyReport | null {
  try {
    return schema.parse(JSON.parse(readFileSync(reportFile(dataDir), 'utf8')));
  } catch {
    return null;
  }
}

type Parts = Readonly<{
  config: Pick<Config, 'dataDir' | 'alarms'>;
  /** The command from the settings that restores the copy. */
  command: readonly string[];
  env: NodeJS.ProcessEnv;
  clock: Pick<Clock, 'nowMs'>;
}>;

/** Restores the copy into a scratch folder, checks it, and removes it. */
export async function checkStandby(parts: Parts): Promise<StandbyReport> {
  const { config, clock } = parts;
  const startedMs = clock.nowMs();
  const failed = (error: unknown): StandbyReport => {
    if (!(error instanceof Fault)) throw error;
    return { checked_at_ms: startedMs, behind_ms: null, problems: [error.message] };
  };
  const report = await restoreAndCheck(parts, startedMs).catch(failed);
  writeSecretFile(reportFile(config.dataDir), `${JSON.stringify(report)}\n`);
  return report;
}

async function restoreAndCheck({ config, command, env }: Parts, startedMs: number): Promise<StandbyReport> {
  const { dataDir, alarms } = config;
  const { freeBytes, usedBytes } = await readRoom(dataDir);
  if (freeBytes < usedBytes + alarms.diskFreeBytesMin)
    throw transient('standby_no_room', `${dataDir} has too little free space for a copy of the database; free some`);
  const ownMs = newestReportMs(databaseFile(dataDir));
  const scratch = openScratch(dataDir);
  try {
    const file = join(scratch.folder, 'quayside.db');
    const why = await runCommand(command, { '{file}': file }, env);
    if (why !== null) throw transient('standby_not_restored', `the copy was not restored: ${why}`);
    const { pages, foreignKeys } = checkIntegrity(file);
    const copy = openSqlite({ file });
    const ledger = await ledgerCommands(copy).verify().finally(copy.close);
    const copyMs = newestReportMs(file);
    return {
      checked_at_ms: startedMs,
      behind_ms: ownMs === null || copyMs === null ? null : Math.max(0, ownMs - copyMs),
      problems: [...pages, ...foreignKeys, ...ledger.problems],
    };
  } finally {
    scratch.remove();
  }
}
