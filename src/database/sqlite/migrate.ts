/**
 * Brings a file to the current schema: numbered SQL files, each applied once, in one transaction, after a copy.
 * `PRAGMA user_version` is the number of the last one; the table `migrations` lists what was applied.
 * @module
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Sqlite from 'better-sqlite3';
import { Fault, permanent } from '../../core/fault.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { connect } from './connection.ts';
import { guarded } from './storage-fault.ts';

type Migration = Readonly<{ version: number; name: string; text: string; checksum: string }>;

/** Marks the file as ours (`PRAGMA application_id`): "QUAY". */
const APPLICATION_ID = 0x51554159;
const BUSY_TIMEOUT_MS = 30_000;
const ownDirectory = fileURLToPath(new URL('./migrations/', import.meta.url));

export type MigrateOptions = Readonly<{
  file: string;
  /**
   * Folder for the copy that is made before the first missing migration of a file that holds data. Null makes none: the
   * file is a copy itself.
   */
  backupDir: string | null;
  log?: Log;
  /** Folder of the numbered SQL files; the program's own by default. */
  directory?: string;
}>;

/**
 * Creates the file if there is none, and applies what is missing. Several processes may call this at once.
 * @returns the names of the migrations applied now
 * @throws Fault permanent `database_foreign`, `database_newer`, `migration_altered`, `migration_failed`,
 * `copy_damaged`; transient `storage_unavailable`
 */
export function migrate({ file, backupDir, log, directory = ownDirectory }: MigrateOptions): string[] {
  const migrations = readMigrations(directory);
  return guarded(file, () => {
    // Created here so that its mode is ours: SQLite gives its side files the mode of the main file.
    if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
    const client = connect(file, BUSY_TIMEOUT_MS, true);
    try {
      client.pragma('foreign_keys = OFF');
      const version = checkApplied(client, file, migrations);
      const next = migrations[version];
      if (version === 0 || !next || backupDir === null) return applyMissing(client, file, migrations, log);
      const backup = backUp(client, file, backupDir, next);
      log?.info({ backup, migration: next.name }, 'database backed up before a migration');
      try {
        return applyMissing(client, file, migrations, log);
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

/** Applies what is missing, in order. @returns the names of what this process applied */
function applyMissing(
  client: Sqlite.Database,
  file: string,
  migrations: readonly Migration[],
  log: Log | undefined,
): string[] {
  const applied: string[] = [];
  for (;;) {
    const version = checkApplied(client, file, migrations);
    const next = migrations[version];
    if (!next) return applied;
    if (!apply(client, file, version, next)) continue;
    log?.info({ migration: next.name }, 'database migrated');
    applied.push(next.name);
  }
}

/** Returns the version that this program's migrations lead to. */
export const currentVersion = (): number => readMigrations(ownDirectory).length;

/** Returns the schema version of an open file. */
export const versionOf = (client: Sqlite.Database): number => Number(client.pragma('user_version', { simple: true }));

/** @throws Fault permanent `schema_not_current` */
export function refuseOtherSchema({ client, file }: Readonly<{ client: Sqlite.Database; file: string }>): void {
  const version = versionOf(client);
  const current = currentVersion();
  if (version === current) return;
  throw permanent(
    'schema_not_current',
    `${file} has schema ${version}, but this program needs ${current}. ` +
      (version < current ? 'Run `npm start`, which brings the schema up to date.' : 'Start the newer program.'),
  );
}

/** Reads `0001_name.sql`, `0002_name.sql`, …, which must be without gaps. */
function readMigrations(directory: string): Migration[] {
  const names = readdirSync(directory)
    .filter((name) => /^\d{4}_.*\.sql$/.test(name))
    .sort();
  return names.map((name, at) => {
    const version = Number(name.slice(0, 4));
    if (version !== at + 1) {
      throw permanent('migration_missing', `Migration ${at + 1} is missing in ${directory}: ${name} follows a gap.`);
    }
    const text = readFileSync(join(directory, name), 'utf8');
    return { version, name, text, checksum: createHash('sha256').update(text).digest('hex') };
  });
}

/** Checks that the file's history agrees with `migrations`. @returns the file's version */
function checkApplied(client: Sqlite.Database, file: string, migrations: readonly Migration[]): number {
  const version = versionOf(client);
  if (version === 0) {
    const tables = client.prepare("SELECT count(*) FROM sqlite_schema WHERE type = 'table'").pluck().get();
    if (tables === 0) return 0;
  }
  if (client.pragma('application_id', { simple: true }) !== APPLICATION_ID) {
    throw permanent('database_foreign', `${file} is a database of another program. Choose another data directory.`);
  }
  if (version > migrations.length) {
    throw permanent(
      'database_newer',
      `${file} has schema ${version}, but this program knows ${migrations.length}. Start the newer program, or ` +
        'restore the backup that was made before the upgrade.',
    );
  }
  const rows = client.prepare('SELECT version, checksum FROM migrations ORDER BY version').all() as {
    version: number;
    checksum: string;
  }[];
  for (const { version: number, checksum } of rows) {
    const migration = migrations[number - 1];
    if (migration?.checksum === checksum) continue;
    throw permanent(
      'migration_altered',
      `${migration?.name ?? `Migration ${number}`} differs from the text that was applied to ${file}. Restore the ` +
        'released file; change the schema in a new migration.',
    );
  }
  return version;
}

/** Copies the file into `backupDir`, synced before it gets its name and never over an older copy. @returns the path */
function backUp(client: Sqlite.Database, file: string, backupDir: string, next: Migration): string {
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
function checkCopy(copy: string, file: string, next: Migration): void {
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

/** Applies one migration. @returns false when another process was faster */
function apply(client: Sqlite.Database, file: string, version: number, next: Migration): boolean {
  const work = client.transaction((): boolean => {
    if (versionOf(client) !== version) return false;
    if (version === 0) {
      client.pragma(`application_id = ${APPLICATION_ID}`);
      client.exec(
        'CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at_ms INTEGER NOT NULL) STRICT',
      );
    }
    client.exec(next.text);
    const orphans = client.pragma('foreign_key_check') as unknown[];
    if (orphans.length > 0) throw new Error(`it leaves ${orphans.length} rows that refer to nothing`);
    client
      .prepare('INSERT INTO migrations (version, name, checksum, applied_at_ms) VALUES (?, ?, ?, ?)')
      .run(next.version, next.name, next.checksum, systemClock.nowMs());
    client.pragma(`user_version = ${next.version}`);
    return true;
  });
  try {
    return guarded(file, () => work.immediate());
  } catch (error) {
    if (error instanceof Fault) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw permanent(
      'migration_failed',
      `Migration ${next.name} failed on ${file}, which is unchanged: ${why}. Start the earlier program again and ` +
        'report this.',
      error,
    );
  }
}
