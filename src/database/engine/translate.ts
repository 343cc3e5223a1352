/**
 * Texts of statements for PostgreSQL. Both engines are sent the same text, but for its parameters and its lock.
 *
 * PostgreSQL takes the type of a parameter from its place, and finds none in `SELECT ?`, or a short integer in `? + 1`.
 * So each parameter says the type of its value, and null is written into the text: one statement has a few texts.
 */

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
