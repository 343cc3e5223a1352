/**
 * A copy of a database that is in use, and what it holds.
 */
import { connect } from './connection.ts';
import { versionOf } from './migrate.ts';
import { guarded } from './storage-fault.ts';

const BUSY_TIMEOUT_MS = 30_000;

type SnapshotContent = Readonly<{
  schemaVersion: number;
  /** Rows of each table. */
  counts: Readonly<Record<string, number>>;
}>;

/**
 * Copies the database as it is at this moment into `to`, which must not exist or be empty. Writers go on meanwhile: the
 * copy is one read transaction. (SQLite's backup interface begins again at each write of another process, so that it
 * would not end on a busy installation.)
 * @throws Fault transient `storage_unavailable`
 */
export function copyDatabase(file: string, to: string): void {
  guarded(file, () => {
    const client = connect(file, BUSY_TIMEOUT_MS, true);
    try {
      client.prepare('VACUUM INTO ?').run(to);
    } finally {
      client.close();
    }
  });
}

/**
 * Returns the content of a copy of any version of the schema.
 * @throws Fault `storage_unavailable`, `storage_damaged`
 */
export function describeSnapshot(file: string): SnapshotContent {
  return guarded(file, () => {
    const client = connect(file, BUSY_TIMEOUT_MS, true);
    try {
      const tables = client
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
        .pluck()
        .all() as string[];
      const count = (table: string) => Number(client.prepare(`SELECT count(*) FROM "${table}"`).pluck().get());
      const counts = Object.fromEntries(tables.map((table) => [table, count(table)]));
      return { schemaVersion: versionOf(client), counts };
    } finally {
      client.close();
    }
  });
}

/**
 * Returns when an indexer last reported to a file, which each does every few seconds; null before the first time.
 * @throws Fault `storage_unavailable`, `storage_damaged`
 */
export function newestReportMs(file: string): number | null {
  return guarded(file, () => {
    const client = connect(file, BUSY_TIMEOUT_MS, true);
    try {
      return client.prepare('SELECT max(updated_at_ms) FROM networks').pluck().get() as number | null;
    } finally {
      client.close();
    }
  });
}
