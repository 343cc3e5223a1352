/**
 * Whether a file belongs to an installation that takes real money. Works on files of any version of the schema.
 */

import { existsSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { guarded } from './storage-fault.ts';

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
  return guarded(file, () => {
    const client = new Sqlite(file, { fileMustExist: true });
    try {
      const hasColumn = client.prepare('SELECT 1 FROM pragma_table_info(?) WHERE name = ?');
      return signs.some(
        ([table, column, isLive]) =>
          hasColumn.get(table, column) !== undefined &&
          client.prepare(`SELECT 1 FROM ${table} WHERE ${isLive} LIMIT 1`).get() !== undefined,
      );
    } finally {
      client.close();
    }
  });
}
