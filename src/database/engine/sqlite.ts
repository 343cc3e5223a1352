/**
 * Statements on SQLite: each answers at once.
 */
import type Sqlite from 'better-sqlite3';
import { type Client, noteText, type Statement } from './client.ts';
import type { Turns } from './turns.ts';

/** Returns statements that run on a connection, each within the body of a transaction. */
export function createSqliteClient(raw: Sqlite.Database, turns: Turns): Client {
  const statementOf = (text: string, rows: 'objects' | 'lists' | 'values'): Statement => {
    let prepared: Sqlite.Statement | undefined;
    const compile = (): Sqlite.Statement => {
      const statement = raw.prepare(text);
      if (rows === 'values') statement.pluck();
      else if (rows === 'lists' && statement.reader) statement.raw();
      return statement;
    };
    const own = (): Sqlite.Statement => {
      turns.checkInside();
      prepared ??= compile();
      return prepared;
    };
    return {
      get: async (...values) => own().get(...values),
      all: async (...values) => own().all(...values),
      run: async (...values) => own().run(...values),
      async *iterate(...values) {
        yield* own().iterate(...values);
      },
      pluck: () => statementOf(text, 'values'),
      raw: () => statementOf(text, 'lists'),
    };
  };
  return {
    prepare(text) {
      noteText(() => text);
      return statementOf(text, 'objects');
    },
  };
}
