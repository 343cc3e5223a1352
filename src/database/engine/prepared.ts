/**
 * Statements that are compiled once, at their first use: a process uses few of them, and the whole port would take a
 * tenth of its start.
 */
import { and, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteInsertValue, SQLiteTable, SQLiteUpdateSetSource } from 'drizzle-orm/sqlite-core';
import { type Changes, noteText, type Statement } from './client.ts';
import type { Db } from './open.ts';

/** Returns `make`, which runs once for each database: its functions are wanted in many places. */
export function perDatabase<D extends Db, Made>(make: (db: D) => Made): (db: D) => Made {
  const known = new WeakMap<D, Made>();
  return (db) => {
    const made = known.get(db) ?? make(db);
    known.set(db, made);
    return made;
  };
}

type Prepared = Readonly<{
  get(values?: Record<string, unknown>): Promise<unknown>;
  all(values?: Record<string, unknown>): Promise<unknown>;
  run(values?: Record<string, unknown>): Promise<Changes>;
}>;

/** Returns `query` as a statement that is built when it first runs. */
export function atFirstUse<P extends Prepared>(query: {
  prepare(): P;
  toSQL(): Readonly<{ sql: string }>;
}): Pick<P, 'get' | 'all' | 'run'> {
  noteText(() => query.toSQL().sql);
  let prepared: P | undefined;
  const statement = (): P => (prepared ??= query.prepare());
  const run: Prepared = {
    get: (values) => statement().get(values),
    all: (values) => statement().all(values),
    run: (values) => statement().run(values),
  };
  return run as Pick<P, 'get' | 'all' | 'run'>;
}

/** Prepares an INSERT of whole rows. */
export function preparedInsert<T extends SQLiteTable>(
  { orm }: Pick<Db, 'orm'>,
  table: T,
): (row: T['$inferSelect']) => Promise<Changes> {
  const names = Object.keys(getTableColumns(table));
  const values = Object.fromEntries(names.map((name) => [name, sql.placeholder(name)]));
  const statement = atFirstUse(orm.insert(table).values(values as SQLiteInsertValue<T>));
  return (row) => statement.run(row);
}

/** Returns SET expressions for an UPDATE whose values are passed at each run, under the columns' names. */
export function laterValues<T extends SQLiteTable, Name extends keyof T['$inferSelect'] & string>(
  table: T,
  names: readonly Name[],
): SQLiteUpdateSetSource<T> {
  const columns: Record<string, SQLiteColumn> = getTableColumns(table);
  return Object.fromEntries(
    names.map((name) => [name, sql`${sql.param(sql.placeholder(name), columns[name])}`]),
  ) as SQLiteUpdateSetSource<T>;
}

/** Returns the condition that columns have the values that are passed at each run, under the columns' names. */
export function given<T extends SQLiteTable>(table: T, ...names: readonly (keyof T['$inferSelect'] & string)[]): SQL {
  const columns: Record<string, SQLiteColumn> = getTableColumns(table);
  return and(
    ...names.map((name) => {
      const column = columns[name] as SQLiteColumn;
      return eq(column, sql`${sql.param(sql.placeholder(name), column)}`);
    }),
  ) as SQL;
}

type RowOf<T extends SQLiteTable> = T['$inferSelect'];

/** Values by the names that a statement has for them: text, numbers and bytes. */
type Named = Readonly<Record<string, string | number | Uint8Array | null>>;

/**
 * Returns a statement that selects whole rows.
 * @param rest its SQL after the table's name, with a `:name` for each value that is passed at each run
 */
export function selectRows<T extends SQLiteTable>(
  { client, orm }: Pick<Db, 'client' | 'orm'>,
  table: T,
  rest: string,
): Readonly<{ get(values?: Named): Promise<RowOf<T> | undefined>; all(values?: Named): Promise<RowOf<T>[]> }> {
  const columns = Object.entries<SQLiteColumn>(getTableColumns(table));
  const text = (): string => {
    const { sql: select } = orm
      .select()
      .from(table as SQLiteTable)
      .toSQL();
    return `${select} ${rest}`;
  };
  const toRow = (cells: readonly unknown[]): RowOf<T> =>
    Object.fromEntries(
      columns.map(([name, column], at) => [name, cells[at] === null ? null : column.mapFromDriverValue(cells[at])]),
    ) as RowOf<T>;
  noteText(text);
  let prepared: Statement | undefined;
  const statement = (): Statement => (prepared ??= client.prepare(text()).raw());
  return {
    async get(values = {}) {
      const cells = (await statement().get(values)) as readonly unknown[] | undefined;
      return cells && toRow(cells);
    },
    all: async (values = {}) => ((await statement().all(values)) as (readonly unknown[])[]).map(toRow),
  };
}

/** Returns a statement that selects the whole rows whose columns have the values that are passed at each run. */
export function findBy<T extends SQLiteTable, Name extends keyof RowOf<T> & string>(
  { orm }: Pick<Db, 'orm'>,
  table: T,
  ...names: readonly Name[]
): Readonly<{
  get(key: Readonly<Pick<RowOf<T>, Name>>): Promise<RowOf<T> | undefined>;
  all(key: Readonly<Pick<RowOf<T>, Name>>): Promise<RowOf<T>[]>;
}> {
  const statement = atFirstUse(
    orm
      .select()
      .from(table as SQLiteTable)
      .where(given(table, ...names)),
  );
  return { get: (key) => statement.get(key), all: async (key) => (await statement.all(key)) as RowOf<T>[] };
}

/** Returns a statement that sets columns of the rows that `by` names; all values are passed at each run. */
export function changeBy<
  T extends SQLiteTable,
  Name extends keyof RowOf<T> & string,
  By extends keyof RowOf<T> & string,
>(
  { orm }: Pick<Db, 'orm'>,
  table: T,
  names: readonly Name[],
  ...by: readonly By[]
): (values: Readonly<Pick<RowOf<T>, Name | By>>) => Promise<Changes> {
  const statement = atFirstUse(
    orm
      .update(table)
      .set(laterValues(table, names))
      .where(given(table, ...by)),
  );
  return (values) => statement.run(values);
}
