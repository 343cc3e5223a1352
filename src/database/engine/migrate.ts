/**
 * Makes a database file and brings it up to date. A new file is made of `schema.sql`; a change after a release is a
 * numbered SQL file beside it. What is missing is applied in one transaction, after a copy of the file.
 * `PRAGMA user_version` is the number of the last migration, 0 for the schema of 0.1.0; `meta` lists them.
 */

import { closeSync, existsSync, fsyncSync, linkSync, mkdirSync, openSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { Fault, permanent } from '../../core/fault.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { connect, guarded } from './connection.ts';
import {
  appliedQuery,
  readScripts,
  recordsOf,
  refuseOtherVersion,
  type Script,
  type Scripts,
  scriptsAfter,
} from './scripts.ts';

/** Marks a file that `schema.sql` has made (`PRAGMA application_id`): "Quay". */
const APPLICATION_ID = 0x51756179;
const BUSY_TIMEOUT_MS = 30_000;

type MigrateOptions = Readonly<{
  file: string;
  /** Folder for the copy that is made before a migration. Null makes none: the file is a copy itself. */
  backupDir: string | null;
  log?: Log;
  /** Folder of `schema.sql` and the numbered SQL files; the program's own by default. */
  directory?: string;
}>;

/**
 * Makes the file if there is none or if it is empty, or applies the migrations that it lacks: all of them, or none.
 * Several processes may call this at once.
 * @returns the names of the scripts applied now
 * @throws Fault permanent `database_foreign`, `database_newer`, `migration_altered`, `migration_failed`,
 * `copy_damaged`; transient `storage_unavailable`
 */
export function migrate({ file, backupDir, log, directory }: MigrateOptions): string[] {
  const scripts = readScripts(directory);
  return guarded(file, () => {
    // Created here so that its mode is ours: SQLite gives its side files the mode of the main file.
    if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
    const client = connect(file, BUSY_TIMEOUT_MS, true);
    try {
      client.pragma('foreign_keys = OFF');
      const [next] = missingScripts(client, file, scripts);
      if (!next) return [];
      if (next === scripts.schema || backupDir === null) return applyMissing(client, file, scripts, log);
      const version = versionOf(client);
      const backup = backUp(client, file, backupDir, next);
      log?.info({ backup, migration: next.name }, 'database backed up before a migration');
      try {
        return applyMissing(client, file, scripts, log);
      } catch (error) {
        // Nothing was changed, so the copy would only fill the disk at each further try.
        if (versionOf(client) === version) rmSync(backup, { force: true });
        throw error;
      }
    } finally {
      client.close();
    }
  });
}

/** Returns the schema version of an open file. */
export const versionOf = (client: Sqlite.Database): number => Number(client.pragma('user_version', { simple: true }));

const isOwn = (client: Sqlite.Database): boolean =>
  client.pragma('application_id', { simple: true }) === APPLICATION_ID;

/** @throws Fault permanent `database_foreign`, `schema_not_current` */
export function refuseOtherSchema(client: Sqlite.Database, file: string): void {
  if (!isOwn(client)) throw foreign(file);
  refuseOtherVersion(file, versionOf(client));
}

const foreign = (file: string) =>
  permanent(
    'database_foreign',
    `${file} was not made by Quayside 0.1.0 or later. Set QUAYSIDE_DATA_DIR to an empty folder, and start again.`,
  );

/** Checks that the file's history agrees with the scripts. @returns what it lacks: the schema alone if it is empty */
function missingScripts(client: Sqlite.Database, file: string, scripts: Scripts): readonly Script[] {
  if (client.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() === 0) return [scripts.schema];
  if (!isOwn(client)) throw foreign(file);
  const applied = client.prepare(appliedQuery).pluck().all() as string[];
  return scriptsAfter({ name: file, version: versionOf(client), applied }, scripts);
}

/** Copies the file into `backupDir`, synced before it gets its name and never over an older copy. @returns the path */
function backUp(client: Sqlite.Database, file: string, backupDir: string, next: Script): string {
  mkdirSync(backupDir, { recursive: true, mode: 0o700 });
  removeAbandoned(backupDir);
  const stem = join(backupDir, `${basename(file, '.db')}-before-${basename(next.name, '.sql')}`);
  const partial = `${stem}.${process.pid}.partial`;
  // SQLite writes the copy into an empty file, which is created here so that only its owner can read it.
  const descriptor = openSync(partial, 'wx', 0o600);
  try {
    client.prepare('VACUUM INTO ?').run(partial);
    fsyncSync(descriptor);
    checkCopy(partial, file, next);
    return nameCopy(partial, stem);
  } finally {
    closeSync(descriptor);
    rmSync(partial, { force: true });
  }
}

/** @throws Fault permanent `copy_damaged` unless SQLite finds every page of the copy and every value in it sound */
function checkCopy(copy: string, file: string, next: Script): void {
  const client = new Sqlite(copy, { readonly: true });
  try {
    const [problem] = client.pragma('quick_check(1)') as Readonly<{ quick_check: string }>[];
    if (problem?.quick_check === 'ok') return;
    throw permanent(
      'copy_damaged',
      `The copy of ${file} that is made before migration ${next.name} is not sound: ${problem?.quick_check}. Nothing was ` +
        'changed. Start the earlier program again, and run `quayside doctor`, which checks the database and its disk.',
    );
  } finally {
    client.close();
  }
}

/** Removes what processes left that were killed while they copied: each is as large as the database. */
function removeAbandoned(backupDir: string): void {
  for (const name of readdirSync(backupDir)) {
    const [, pid] = /-before-\w+\.(\d+)\.partial(?:-journal)?$/.exec(name) ?? [];
    if (pid && (Number(pid) === process.pid || !isRunning(Number(pid)))) rmSync(join(backupDir, name), { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Gives a complete copy the first free name, by a link: unlike a rename it never replaces a file. */
function nameCopy(partial: string, stem: string): string {
  for (let copy = 1; ; copy++) {
    const path = copy === 1 ? `${stem}.db` : `${stem}-${copy}.db`;
    if (existsSync(path)) continue;
    linkSync(partial, path);
    return path;
  }
}

/** Applies what the file lacks by then, all or nothing. @returns the names of what this process applied */
function applyMissing(client: Sqlite.Database, file: string, scripts: Scripts, log: Log | undefined): string[] {
  let running = '';
  const work = client.transaction((): string[] => {
    const missing = missingScripts(client, file, scripts);
    for (const script of missing) {
      running = script.name;
      client.exec(script.text);
      const orphans = client.pragma('foreign_key_check') as unknown[];
      if (orphans.length > 0) throw new Error(`it leaves ${orphans.length} rows that refer to nothing`);
      recordScripts(client, script === scripts.schema ? [script, ...scripts.migrations] : [script]);
    }
    return missing.map(({ name }) => name);
  });
  try {
    const applied = guarded(file, () => work.immediate());
    for (const migration of applied) log?.info({ migration }, 'database migrated');
    return applied;
  } catch (error) {
    if (error instanceof Fault) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw permanent(
      'migration_failed',
      `${running} failed on ${file}, which is unchanged: ${why}. Start the earlier program again and report this.`,
      error,
    );
  }
}

/** Notes what the file was made with. */
function recordScripts(client: Sqlite.Database, scripts: readonly Script[]): void {
  const write = client.prepare('INSERT INTO meta (name, value) VALUES (?, ?)');
  for (const row of recordsOf(scripts, systemClock.nowMs())) write.run(...row);
  client.pragma(`application_id = ${APPLICATION_ID}`);
  client.pragma(`user_version = ${scripts.at(-1)?.version ?? 0}`);
}
