/**
 * Which networks an installation's database has followed. Works on files of any version of the schema.
 */

import { existsSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { guarded } from './storage-fault.ts';

/**
 * Returns the keys of the networks of which a block was read into this file; none if there is no file yet.
 * @throws Fault transient `storage_unavailable`
 */
export function followedNetworks(file: string): string[] {
  if (!existsSync(file)) return [];
  return guarded(file, () => {
    const client = new Sqlite(file, { fileMustExist: true });
    try {
      const hasTable = client.prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'networks'`).get();
      if (hasTable === undefined) return [];
      return client.prepare('SELECT key FROM networks WHERE tip_number IS NOT NULL').pluck().all() as string[];
    } finally {
      client.close();
    }
  });
}
