/**
 * Statements that drizzle builds. Drizzle makes the text and names the codec of each value and column; how values are
 * filled in and rows are read is worked out once for each statement, and `Client` runs it.
 */
import { Column, is, noopDecoder, Param, Placeholder, type Query, SQL } from 'drizzle-orm';
import {
  BaseSQLiteDatabase,
  type PreparedQueryConfig,
  type SelectedFieldsOrdered,
  SQLiteAsyncDialect,
  type SQLiteExecuteMethod,
  SQLitePreparedQuery,
  SQLiteSession,
} from 'drizzle-orm/sqlite-core';
import { invariant } from '../../core/fault.ts';
import type { Changes, Client, Statement } from './client.ts';

export type Orm = BaseSQLiteDatabase<'async', Changes, Record<string, never>>;

/** Statements that are kept compiled, of those whose text is built at each run. */
const COMPILED_MAX = 500;

/** Returns drizzle's builders, whose statements `client` runs. */
export function createOrm(client: Client): Orm {
  const compiled = new Map<string, Statement>();
  const statementOf = (text: string): Statement => {
    const known = compiled.get(text);
    if (known) return known;
    const statement = client.prepare(text).raw();
    const [oldest] = compiled.keys();
    if (oldest !== undefined && compiled.size >= COMPILED_MAX) compiled.delete(oldest);
    compiled.set(text, statement);
    return statement;
  };
  const dialect = new SQLiteAsyncDialect({ casing: 'snake_case' });
  return new BaseSQLiteDatabase('async', dialect, new BuilderSession(dialect, statementOf), undefined);
}

/** The place where drizzle's builders look for what runs their statements. */
class BuilderSession extends SQLiteSession<'async', Changes, Record<string, never>, Record<string, never>> {
  private readonly statementOf: (text: string) => Statement;

  constructor(dialect: SQLiteAsyncDialect, statementOf: (text: string) => Statement) {
    super(dialect);
    this.statementOf = statementOf;
  }

  prepareQuery(query: Query, fields: SelectedFieldsOrdered | undefined, method: SQLiteExecuteMethod) {
    return new BuiltStatement(query, fields ?? [], method, this.statementOf(query.sql));
  }

  transaction(): never {
    throw new Error('a transaction is a body of `read` or `write`');
  }
}

type Values = Readonly<Record<string, unknown>>;
type Built = PreparedQueryConfig & Readonly<{ type: 'async'; run: Changes }>;

class BuiltStatement extends SQLitePreparedQuery<Built> {
  private readonly fields: SelectedFieldsOrdered;
  private readonly statement: Statement;
  private readonly fillers: readonly Filler[];
  private readRow: RowReader | undefined;
  /** Set by drizzle: for each joined table, whether each row has one of its rows. */
  declare joinsNotNullableMap?: Readonly<Record<string, boolean>>;

  constructor(query: Query, fields: SelectedFieldsOrdered, method: SQLiteExecuteMethod, statement: Statement) {
    super('async', method, query);
    this.fields = fields;
    this.statement = statement;
    this.fillers = query.params.map(fillerOf);
  }

  async run(values: Values = {}): Promise<Changes> {
    return this.statement.run(...this.fill(values));
  }

  async get(values: Values = {}): Promise<unknown> {
    const cells = await this.statement.get(...this.fill(values));
    return cells === undefined ? undefined : this.reader()(cells as unknown[]);
  }

  async all(values: Values = {}): Promise<unknown[]> {
    const rows = (await this.statement.all(...this.fill(values))) as unknown[][];
    return rows.map(this.reader());
  }

  /** Returns rows as lists of cells, which `$count` reads. */
  async values(values: Values = {}): Promise<unknown[]> {
    return this.statement.all(...this.fill(values));
  }

  private fill(values: Values): unknown[] {
    return this.fillers.map((fill) => fill(values));
  }

  private reader(): RowReader {
    if (this.readRow) return this.readRow;
    const isInner = !Object.values(this.joinsNotNullableMap ?? {}).includes(false);
    invariant(isInner, 'rows of an outer join are not read here');
    this.readRow = rowReader(this.fields);
    return this.readRow;
  }
}

type Filler = (values: Values) => unknown;
type RowReader = (cells: readonly unknown[]) => Record<string, unknown>;

/** Returns a function that takes one parameter of a statement from the values of a run; null stays null. */
function fillerOf(param: unknown): Filler {
  if (is(param, Placeholder)) return (values) => given(values, param.name);
  if (!is(param, Param) || !is(param.value, Placeholder)) return () => param;
  const { encoder, value } = param;
  return (values) => {
    const plain = given(values, value.name);
    return plain === null ? null : encoder.mapToDriverValue(plain);
  };
}

function given(values: Values, name: string): unknown {
  invariant(name in values, `the value ${name} of a statement is passed at each run`);
  return values[name];
}

/** Returns a function that makes an object of a row's cells, with one more level where fields are grouped. */
function rowReader(fields: SelectedFieldsOrdered): RowReader {
  const readers = fields.map(({ path: [first = '', second], field }) => ({ first, second, read: readerOf(field) }));
  const groups = new Set(readers.flatMap(({ first, second }) => (second === undefined ? [] : [first])));
  return (cells) => {
    const row: Record<string, unknown> = {};
    for (const group of groups) row[group] = {};
    for (const [at, { first, second, read }] of readers.entries()) {
      const cell = cells[at];
      const value = cell === null || read === null ? cell : read(cell);
      if (second === undefined) row[first] = value;
      else (row[first] as Record<string, unknown>)[second] = value;
    }
    return row;
  };
}

/** Returns a function that reads a cell by the field's codec; null if the cell is the value. */
function readerOf(field: SelectedFieldsOrdered[number]['field']): ((cell: unknown) => unknown) | null {
  const expression = is(field, SQL.Aliased) ? field.sql : field;
  const codec = is(field, Column) ? field : (expression as unknown as { decoder: typeof noopDecoder }).decoder;
  const isPlain = codec === noopDecoder || codec.mapFromDriverValue === Column.prototype.mapFromDriverValue;
  return isPlain ? null : (cell) => codec.mapFromDriverValue(cell);
}
