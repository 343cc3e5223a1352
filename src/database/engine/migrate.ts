/**
 * Creates a database file by `schema.sql`, and applies the numbered SQL files that each later release adds. Missing
 * ones are applied in one transaction, after a copy of the file. `PRAGMA user_version` is the number of the last
 * migration, 0 for the schema of 0.1.0.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Sqlite from 'better-sqlite3';
import { Fault, permanent } from '../../core/fault.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { connect, guarded } from './connection.ts';

/** Marks a file created by `schema.sql` (`PRAGMA application_id`): "Quay". */
const APPLICATION_ID = 0x51756179;
const BUSY_TIMEOUT_MS = 30_000;

type MigrateOptions = Readonly<{
  file: string;
  /** Folder for the copy before a migration. Null makes none, because the file is a copy itself. */
  backupDir: string | null;
  log?: Log;
  /** Folder of `schema.sql` and the numbered SQL files; the program's own by default. */
  directory?: string;
}>;

/**
 * Creates the file if it is missing or empty, or applies the migrations that it lacks: all of them, or none. Several
 * processes may create the same file at once. A process that migrates is alone.
 * @returns the names of the scripts applied now
 * @throws Fault permanent `database_foreign`, `database_newer`, `migration_failed`, `copy_damaged`; transient
 * `storage_unavailable`
 */
export function migrate({ file, backupDir, log, directory }: MigrateOptions): string[] {
  const scripts = readScripts(directory);
  return guarded(file, () => {
    // Created here, so that its mode is ours. SQLite gives its side files the mode of the main file.
    if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
    const client = connect(file, BUSY_TIMEOUT_MS, true);
    try {
      client.pragma('foreign_keys = OFF');
      const [next] = missingScripts(client, file, scripts);
      if (!next) return [];
      if (next.version > 0 && backupDir !== null) {
        const backup = backUp(client, file, backupDir, next);
        log?.info({ backup, migration: next.name }, 'database backed up before a migration');
      }
      const applied = applyMissing(client, file, scripts);
      for (const migration of applied) log?.info({ migration }, 'database migrated');
      return applied;
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

/** Returns the scripts that a file lacks: the schema alone if it is empty. */
function missingScripts(client: Sqlite.Database, file: string, scripts: Scripts): readonly Script[] {
  if (client.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() === 0) return [scripts.schema];
  if (!isOwn(client)) throw foreign(file);
  return scriptsAfter(file, versionOf(client), scripts);
}

/**
 * Copies the file into `backupDir`. The copy is checked and synced before it gets its name, and replaces that of a
 * failed migration.
 * @returns the path
 */
function backUp(client: Sqlite.Database, file: string, backupDir: string, next: Script): string {
  mkdirSync(backupDir, { recursive: true, mode: 0o700 });
  const copy = join(backupDir, `${basename(file, '.db')}-before-${basename(next.name, '.sql')}.db`);
  // A process that was killed may have left one.
  const partial = `${copy}.partial`;
  rmSync(partial, { force: true });
  // SQLite writes the copy into an empty file, which is created here so that only its owner can read it.
  const descriptor = openSync(partial, 'wx', 0o600);
  try {
    client.prepare('VACUUM INTO ?').run(partial);
    fsyncSync(descriptor);
    checkCopy(partial, file, next);
    renameSync(partial, copy);
    return copy;
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

/** Applies the scripts that the file still lacks, all or none. @returns the names of those applied by this process */
function applyMissing(client: Sqlite.Database, file: string, scripts: Scripts): string[] {
  let running = '';
  const work = client.transaction((): string[] => {
    const missing = missingScripts(client, file, scripts);
    for (const { name, version, text } of missing) {
      running = name;
      client.exec(text);
      const orphans = client.pragma('foreign_key_check') as unknown[];
      if (orphans.length > 0) throw new Error(`it leaves ${orphans.length} rows that refer to nothing`);
      if (version === 0) {
        client.prepare('INSERT INTO meta (name, value) VALUES (?, ?)').run(MADE_AT_MS, String(systemClock.nowMs()));
        client.pragma(`application_id = ${APPLICATION_ID}`);
      }
    }
    if (missing.length > 0) client.pragma(`user_version = ${scripts.migrations.length}`);
    return missing.map(({ name }) => name);
  });
  try {
    return guarded(file, () => work.immediate());
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

// ── The scripts ──────────────────────────────────────────────────────────────────────────────────────────────────────
// PostgreSQL gets a translation of each.

export type Script = Readonly<{ version: number; name: string; text: string }>;

/** The schema of a new database, and the migrations that bring an existing one to it. */
type Scripts = Readonly<{ schema: Script; migrations: readonly Script[] }>;

/** The name in `meta` of the database's creation time, in Unix milliseconds. */
export const MADE_AT_MS = 'made_at_ms';

const ownDirectory = fileURLToPath(new URL('../', import.meta.url));

/** Reads `schema.sql` and `0001_name.sql`, `0002_name.sql`, …, which must be without gaps. */
export function readScripts(directory = ownDirectory): Scripts {
  const read = (name: string, version: number): Script => ({
    version,
    name,
    text: readFileSync(join(directory, name), 'utf8'),
  });
  const names = readdirSync(directory)
    .filter((name) => /^\d{4}_\w+\.sql$/.test(name))
    .sort();
  const migrations = names.map((name, at) => {
    const version = Number(name.slice(0, 4));
    if (version === at + 1) return read(name, version);
    throw permanent('migration_missing', `Migration ${at + 1} is missing in ${directory}: ${name} follows a gap.`);
  });
  return { schema: read('schema.sql', 0), migrations };
}

/** Returns the migrations that a database lacks. @throws Fault permanent `database_newer` */
export function scriptsAfter(name: string, version: number, { migrations }: Scripts): readonly Script[] {
  if (version <= migrations.length) return migrations.slice(version);
  throw permanent(
    'database_newer',
    `${name} has schema ${version}, but this program knows ${migrations.length}. Start the newer program, or ` +
      'restore the backup that was made before the upgrade.',
  );
}

/** @throws Fault permanent `schema_not_current` */
export function refuseOtherVersion(name: string, version: number): void {
  const current = readScripts().migrations.length;
  if (version === current) return;
  throw permanent(
    'schema_not_current',
    `${name} has schema ${version}, but this program needs ${current}. ` +
      (version < current ? 'Run `npm start`, which brings the schema up to date.' : 'Start the newer program.'),
  );
}
