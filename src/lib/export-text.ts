/** Rows as text: CSV (RFC 4180). */

/** Cells in the order of the columns; null is an empty cell. */
export type Cells = readonly (string | number | null)[];

const NUMBER = /^-?\d+(?:\.\d+)?$/;
/** A spreadsheet takes a cell that begins with one of these for a formula. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
/** Where the list separator is a semicolon, as in most of Europe, a cell also begins behind one, quoted or not. */
const INNER_FORMULA = /([;\t])(?=[=+\-@＝＋－＠])/g;

/**
 * Returns a cell of CSV. Text that a spreadsheet would run as a formula gets an apostrophe in front, as OWASP's page on
 * CSV injection recommends; numbers stay numbers.
 */
export function csvCell(value: string | number | null): string {
  if (value === null) return '';
  const text = String(value);
  const inner = text.replace(INNER_FORMULA, "$1'");
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${inner}` : inner;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const csvLine = (cells: Cells): string => `${cells.map(csvCell).join(',')}\r\n`;
