/**
 * Statements that drizzle builds. `Client` runs them, through the door that drizzle has for drivers which it does not
 * know.
 */
import { BaseSQLiteDatabase, SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core';
import { SQLiteRemoteSession } from 'drizzle-orm/sqlite-proxy';
import type { Changes, Client, Statement } from './client.ts';

export type Orm = BaseSQLiteDatabase<'async', Changes, Record<string, never>>;

/** Statements that are kept compiled: those that ran last. */
const COMPILED_MAX = 1_000;

/** Returns drizzle's builders, whose statements `client` runs. */
export function createOrm(client: Client): Orm {
  const compiled = new Map<string, Statement>();
  const statementOf = (text: string): Statement => {
    const statement = compiled.get(text) ?? client.prepare(text).raw();
    compiled.delete(text);
    const [oldest] = compiled.keys();
    if (oldest !== undefined && compiled.size >= COMPILED_MAX) compiled.delete(oldest);
    compiled.set(text, statement);
    return statement;
  };
  const dialect = new SQLiteAsyncDialect({ casing: 'snake_case' });
  const session = new SQLiteRemoteSession(
    async (text, values, method) => {
      const statement = statementOf(text);
      if (method === 'run') return { ...(await statement.run(...values)), rows: [] };
      const rows = method === 'get' ? await statement.get(...values) : await statement.all(...values);
      return { rows: rows as unknown[] };
    },
    dialect,
    undefined,
    undefined,
  );
  // Errors stay as they are: drizzle would wrap each in one that has the values of the statement in its text.
  const queryWithCache = (_text: string, _values: unknown, ask: () => Promise<unknown>) => ask();
  const prepareQuery = session.prepareQuery.bind(session);
  Object.assign(session, {
    prepareQuery: (...query: Parameters<typeof prepareQuery>) =>
      Object.assign(prepareQuery(...query), { queryWithCache }),
  });
  return new BaseSQLiteDatabase('async', dialect, session, undefined) as unknown as Orm;
}
