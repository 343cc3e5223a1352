/** Tables and sentences for people, no wider than the terminal. */
import { printable } from '../../src/core/excerpt.ts';

const GAP = '  ';
/** A column is not made narrower than this. */
const COLUMN_CHARS_MIN = 12;

/**
 * Returns rows as a table with headings, by the names of their members: all of the first, unless some are named. Where
 * the terminal is too narrow for all columns, each row is a list of its members. Without rows there are no lines.
 */
export function listLines<T extends object>(rows: readonly T[], shown?: readonly (keyof T & string)[]): string[] {
  const [first] = rows;
  if (!first) return [];
  const names: readonly string[] = shown ?? Object.keys(first);
  const cells = rows.map((row) => {
    const members = new Map(Object.entries(row));
    return names.map((name) => cellOf(members.get(name)));
  });
  const titles = names.map((name) => name.toUpperCase().replaceAll('_', ' '));
  const widths = names.map((_, at) => Math.max(...[titles, ...cells].map((row) => row[at]?.length ?? 0)));
  const leastWidth = widths.reduce((sum, width) => sum + Math.min(width, COLUMN_CHARS_MIN) + GAP.length, -GAP.length);
  if (leastWidth <= terminalColumns()) return table([titles, ...cells]);
  return cells.flatMap((row) => ['', ...table(row.map((cell, at) => [titles[at] ?? '', cell]))]).slice(1);
}

/** People see a reason by its code. */
function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return typeof value === 'object' && 'code' in value ? String(value.code) : [value].flat().join(', ');
}

/** Returns the width of the terminal. A file or a pipe has no end of a line. */
const terminalColumns = (): number => (process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY);

/**
 * Returns a line as lines of the terminal, broken between its words and indented below its first word. A word stays
 * whole, so that a link can be copied.
 */
export function wrapped(line: string, columns = terminalColumns()): string[] {
  if (line.length <= columns) return [line];
  const start = ' '.repeat(line.length - line.trimStart().length);
  const [first = '', ...words] = line.trimStart().split(' ');
  const lines = [start + first];
  for (const word of words) {
    const last = lines.at(-1) ?? '';
    if (last.length + 1 + word.length <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${start}  ${word}`);
  }
  return lines;
}

/**
 * Returns rows as lines with aligned columns. On a terminal, cells of the widest columns go on in further lines, so
 * that nothing is cut off.
 */
export function table(foreign: readonly (readonly string[])[], columns = terminalColumns()): string[] {
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
