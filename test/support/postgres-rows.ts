/**
 * Copies all rows of a PostgreSQL database into a SQLite file with the same tables, so that both are looked at with
 * the same eyes. A value that one of them would store otherwise fails here: SQLite's tables are strict.
 */
import Sqlite from 'better-sqlite3';
import type { Pool } from 'pg';

/** @param file has the tables; its rows are replaced */
export async function copyRows(pool: Pool, file: string): Promise<void> {
  const client = new Sqlite(file);
  try {
    client.pragma('foreign_keys = OFF');
    client.pragma('synchronous = OFF');
    client.exec('BEGIN');
    const triggers = client.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all() as string[];
    for (const name of triggers) client.exec(`DROP TRIGGER ${name}`);
    const named = client.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    for (const table of named.pluck().all() as string[]) {
      const { rows, fields } = await pool.query({ text: `SELECT * FROM ${table}`, rowMode: 'array' });
      client.exec(`DELETE FROM ${table}`);
      if (rows.length === 0) continue;
      const columns = fields.map(({ name }) => name);
      const insert = client.prepare(`INSERT INTO ${table} (${columns}) VALUES (${columns.map(() => '?')})`);
      for (const row of rows) insert.run(...(row as unknown[]));
    }
    client.exec('COMMIT');
  } finally {
    client.close();
  }
}
