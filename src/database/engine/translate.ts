/**
 * Translates statements for PostgreSQL. Both engines get the same text, except for parameters and locks.
 *
 * PostgreSQL infers a parameter's type from its place. In `SELECT ?` it finds none, and in `? + 1` a short integer.
 * Therefore each parameter is cast to the type of its value, and null is written into the text.
 */
import type { Script } from './migrate.ts';

/**
 * Returns the text for these values, with `$1`, `$2`, …, and the values in that order. Values of `?` are given in their
 * order, and those of names in one object.
 */
type Translate = (given: readonly unknown[]) => Readonly<{ text: string; values: readonly unknown[] }>;

/** Matches a parameter, or a part of a statement that stays: a literal, a name, a comment. */
const token = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|(?<mark>\?)|(?<!:)[:@](?<name>[A-Za-z_]\w*)/g;

/** A piece of a statement: text, or a parameter by its position or name. */
type Piece = string | Readonly<{ parameter: number | string }>;

/** Splits a statement into its pieces. */
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

/** Ends a statement that locks the row it reads. SQLite, which has one writer, ignores it. */
const LOCK = '/* lock */';

/** Returns a function that translates a statement for given values. */
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
// Storage classes stay: TEXT ordered by bytes, INTEGER of 64 bits, BLOB. Keys, constraints and indexes keep their
// names. STRICT, WITHOUT ROWID and checks of JSON are removed. The translation relies on the form of `schema.sql`,
// which has one column or rule a line, and triggers for append-only tables only.

/**
 * Additions to the schema: the exact sum of amounts in decimal text, the trigger of append-only tables, a sequence that
 * counts commits, and the newest command that each writer has committed.
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

/** Patterns of a column or rule, with their replacements. */
const replaced: readonly (readonly [RegExp, string])[] = [
  [/ CHECK \(json_valid\(\w+\)\)/g, ''],
  [/\bINTEGER\b/g, 'BIGINT'],
  [/\bTEXT\b/g, 'TEXT COLLATE "C"'],
  [/\bBLOB\b/g, 'BYTEA'],
];

const translate = (text: string): string =>
  replaced.reduce((changed, [pattern, by]) => changed.replaceAll(pattern, by), text);

/** Removes the comments of a text. No value in the schema contains two hyphens. */
const withoutComments = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.replace(/\s*--.*$/, ''))
    .filter((line) => line.trim() !== '')
    .join('\n');

/** Splits a file into statements. Indented ones belong to a trigger's body. */
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

/** Translates a script for PostgreSQL. */
export const postgresTextOf = ({ version, text }: Script): string =>
  [...(version === 0 ? [prelude] : []), ...statementsOf(text).map((statement) => `${statementOf(statement)};`)].join(
    '\n',
  );
