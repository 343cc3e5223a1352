/**
 * Texts of statements for PostgreSQL. Both engines are sent the same text, but for its parameters and its lock.
 *
 * PostgreSQL takes the type of a parameter from its place, and finds none in `SELECT ?`, or a short integer in `? + 1`.
 * So each parameter says the type of its value, and null is written into the text: one statement has a few texts.
 */
import type { Script } from './migrate.ts';

/**
 * Returns the text for these values, with `$1`, `$2`, … and their values in that order. Values are given in the order
 * of the `?`, or as one object with the names of all others.
 */
type Translate = (given: readonly unknown[]) => Readonly<{ text: string; values: readonly unknown[] }>;

/** Something in a statement that stays (a literal, a name, a comment), or a parameter. */
const token = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|(?<mark>\?)|(?<!:)[:@](?<name>[A-Za-z_]\w*)/g;

/** A piece of a statement: text, or a parameter by its place or its name. */
type Piece = string | Readonly<{ parameter: number | string }>;

/** Returns the pieces of a statement. */
function piecesOf(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let [through, marks] = [0, 0];
  for (const match of text.matchAll(token)) {
    const { mark, name } = match.groups ?? {};
    if (mark === undefined && name === undefined) continue;
    pieces.push(text.slice(through, match.index), { parameter: name ?? marks++ });
    through = match.index + match[0].length;
  }
  return [...pieces, text.slice(through)];
}

/** @throws TypeError for a value that has no storage class */
function typeOf(value: unknown): 'bigint' | 'float8' | 'text' | 'bytea' {
  if (typeof value === 'string') return 'text';
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return 'bigint';
  if (typeof value === 'number') return 'float8';
  if (value instanceof Uint8Array) return 'bytea';
  throw new TypeError(`a value of a statement is text, a number or bytes, not ${typeof value}`);
}

/** The end of a statement that reads the row on which a command is serialised. SQLite, with one writer, ignores it. */
const LOCK = '/* lock */';

/** Returns the function that makes a statement's text for its values. */
export function translator(text: string): Translate {
  const pieces = piecesOf(text.replace(LOCK, 'FOR UPDATE'));
  return (given) => {
    const [first] = given;
    const isNamed = given.length === 1 && typeof first === 'object' && first !== null && !(first instanceof Uint8Array);
    const named = (isNamed ? first : {}) as Readonly<Record<string, unknown>>;
    const places = new Map<number | string, string>();
    const values: unknown[] = [];
    const placeOf = (parameter: number | string): string => {
      const known = places.get(parameter);
      if (known) return known;
      const value = typeof parameter === 'number' ? given[parameter] : named[parameter];
      if (value === undefined) throw new TypeError(`a value of a statement is missing: ${parameter} in ${text}`);
      const place = value === null ? 'NULL' : `$${values.push(value)}::${typeOf(value)}`;
      places.set(parameter, place);
      return place;
    };
    const parts = pieces.map((piece) => (typeof piece === 'string' ? piece : placeOf(piece.parameter)));
    return { text: parts.join(''), values };
  };
}

// ── The schema ───────────────────────────────────────────────────────────────────────────────────────────────────────
// Storage classes stay: TEXT, ordered by its bytes; INTEGER of 64 bits; BLOB. Keys, constraints and indexes stay, with
// their names. Strict tables, tables without row ids and checks of JSON go. It relies on the form of `schema.sql`: one
// column or rule a line, and a trigger only for an append-only table.

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
