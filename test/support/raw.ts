/** A database file of SQLite, read and changed past the program's own commands. */
import Sqlite from 'better-sqlite3';
import * as assert from 'uvu/assert';

export function raw<T>(file: string, use: (client: Sqlite.Database) => T): T {
  const client = new Sqlite(file);
  try {
    return use(client);
  } finally {
    client.close();
  }
}

/** Runs statements, without regard to what refers to what. */
export const rawly = (file: string, statements: string): void =>
  raw(file, (client) => {
    client.pragma('foreign_keys = OFF');
    client.exec(statements);
  });

/** Changes one row by a statement. */
export const alterRow = (file: string, statement: string, ...values: readonly string[]): void =>
  raw(file, (client) => assert.is(client.prepare(statement).run(...values).changes, 1, statement));
