/**
 * The backup that is made by itself: written into the configured folder, proved, sent, and older ones deleted. Only a
 * proved backup replaces anything.
 */
import { rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { Config, ScheduledBackup, SignerConfig } from '../../config/config.ts';
import { Fault, permanent, transient } from '../../core/fault.ts';
import type { OperatorAct } from '../../database/audit-log.ts';
import type { Database } from '../../database/database.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { readRoom } from '../disk-room.ts';
import { makeBackup } from './make.ts';
import { readPassphrase } from './passphrase.ts';
import { rememberBackup, updateBackupReport } from './report.ts';
import { sendBackup } from './send.ts';
import { writeSignerPart } from './signer-part.ts';
import { proveBackup } from './unpacked.ts';

/** A mistake is found within days; the books of before are in every backup. */
const KEPT_DAYS = 14;
const NAME_START = 'quayside-';
const DAY_CHARS = 8;
/** The copy, and the backup itself where its folder is on the same disk. */
const COPIES = 2;
const MIB = 2 ** 20;

type ScheduledParts = Readonly<{
  config: Config;
  database: Pick<Database, 'audit'>;
  env: NodeJS.ProcessEnv;
  act: OperatorAct;
  clock: Clock;
  log: Log;
  onProgress?: (done: number, total: number) => void;
  /** Called with the number of bytes that came from the signer. */
  onReceived?: (bytes: number) => void;
}>;

type ScheduledResult = Readonly<{
  file: string;
  bytes: number;
  files: readonly string[];
  sessions: number;
  deleted: readonly string[];
  isSent: boolean;
  /** Why the signer's part is missing; null if it is there, or there is no signer. */
  signerFault: string | null;
}>;

/**
 * Makes one backup as the settings say. A failure is remembered for `status` and the alarm; so is a backup without the
 * signer's part, which is sent, but replaces no whole one.
 * @throws Fault `backup_not_configured`, `backup_no_room`, `backup_unsound`; see `makeBackup`, `withUnpacked`,
 * `sendBackup`
 */
export async function runScheduledBackup(parts: ScheduledParts): Promise<ScheduledResult> {
  const { dataDir, backup } = parts.config;
  if (!backup.scheduled) {
    throw permanent(
      'backup_not_configured',
      'no folder is configured for backups: name one with `quayside backup --to FOLDER`, or set `backup.folder` and `backup.passphrase_path`',
    );
  }
  const remember = (message: string | null): void => {
    const failure = message === null ? null : { at_ms: parts.act.atMs, message };
    updateBackupReport(dataDir, () => ({ failure }));
  };
  try {
    const result = await makeProveSend(parts, backup.scheduled);
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

async function makeProveSend(parts: ScheduledParts, scheduled: ScheduledBackup): Promise<ScheduledResult> {
  const { config, database, env, act, clock } = parts;
  await refuseWithoutRoom(config);
  const passphrase = readPassphrase(scheduled.passphraseFile);
  try {
    const signer = config.signer ? openSignerPart(config.signer, parts) : null;
    const { file, bytes, manifest } = await makeBackup(scheduled.folder, {
      ...{ config, env, passphrase, nowMs: act.atMs },
      settingsFile: env.QUAYSIDE_CONFIG ? resolve(env.QUAYSIDE_CONFIG) : null,
      signerPart: signer?.write ?? null,
      onProgress: parts.onProgress ?? (() => {}),
    });
    const signerFault = signer?.fault() ?? null;
    const made = { file, made_at_ms: act.atMs, proved_at_ms: null, sent_at_ms: null };
    rememberBackup(config.dataDir, made);
    updateBackupReport(config.dataDir, ({ unproved }) => ({ unproved: [...unproved, basename(file)] }));
    const { problems } = await proveBackup(file, config.dataDir, passphrase);
    if (problems.length > 0) {
      throw permanent(
        'backup_unsound',
        `${file} is not sound (${problems.join('; ')}): run \`quayside ledger verify\` and \`quayside doctor\``,
      );
    }
    const proved = { ...made, proved_at_ms: clock.nowMs() };
    rememberBackup(config.dataDir, proved);
    const deleted = deleteOld(config.dataDir, basename(file), signerFault === null, scheduled);
    const files = manifest.files.map(({ name }) => name);
    const after = { bytes, files: files.join(' '), deleted: deleted.join(' ') };
    await database.audit.record(act, { target: file, before: null, after });
    if (scheduled.send) {
      await sendBackup(file, scheduled.send, env);
      rememberBackup(config.dataDir, { ...proved, sent_at_ms: clock.nowMs() });
    }
    const sessions = manifest.counts.sessions ?? 0;
    return { file, bytes, files, sessions, deleted, isSent: scheduled.send !== null, signerFault };
  } finally {
    passphrase.fill(0);
  }
}

/**
 * A copy of the database, and then what the backup is restored to, are in the data folder for a while. A full disk
 * would refuse payments.
 * @throws Fault transient `backup_no_room`, `disk_unreadable`
 */
async function refuseWithoutRoom({ dataDir, alarms }: Config): Promise<void> {
  const { freeBytes, usedBytes } = await readRoom(dataDir);
  const neededBytes = COPIES * usedBytes + alarms.diskFreeBytesMin;
  if (freeBytes >= neededBytes) return;
  const [free, needed] = [freeBytes, neededBytes].map((bytes) => `${Math.ceil(bytes / MIB)} MiB`);
  throw transient('backup_no_room', `${dataDir} has ${free} free, and a backup needs ${needed} there. Free some`);
}

/** Returns what asks the signer for its part. A backup without it is better than none. */
function openSignerPart(signer: SignerConfig, { log, onReceived }: ScheduledParts) {
  let fault: string | null = null;
  return {
    async write(file: string): Promise<void> {
      try {
        await writeSignerPart(signer, file, onReceived);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        rmSync(file, { force: true });
        log.error({ code: error.code }, `the backup is made without the signer’s part: ${error.message}`);
        fault = error.message;
      }
    },
    /** Why the part is missing; null if it is there. */
    fault: () => fault,
  };
}

/** Returns the newest backup of each of the last days that have one, newest first. Their names begin with the day. */
function keptNames(names: readonly string[]): string[] {
  const newest = new Map<string, string>();
  for (const name of names.toSorted().reverse()) {
    const day = name.slice(NAME_START.length, NAME_START.length + DAY_CHARS);
    if (!newest.has(day)) newest.set(day, name);
  }
  return [...newest.values()].slice(0, KEPT_DAYS);
}

/**
 * Deletes scheduled backups that are not kept, now that this one is proved. One that lacks the signer's part replaces
 * only unproved ones and others that lack it.
 * @returns their names
 */
function deleteOld(dataDir: string, proved: string, isWhole: boolean, { folder }: ScheduledBackup): string[] {
  let deleted: string[] = [];
  updateBackupReport(dataDir, ({ scheduled, unproved }) => {
    const all = isWhole ? [...scheduled, proved] : scheduled;
    const kept = isWhole ? keptNames(all) : scheduled;
    deleted = [...all.filter((name) => !kept.includes(name)), ...unproved.filter((name) => name !== proved)];
    for (const name of deleted) rmSync(join(folder, name), { force: true });
    return { scheduled: kept, unproved: isWhole ? [] : [proved] };
  });
  return deleted;
}
