/**
 * Inspects a database file, also one that cannot be opened as our database. Only copies are written.
 */
import { existsSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { permanent } from '../../core/fault.ts';
import { connect, guarded } from './connection.ts';
import { versionOf } from './migrate.ts';

const BUSY_TIMEOUT_MS = 30_000;
/** The largest number of complaints of each kind. */
const COMPLAINTS_MAX = 20;

const openOwn = (file: string): Sqlite.Database => connect(file, BUSY_TIMEOUT_MS, true);
/** Opens a file, which may be the signer's, with the settings that it has. */
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
 * Copies the database as it is at this moment into `to`, which must not exist or be empty. The copy is one read
 * transaction, so writers go on meanwhile. SQLite's backup interface would begin again at each write of another
 * process, and never end on a busy installation.
 * @throws Fault transient `storage_unavailable`
 */
export function copyDatabase(file: string, to: string): void {
  lookInto(file, (client) => client.prepare('VACUUM INTO ?').run(to));
}

/**
 * Returns the time of the last report of an indexer in a file, or null before the first. Each reports every few
 * seconds.
 * @throws Fault `storage_unavailable`, `storage_damaged`
 */
export const newestReportMs = (file: string): number | null =>
  lookInto(file, (client) => client.prepare('SELECT max(updated_at_ms) FROM networks').pluck().get() as number | null);

/**
 * Checks a file by SQLite's own means. Both lists are empty if it is sound. The whole file is read.
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
 * Returns whether this file was ever used for live networks: followed, offered or paid on, or called with a live key.
 * Returns false if there is no file yet.
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

/** Refuses a sandbox on live data. Play money could be taken for real, and live sessions would not be followed. */
export const liveFault = (place: string, other: string) =>
  permanent(
    'live_data_folder',
    `${place} has the data of live networks, but only simulated networks are configured. Set QUAYSIDE_CONFIG to your ` +
      `settings file, or ${other} for the sandbox, and run \`npm start\` again`,
  );
