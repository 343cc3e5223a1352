/**
 * Whether a file belongs to an installation that takes real money. Works on files of any version of the schema.
 * @module
 */
import { existsSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { guarded } from './storage-fault.ts';

/**
 * Returns whether a live network was ever followed into this file; false if there is no file yet.
 * @throws Fault transient `storage_unavailable`
 */
export function hasLiveNetworks(file: string): boolean {
  if (!existsSync(file)) return false;
  return guarded(file, () => {
    const client = new Sqlite(file, { fileMustExist: true });
    try {
      const hasTable = client.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'networks'").get();
      return (
        hasTable !== undefined && client.prepare("SELECT 1 FROM networks WHERE key GLOB 'live:*'").get() !== undefined
      );
    } finally {
      client.close();
    }
  });
}
