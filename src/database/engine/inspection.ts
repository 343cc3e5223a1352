/**
 * Looks at a file of the database from outside, also at one that cannot be opened as a database. Only a copy is
 * written.
 */
import { existsSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { permanent } from '../../core/fault.ts';
import { connect, guarded } from './connection.ts';
import { versionOf } from './migrate.ts';

const BUSY_TIMEOUT_MS = 30_000;
/** Complaints of each kind that are returned, at most. */
const COMPLAINTS_MAX = 20;

const openOwn = (file: string): Sqlite.Database => connect(file, BUSY_TIMEOUT_MS, true);
/** Opens a file that may be the signer's, and keeps its settings. */
const openAny = (file: string): Sqlite.Database => new Sqlite(file, { fileMustExist: true });

/** @throws Fault `storage_unavailable`, `storage_damaged` */
function lookInto<T>(file: string, look: (client: Sqlite.Database) => T, open = openOwn): T {
  return guarded(file, () => {
    const client = open(file);
    try {
      return look(client);
    } finally {
      client.close();
    }
  });
}

/**
 * Copies the database as it is at this moment into `to`, which must not exist or be empty. Writers go on meanwhile: the
 * copy is one read transaction. (SQLite's backup interface begins again at each write of another process, so that it
 * would not end on a busy installation.)
 * @throws Fault transient `storage_unavailable`
 */
export function copyDatabase(file: string, to: string): void {
  lookInto(file, (client) => client.prepare('VACUUM INTO ?').run(to));
}

/**
 * Returns when an indexer last reported to a file, which each does every few seconds; null before the first time.
 * @throws Fault `storage_unavailable`, `storage_damaged`
 */
export const newestReportMs = (file: string): number | null =>
  lookInto(file, (client) => client.prepare('SELECT max(updated_at_ms) FROM networks').pluck().get() as number | null);

/**
 * Checks whether SQLite finds a file whole: then both lists are empty. Reading it takes as long as its size needs.
 * @throws Fault `storage_unavailable`, `storage_damaged`
 */
export function checkIntegrity(file: string) {
  return lookInto(file, (client) => {
    const quick = client.pragma(`quick_check(${COMPLAINTS_MAX})`) as Readonly<{ quick_check: string }>[];
    const keys = client.pragma('foreign_key_check') as Readonly<{ table: string; rowid: number; parent: string }>[];
    return {
      pages: quick.map((row) => row.quick_check).filter((text) => text !== 'ok'),
      foreignKeys: keys
        .slice(0, COMPLAINTS_MAX)
        .map(({ table, rowid, parent }) => `${table} ${rowid} names no row of ${parent}`),
      version: versionOf(client),
    };
  });
}

// ── Files that may be missing, empty or the signer's ─────────────────────────────────────────────────────────────────

const hasColumn = (client: Sqlite.Database, table: string, column: string): boolean =>
  client.prepare('SELECT 1 FROM pragma_table_info(?) WHERE name = ?').get(table, column) !== undefined;

/** Columns that are filled on live networks only, by table, in the database or the signer's journal. */
const signs = [
  ['networks', 'key', "key GLOB 'live:*'"],
  ['pools', 'mode', "mode = 'live'"],
  ['keys', 'last_used_at_ms', "mode = 'live' AND last_used_at_ms IS NOT NULL"],
  ['intents', 'network', "network GLOB 'live:*'"],
] as const;

/**
 * Returns whether live networks were ever followed into this file, offered or paid on, or called for with a live key;
 * false if there is no file yet.
 * @throws Fault transient `storage_unavailable`
 */
export function hasLiveData(file: string): boolean {
  if (!existsSync(file)) return false;
  const look = (client: Sqlite.Database) =>
    signs.some(
      ([table, column, isLive]) =>
        hasColumn(client, table, column) &&
        client.prepare(`SELECT 1 FROM ${table} WHERE ${isLive} LIMIT 1`).get() !== undefined,
    );
  return lookInto(file, look, openAny);
}

/** Play money in a merchant's own database could be taken for real, and its sessions would not be followed. */
export const liveFault = (place: string, other: string) =>
  permanent(
    'live_data_folder',
    `${place} has the data of live networks, but only simulated networks are configured. Set QUAYSIDE_CONFIG to your ` +
      `settings file, or ${other} for the sandbox, and run \`npm start\` again`,
  );
