/**
 * A real SQLite store in a folder of its own, removed at the end.
 * @module
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../src/database/sqlite/migrate.ts';
import { openSqliteStore } from '../../src/database/sqlite/sqlite-database.ts';
import type { Store } from '../../src/database/database.ts';

export type TempStore = Readonly<{
  store: Store;
  file: string;
  /** Another connection to the same file, as another process has one. Whoever opens it closes it. */
  connect(busyTimeoutMs?: number): Store;
  close(): void;
}>;

/** A connection to such a store's file, for a program of its own. */
export const connectTo = (file: string, busyTimeoutMs = 5000, outageWaitS = 600): Store =>
  openSqliteStore({ file, secretKey: new Uint8Array(32).fill(7), busyTimeoutMs, bytesMax: null, outageWaitS });

export function openTempStore(outageWaitS = 600): TempStore {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-store-'));
  const file = join(folder, 'quayside.db');
  migrate({ file, backupDir: join(folder, 'backups') });
  const connect = (busyTimeoutMs?: number) => connectTo(file, busyTimeoutMs, outageWaitS);
  const store = connect();
  return {
    store,
    file,
    connect,
    close() {
      store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
