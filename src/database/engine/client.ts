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

let noted: Set<string> | null = null;

/** Remembers the text of a statement for `textsPrepared`. */
export const noteText = (textOf: () => string): void => void noted?.add(textOf());

/** Returns the texts of the statements that are prepared while `open` runs: for a look at every plan. */
export function textsPrepared(open: () => void): readonly string[] {
  const texts = new Set<string>();
  noted = texts;
  try {
    open();
  } finally {
    noted = null;
  }
  return [...texts];
}

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
