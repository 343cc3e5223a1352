/**
 * The schema for PostgreSQL, from SQLite's. Storage classes stay: TEXT, ordered by its bytes; INTEGER of 64 bits; BLOB.
 * Keys, constraints and indexes stay, with their names. What only SQLite has goes: strict tables, tables without row
 * ids, and checks of JSON.
 *
 * It relies on the form of `schema.sql`: one column or rule a line, and a trigger only for an append-only table.
 */
import type { Script } from './scripts.ts';

/**
 * The exact sum of amounts in decimal text; what refuses changes of append-only tables; a number of commits; and the
 * number of the newest command that each writer has committed.
 */
const prelude = `
CREATE FUNCTION sum_units_add(total NUMERIC, units TEXT) RETURNS NUMERIC LANGUAGE sql IMMUTABLE
  AS 'SELECT total + coalesce(units::numeric, 0)';
CREATE FUNCTION sum_units_text(total NUMERIC) RETURNS TEXT LANGUAGE sql IMMUTABLE AS 'SELECT total::text';
CREATE AGGREGATE sum_units (TEXT) (SFUNC = sum_units_add, STYPE = NUMERIC, INITCOND = '0', FINALFUNC = sum_units_text);
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql
  AS 'BEGIN RAISE EXCEPTION ''% is append-only'', TG_TABLE_NAME; END';
CREATE SEQUENCE commits;
CREATE TABLE writers (id TEXT COLLATE "C" PRIMARY KEY, command BIGINT NOT NULL, at TIMESTAMPTZ NOT NULL);
`.trim();

/** Patterns of a column or rule, and what stands for them. */
const replaced: readonly (readonly [RegExp, string])[] = [
  [/ CHECK \(json_valid\(\w+\)\)/g, ''],
  [/\bINTEGER\b/g, 'BIGINT'],
  [/\bTEXT\b/g, 'TEXT COLLATE "C"'],
  [/\bBLOB\b/g, 'BYTEA'],
];

const translate = (text: string): string =>
  replaced.reduce((changed, [pattern, by]) => changed.replaceAll(pattern, by), text);

/** Returns a text without its comments. No value in the schema contains two hyphens. */
const withoutComments = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.replace(/\s*--.*$/, ''))
    .filter((line) => line.trim() !== '')
    .join('\n');

/** Returns the statements of a file. Those within a trigger's body are indented, and belong to it. */
const statementsOf = (text: string): readonly string[] =>
  withoutComments(text)
    .split(/;\n(?=[A-Z])|;\s*$/)
    .filter((statement) => statement.trim() !== '' && statement !== 'END');

const trigger = /^CREATE TRIGGER (\w+) BEFORE (DELETE|UPDATE) ON (\w+)\nBEGIN\n {2}SELECT RAISE\(ABORT, /;

function statementOf(statement: string): string {
  const [, name, change, table] = trigger.exec(statement) ?? [];
  if (name) return `CREATE TRIGGER ${name} BEFORE ${change} ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse_change()`;
  return translate(statement).replace(/\n\) STRICT(, WITHOUT ROWID)?$/, '\n)');
}

/** Returns what a script is for PostgreSQL. */
export const postgresTextOf = ({ version, text }: Script): string =>
  [...(version === 0 ? [prelude] : []), ...statementsOf(text).map((statement) => `${statementOf(statement)};`)].join(
    '\n',
  );
