/**
 * Statements in SQL for either engine, and drizzle's builders on top of them.
 */
import { BaseSQLiteDatabase, SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core';
import { SQLiteRemoteSession } from 'drizzle-orm/sqlite-proxy';

/** The changes of one statement. */
export type Changes = Readonly<{ changes: number }>;

/** A statement in SQL, compiled at its first run. `Row` is the form in which it returns a row. */
export type Statement<Row = unknown> = Readonly<{
  get(...values: readonly unknown[]): Promise<Row | undefined>;
  all(...values: readonly unknown[]): Promise<Row[]>;
  run(...values: readonly unknown[]): Promise<Changes>;
  /** Returns rows one by one, within a body only. */
  iterate(...values: readonly unknown[]): AsyncIterable<Row>;
}>;

/** Statements for the bodies of `read` and `write`. */
export type Client = Readonly<{
  /** Returns rows as objects, with a member for each column. */
  prepare<Row>(text: string): Statement<Row>;
  /** Returns the first column of each row. */
  values<Value>(text: string): Statement<Value>;
  /** Returns rows as lists of their columns. */
  lists(text: string): Statement<readonly unknown[]>;
}>;

/** Compiled statements that are kept. The one that has not run for longest leaves first. */
const KEPT_MAX = 1_000;

let noted: Set<string> | null = null;

/** Adds the text of each new statement to `texts` from now on, so that a test can check every query plan. */
export function noteTexts(texts: Set<string>): void {
  noted = texts;
}

/** Returns statements that are compiled once for each text, and kept. */
export function keepStatements(compile: (text: string, rows: keyof Client) => Statement): Client {
  const keep = (rows: keyof Client) => {
    const kept = new Map<string, Statement>();
    return <Row>(text: string): Statement<Row> => {
      const known = kept.get(text);
      const statement = known ?? compile(text, rows);
      if (!known) noted?.add(text);
      kept.delete(text);
      const [oldest] = kept.keys();
      if (oldest !== undefined && kept.size >= KEPT_MAX) kept.delete(oldest);
      kept.set(text, statement);
      return statement as Statement<Row>;
    };
  };
  return { prepare: keep('prepare'), values: keep('values'), lists: keep('lists') };
}

export type Orm = BaseSQLiteDatabase<'async', Changes, Record<string, never>>;

/** Returns drizzle's builders. `client` runs their statements. */
export function createOrm(client: Client): Orm {
  const dialect = new SQLiteAsyncDialect({ casing: 'snake_case' });
  const session = new SQLiteRemoteSession(
    async (text, values, method) => {
      const statement = client.lists(text);
      if (method === 'run') return { ...(await statement.run(...values)), rows: [] };
      const rows = method === 'get' ? await statement.get(...values) : await statement.all(...values);
      return { rows: rows as unknown[] };
    },
    dialect,
    undefined,
    undefined,
  );
  // Errors stay as they are. Drizzle would wrap each in one whose text contains the statement's values.
  const queryWithCache = (_text: string, _values: unknown, ask: () => Promise<unknown>) => ask();
  const prepareQuery = session.prepareQuery.bind(session);
  Object.assign(session, {
    prepareQuery: (...query: Parameters<typeof prepareQuery>) =>
      Object.assign(prepareQuery(...query), { queryWithCache }),
  });
  return new BaseSQLiteDatabase('async', dialect, session, undefined) as unknown as Orm;
}
