/**
 * Statements that are compiled once, when the database is opened.
 * @module
 */
import type Sqlite from 'better-sqlite3';
import { getTableColumns, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteInsertValue, SQLiteTable, SQLiteUpdateSetSource } from 'drizzle-orm/sqlite-core';
import type { Db } from './open.ts';

/** A whole row without the columns that SQLite fills in. */
type Row<T extends SQLiteTable, Generated extends keyof T['$inferSelect']> = Omit<T['$inferSelect'], Generated>;

/** Prepares an INSERT of whole rows; `generated` lists the columns that SQLite fills in. */
export function preparedInsert<T extends SQLiteTable, Generated extends keyof T['$inferSelect'] & string = never>(
  { orm }: Pick<Db, 'orm'>,
  table: T,
  generated: readonly Generated[] = [],
): (row: Row<T, Generated>) => Sqlite.RunResult {
  const names = Object.keys(getTableColumns(table)).filter((name) => !(generated as readonly string[]).includes(name));
  const values = Object.fromEntries(names.map((name) => [name, sql.placeholder(name)]));
  const statement = orm
    .insert(table)
    .values(values as SQLiteInsertValue<T>)
    .prepare();
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
