/**
 * Moves a stopped installation between SQLite's file and a PostgreSQL database. A rehearsal copies one state of the
 * source, which may keep running.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { permanent } from '../core/fault.ts';
import { takeInstanceLock } from '../database/engine/instance-lock.ts';
import { migrate } from '../database/engine/migrate.ts';
import {
  beginMove,
  copyTable,
  digestTable,
  type End,
  endMove,
  listTables,
  openFile,
  openServer,
  type TableDigest,
  type TableProgress,
  withScratchSchema,
} from '../database/engine/move.ts';
import { type Db, openSqlite } from '../database/engine/open.ts';
import { openPostgres } from '../database/engine/postgres.ts';
import { preparePostgres } from '../database/engine/postgres-server.ts';
import { ledgerCommands } from '../database/ledger.ts';
import { systemClock } from '../lib/clock.ts';
import { databaseFile } from '../lib/secret-key.ts';
import { openScratch } from './backup/scratch.ts';

export type MoveParts = Readonly<{
  config: Pick<Config, 'dataDir' | 'databaseUrl'>;
  /** The URL of a PostgreSQL database; null for SQLite's file. */
  to: string | null;
  isRehearsal: boolean;
  onProgress: (progress: TableProgress) => void;
}>;

export type Moved = Readonly<{
  from: string;
  to: string;
  tables: readonly (TableDigest & Readonly<{ table: string }>)[];
  ledgerEntries: number;
  seconds: number;
  /** Differences between the two databases, and faults of the ledger. Unless it is empty, the source stays in use. */
  problems: readonly string[];
}>;

/**
 * Moves everything, or continues an interrupted move.
 * @throws Fault permanent `already_running`, `database_in_use`, `target_not_empty`, `database_moved`,
 * `move_unfinished`, `no_installation`, `database_url_wrong`; transient `storage_unavailable`; see `openSqlite` and
 * `preparePostgres`
 */
export async function moveDatabase(parts: MoveParts): Promise<Moved> {
  const { config, isRehearsal } = parts;
  const source = await openSource(parts);
  let release = () => {};
  try {
    if (!isRehearsal) {
      release = takeInstanceLock(config.dataDir);
      await source.refuseOthers();
    }
    await source.begin(!isRehearsal, listTables());
    return await withTarget(parts, (target) => moveInto(source, target, parts));
  } finally {
    await source.close();
    release();
  }
}

/** The target of a move: a connection for the rows, and one for the repositories. */
type Target = Readonly<{ end: End; db: Db }>;

/** @throws Fault permanent `no_installation` */
async function openSource({ config, to }: MoveParts): Promise<End> {
  const { dataDir, databaseUrl } = config;
  const file = databaseFile(dataDir);
  if (to !== null && existsSync(file)) return openFile(file);
  if (to === null && databaseUrl !== null) return openServer(databaseUrl);
  throw permanent(
    'no_installation',
    to === null
      ? 'no PostgreSQL database is configured: set QUAYSIDE_DATABASE_URL to the one to move from'
      : `there is no ${file} to move: check QUAYSIDE_DATA_DIR`,
  );
}

/**
 * Makes the target, or finds that of an interrupted move, and gives it to `work`. Removes the target of a rehearsal.
 */
async function withTarget<T>({ config, to, isRehearsal }: MoveParts, work: (target: Target) => Promise<T>): Promise<T> {
  const { dataDir } = config;
  if (to !== null) {
    const onServer = async (url: string): Promise<T> => {
      await preparePostgres(url);
      return work({ end: await openServer(url), db: openPostgres(url, {}) });
    };
    return isRehearsal ? withScratchSchema(to, onServer) : onServer(to);
  }
  const scratch = isRehearsal ? openScratch(dataDir) : null;
  try {
    const file = scratch ? join(scratch.folder, 'quayside.db') : databaseFile(dataDir);
    migrate({ file, backupDir: join(dataDir, 'backups') });
    return await work({
      end: openFile(file),
      db: openSqlite({ file }),
    });
  } finally {
    scratch?.remove();
  }
}

async function moveInto(source: End, { end, db }: Target, { isRehearsal, onProgress }: MoveParts): Promise<Moved> {
  const startedMs = systemClock.nowMs();
  try {
    await beginMove(source, end, startedMs);
    const tables: Moved['tables'][number][] = [];
    const problems: string[] = [];
    for (const table of listTables()) {
      await copyTable(source, end, table, onProgress);
      const [left, arrived] = [await digestTable(source, table), await digestTable(end, table)];
      tables.push({ table: table.name, ...left });
      if (left.rows !== arrived.rows || left.sha256 !== arrived.sha256)
        problems.push(
          `${table.name} differs: ${left.rows} rows of SHA-256 ${left.sha256} left, ${arrived.rows} of ${arrived.sha256} arrived`,
        );
    }
    const ledger = await ledgerCommands(db).verify();
    problems.push(...ledger.problems.map((problem) => `the ledger does not add up: ${problem}`));
    const endedMs = systemClock.nowMs();
    if (problems.length === 0 && !isRehearsal) await endMove(source, end, endedMs);
    const ends = { from: source.name, to: end.name };
    return { ...ends, tables, ledgerEntries: ledger.entries, seconds: (endedMs - startedMs) / 1000, problems };
  } finally {
    db.close();
    await end.close();
  }
}
