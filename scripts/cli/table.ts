/** Tables for programs and for people, no wider than the terminal. */
import { printable } from '../../src/core/excerpt.ts';

const GAP = '  ';
/** A column is not made narrower than this. */
const COLUMN_CHARS_MIN = 12;

/** A value of a column, for programs as it is. */
type Value = string | number | boolean | null | readonly string[];

/** A column: its name for programs, and its value in a row. People see the name in capitals, unless it is hidden. */
export type Column<T> = readonly [name: string, value: (row: T) => Value, isHidden?: 'hidden'];

/** Returns rows for programs and, as a table, for people. */
export function sheet<T>(rows: readonly T[], columns: readonly Column<T>[]) {
  const json = rows.map((row) => Object.fromEntries(columns.map(([name, value]) => [name, value(row)])));
  const shown = columns.flatMap(([name, , isHidden]) => (isHidden ? [] : [name]));
  const head = shown.map((name) => name.toUpperCase().replaceAll('_', ' '));
  const cells = json.map((one) => shown.map((name) => cellOf(one[name] ?? null)));
  return { json, lines: table([head, ...cells]) };
}

const cellOf = (value: Value): string => (value === null ? '-' : [value].flat().join(', '));

/**
 * Returns rows as lines with aligned columns. On a terminal, cells of the widest columns go on in further lines, so
 * that nothing is cut off.
 * @param columns the terminal's; a file or a pipe has no end of a line
 */
export function table(
  foreign: readonly (readonly string[])[],
  columns = process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY,
): string[] {
  const rows = foreign.map((row) => row.map(printable));
  const widths: number[] = [];
  for (const row of rows) for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  const fitted = fit(widths, columns);
  return rows.flatMap((row) => linesOf(row, fitted));
}

/** Takes from the widest columns what does not fit. */
function fit(widths: readonly number[], columns: number): number[] {
  const fitted = [...widths];
  for (;;) {
    const excess = fitted.reduce((sum, width) => sum + width, 0) + GAP.length * (fitted.length - 1) - columns;
    const widest = Math.max(...fitted);
    if (excess <= 0 || widest <= COLUMN_CHARS_MIN) return fitted;
    const second = Math.max(COLUMN_CHARS_MIN, ...fitted.filter((width) => width < widest));
    fitted[fitted.indexOf(widest)] = Math.max(second === widest ? widest - 1 : second, widest - excess);
  }
}

function linesOf(row: readonly string[], widths: readonly number[]): string[] {
  const cells = row.map((cell, at) => broken(cell, widths[at] ?? cell.length));
  const height = Math.max(1, ...cells.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((parts, at) => (parts[line] ?? '').padEnd(widths[at] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}

/** Breaks a text into parts, between its words where it can. */
function broken(text: string, width: number): string[] {
  const parts: string[] = [];
  let rest = text;
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width);
    const end = space > 0 ? space : width;
    parts.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end).trimStart();
  }
  return [...parts, rest];
}
