/**
 * Statements in SQL, whichever engine runs them; and those that drizzle builds, through its door for drivers that it
 * does not know.
 */
import { BaseSQLiteDatabase, SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core';
import { SQLiteRemoteSession } from 'drizzle-orm/sqlite-proxy';

/** The changes of one statement. */
export type Changes = Readonly<{ changes: number }>;

/** A statement in SQL; it is compiled when it first runs. */
export type Statement = Readonly<{
  get(...values: readonly unknown[]): Promise<unknown>;
  all(...values: readonly unknown[]): Promise<unknown[]>;
  run(...values: readonly unknown[]): Promise<Changes>;
  /** Returns rows one by one; within a body only. */
  iterate(...values: readonly unknown[]): AsyncIterable<unknown>;
  /** Returns the same statement, whose rows are their first column. */
  pluck(): Statement;
  /** Returns the same statement, whose rows are lists of their columns. */
  raw(): Statement;
}>;

/** Statements for the bodies of `read` and `write`. */
export type Client = Readonly<{ prepare(text: string): Statement }>;

/** Statements that are kept compiled: those that ran last. */
const KEPT_MAX = 1_000;

let noted: Set<string> | null = null;

/** Adds the text of each new statement to `texts` from now on, for a look at every plan. */
export function noteTexts(texts: Set<string>): void {
  noted = texts;
}

/** Returns statements that `compile` makes once for each text, and again for one that has not run for long. */
export function keepStatements(compile: Client['prepare']): Client {
  const kept = new Map<string, Statement>();
  return {
    prepare(text) {
      const known = kept.get(text);
      const statement = known ?? compile(text);
      if (!known) noted?.add(text);
      kept.delete(text);
      const [oldest] = kept.keys();
      if (oldest !== undefined && kept.size >= KEPT_MAX) kept.delete(oldest);
      kept.set(text, statement);
      return statement;
    },
  };
}

export type Orm = BaseSQLiteDatabase<'async', Changes, Record<string, never>>;

/** Returns drizzle's builders, whose statements `client` runs. */
export function createOrm(client: Client): Orm {
  const dialect = new SQLiteAsyncDialect({ casing: 'snake_case' });
  const session = new SQLiteRemoteSession(
    async (text, values, method) => {
      const statement = client.prepare(text).raw();
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
