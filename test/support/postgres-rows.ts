/**
 * Copies all rows of a PostgreSQL database into a SQLite file with the same tables, so that both are looked at with
 * the same eyes. A value that one of them would store otherwise fails here: SQLite's tables are strict.
 */
import Sqlite from 'better-sqlite3';
import { openPool } from '../../src/database/engine/postgres-server.ts';

/** @param file has the tables; its rows are replaced */
export async function copyRows(url: string, file: string): Promise<void> {
  const pool = openPool(url, { max: 1 });
  const client = new Sqlite(file);
  try {
    client.pragma('foreign_keys = OFF');
    const triggers = client.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all() as string[];
    for (const name of triggers) client.exec(`DROP TRIGGER ${name}`);
    const named = client.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    for (const table of named.pluck().all() as string[]) {
      const { rows, fields } = await pool.query({ text: `SELECT * FROM ${table}`, rowMode: 'array' });
      const columns = fields.map(({ name }) => name);
      const insert = client.prepare(`INSERT INTO ${table} (${columns}) VALUES (${columns.map(() => '?')})`);
      client.transaction(() => {
        client.exec(`DELETE FROM ${table}`);
        for (const row of rows) insert.run(...(row as unknown[]));
      })();
    }
  } finally {
    client.close();
    await pool.end();
  }
}
