/**
 * Statements on whole rows, chosen by columns. Each is compiled at its first use, and kept.
 */
import { and, eq, getTableColumns, getTableName, type SQL } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { invariant } from '../../core/fault.ts';
import type { Client } from './client.ts';
import type { Db } from './open.ts';

/** Returns a function that calls `make` once for each database and keeps the result. */
export function perDatabase<D extends Db, Made>(make: (db: D) => Made): (db: D) => Made {
  const known = new WeakMap<D, Made>();
  return (db) => {
    const made = known.get(db) ?? make(db);
    known.set(db, made);
    return made;
  };
}

/** Returns a query that drizzle builds once, at its first run. */
export function builtOnce<Prepared>(query: Readonly<{ prepare(): Prepared }>): () => Prepared {
  let built: Prepared | undefined;
  return () => (built ??= query.prepare());
}

type RowOf<T extends SQLiteTable> = T['$inferSelect'];
/** Values of some columns that select rows. */
type Key<T extends SQLiteTable> = Readonly<Partial<RowOf<T>>>;
/** New values of columns; undefined leaves one as it is. */
type Change<T extends SQLiteTable> = Readonly<{ [Name in keyof RowOf<T>]?: RowOf<T>[Name] | undefined }>;
/** Values by the names that a statement has for them: text, numbers and bytes. */
type Named = Readonly<Record<string, string | number | Uint8Array | null>>;
type On = Readonly<{ client: Client }>;
type Cells = readonly unknown[];

/** A table, and its columns with their names in SQL. */
type Shape = Readonly<{
  name: string;
  columns: readonly Readonly<{ key: string; name: string; column: SQLiteColumn }>[];
  select: string;
}>;

const shapes = new WeakMap<SQLiteTable, Shape>();

function shapeOf(table: SQLiteTable): Shape {
  const known = shapes.get(table);
  if (known) return known;
  const columns = Object.entries<SQLiteColumn>(getTableColumns(table)).map(([key, column]) => {
    const name = `"${key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}"`;
    return { key, name, column };
  });
  const name = `"${getTableName(table)}"`;
  const shape = { name, columns, select: `SELECT ${columns.map((one) => one.name).join(', ')} FROM ${name}` };
  shapes.set(table, shape);
  return shape;
}

const toCell = (column: SQLiteColumn, value: unknown): unknown =>
  value === null ? null : column.mapToDriverValue(value);

/** Returns `name = ?` for each column, and the values as they are stored. */
function equalities({ columns }: Shape, values: Readonly<Record<string, unknown>>) {
  const own = columns.filter(({ key }) => values[key] !== undefined);
  const texts = own.map(({ name }) => `${name} = ?`);
  return { texts, cells: own.map(({ key, column }) => toCell(column, values[key])) };
}

function keyOf(shape: Shape, key: Readonly<Record<string, unknown>>) {
  const { texts, cells } = equalities(shape, key);
  const names = Object.keys(key);
  // No row is equal to NULL.
  const areGiven = names.length > 0 && texts.length === names.length && !cells.includes(null);
  invariant(areGiven, `${names} are columns of ${shape.name} with values`);
  return { where: `WHERE ${texts.join(' AND ')}`, cells };
}

function toRow<T extends SQLiteTable>({ columns }: Shape, cells: Cells): RowOf<T> {
  const row: Record<string, unknown> = {};
  for (const [at, { key, column }] of columns.entries())
    row[key] = cells[at] === null ? null : column.mapFromDriverValue(cells[at]);
  return row as RowOf<T>;
}

/** Returns the statement that reads a table's rows, and its values. */
function selection<T extends SQLiteTable>(shape: Shape, chosen: Key<T> | string, values: Named) {
  if (typeof chosen === 'string') return { text: `${shape.select} ${chosen}`, cells: [values] };
  const { where, cells } = keyOf(shape, chosen);
  return { text: `${shape.select} ${where}`, cells };
}

/**
 * Returns the first row that `findRows` would return.
 * @param chosen values of columns; or the SQL after the table's name, with a `:name` for each of `values`
 */
export async function findRow<T extends SQLiteTable>(
  { client }: On,
  table: T,
  chosen: Key<T> | string,
  values: Named = {},
): Promise<RowOf<T> | undefined> {
  const shape = shapeOf(table);
  const { text, cells } = selection(shape, chosen, values);
  const found = await client.lists(text).get(...cells);
  return found && toRow<T>(shape, found);
}

/** Returns all rows that have these values, or that the SQL selects; see `findRow`. */
export async function findRows<T extends SQLiteTable>(
  { client }: On,
  table: T,
  chosen: Key<T> | string,
  values: Named = {},
): Promise<RowOf<T>[]> {
  const shape = shapeOf(table);
  const { text, cells } = selection(shape, chosen, values);
  return (await client.lists(text).all(...cells)).map((found) => toRow<T>(shape, found));
}

/** Returns drizzle's condition that columns have these values. Undefined ones are ignored. */
export const haveValues = (table: SQLiteTable, values: Readonly<Record<string, unknown>>): SQL | undefined =>
  and(
    ...Object.entries<SQLiteColumn>(getTableColumns(table)).map(([name, column]) =>
      values[name] === undefined ? undefined : eq(column, values[name]),
    ),
  );

/** Inserts a whole row. */
export async function insertRow<T extends SQLiteTable>({ client }: On, table: T, row: Readonly<RowOf<T>>) {
  const { name, columns } = shapeOf(table);
  const given: Readonly<Record<string, unknown>> = row;
  const text = `INSERT INTO ${name} (${columns.map((one) => one.name)}) VALUES (${columns.map(() => '?')})`;
  await client.prepare(text).run(...columns.map(({ key, column }) => toCell(column, given[key])));
}

/** Changes the rows that have the values of `key`. @returns their number */
export async function changeRows<T extends SQLiteTable>(
  { client }: On,
  table: T,
  key: Key<T>,
  values: Change<T>,
): Promise<number> {
  const shape = shapeOf(table);
  const { where, cells } = keyOf(shape, key);
  const set = equalities(shape, values);
  const statement = client.prepare(`UPDATE ${shape.name} SET ${set.texts.join(', ')} ${where}`);
  return (await statement.run(...set.cells, ...cells)).changes;
}

/** Deletes the rows with these values. @returns their number */
export async function deleteRows<T extends SQLiteTable>({ client }: On, table: T, key: Key<T>): Promise<number> {
  const shape = shapeOf(table);
  const { where, cells } = keyOf(shape, key);
  return (await client.prepare(`DELETE FROM ${shape.name} ${where}`).run(...cells)).changes;
}
