/**
 * The scheduled backup. It is written into the configured folder, proved and sent, and older ones are deleted. Only a
 * proved backup replaces others.
 */
import { rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ScheduledBackup } from '../../config/config.ts';
import { Fault, permanent, transient } from '../../core/fault.ts';
import type { Audit } from '../../database/database.ts';
import { readPassphrase } from './archive.ts';
import { runCommand } from './command.ts';
import { type BackupParts, makeProvedBackup, type ProvedBackup } from './make.ts';
import { updateBackupReport } from './report.ts';

/** Days for which backups are kept. A mistake is found within days, and every backup contains all earlier books. */
const KEPT_DAYS = 14;
const NAME_START = 'quayside-';
const DAY_CHARS = 8;

type ScheduledParts = BackupParts & Readonly<{ audit: Audit }>;
type ScheduledResult = ProvedBackup & Readonly<{ deleted: readonly string[]; isSent: boolean }>;

/**
 * Makes one backup by the settings. A failure is saved for `status` and the alarm. A backup without the signer's part
 * is sent and also counts as a failure, and replaces no other.
 * @throws Fault `backup_not_configured`, those of `makeProvedBackup` and `sendBackup`
 */
export async function runScheduledBackup(parts: ScheduledParts): Promise<ScheduledResult> {
  const { dataDir, backup } = parts.config;
  if (!backup.scheduled) {
    throw permanent(
      'backup_not_configured',
      'no folder is configured for backups: set `backup.folder` and `backup.passphrase_path` (docs/operate.md#backups)',
    );
  }
  const remember = (message: string | null): void => {
    const failure = message === null ? null : { at_ms: parts.act.atMs, message };
    updateBackupReport(dataDir, () => ({ failure }));
  };
  try {
    const result = await makeAndSend(parts, backup.scheduled);
    remember(result.signerFault === null ? null : lacksSignerPart(result.file, result.signerFault));
    return result;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    remember(error.message);
    throw error;
  }
}

const lacksSignerPart = (file: string, why: string): string =>
  `${file} lacks the signer’s part: ${why}. Then run \`quayside backup\``;

async function makeAndSend(parts: ScheduledParts, scheduled: ScheduledBackup): Promise<ScheduledResult> {
  const { config, audit, env, act, clock } = parts;
  const { dataDir } = config;
  const passphrase = readPassphrase(scheduled.passphraseFile);
  const making = makeProvedBackup(parts, scheduled.folder, passphrase);
  const made = await making.finally(() => passphrase.fill(0));
  const { file, bytes, files } = made;
  const deleted = deleteOld(dataDir, made, scheduled);
  const after = { bytes, files: files.join(' '), deleted: deleted.join(' ') };
  await audit.record(act, { target: file, before: null, after });
  if (scheduled.send) {
    await sendBackup(file, scheduled.send, env);
    updateBackupReport(dataDir, ({ newest }) => ({ newest: newest && { ...newest, sent_at_ms: clock.nowMs() } }));
  }
  return { ...made, deleted, isSent: scheduled.send !== null };
}

/** Returns the newest backup of each of the last days with backups. Their names begin with the day. */
function keptNames(names: readonly string[]): string[] {
  const newest = new Map<string, string>();
  for (const name of names.toSorted().reverse()) {
    const day = name.slice(NAME_START.length, NAME_START.length + DAY_CHARS);
    if (!newest.has(day)) newest.set(day, name);
  }
  return [...newest.values()].slice(0, KEPT_DAYS);
}

/** Deletes old scheduled backups if the new one is whole. @returns the names of the deleted ones */
function deleteOld(dataDir: string, made: ProvedBackup, { folder }: ScheduledBackup): string[] {
  let deleted: string[] = [];
  updateBackupReport(dataDir, ({ scheduled }) => {
    const all = [...scheduled, basename(made.file)];
    const kept = made.signerFault === null ? keptNames(all) : all;
    deleted = all.filter((name) => !kept.includes(name));
    for (const name of deleted) rmSync(join(folder, name), { force: true });
    return { scheduled: kept };
  });
  return deleted;
}

/**
 * Runs the operator's command that copies a backup to another machine. `{file}` in it becomes the file's path, and
 * `{name}` its name, which has only letters, digits, dashes and dots.
 * @throws Fault transient `backup_not_sent`
 */
async function sendBackup(file: string, words: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const why = await runCommand(words, { '{file}': file, '{name}': basename(file) }, env);
  if (why === null) return;
  throw transient(
    'backup_not_sent',
    `${file} was made, but not sent: ${why}. Correct \`backup.send\`, then run \`quayside backup\``,
  );
}
