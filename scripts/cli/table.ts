/** Tables and sentences for people, no wider than the terminal. */
import { printable } from '../../src/core/excerpt.ts';

const GAP = '  ';

/**
 * Returns rows as a table with headings, by the names of their members: all of the first, unless some are named. Where
 * the terminal is too narrow for that, each row is a list of its members. Without rows there are no lines.
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
  const lines = table([titles, ...cells]);
  if (lines.every(({ length }) => length <= terminalColumns())) return lines;
  return cells.flatMap((row) => ['', ...table(row.map((cell, at) => [titles[at] ?? '', cell]))]).slice(1);
}

/** People see a reason by its code, and a record as its members. */
function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value)) return value.join(', ');
  if (typeof value !== 'object') return String(value);
  if ('code' in value) return String(value.code);
  return Object.entries(value)
    .map(([name, one]) => `${titleOf(name)} ${cellOf(one)}`)
    .join(', ');
}

const titleOf = (name: string): string => name.replaceAll('_', ' ');

/** It has rows or parts of its own. */
const isDeep = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).some((one) => typeof one === 'object' && one !== null);

/**
 * Returns a record as people read it: its members, then each of its lists as a table and each deep part below its name.
 * Lists without rows are left out.
 */
export function recordLines(record: object, shown: Readonly<Record<string, readonly string[]>> = {}): string[] {
  const members = Object.entries(record).filter(([, value]) => !Array.isArray(value) || value.length > 0);
  const [deep, plain] = [members.filter(([, value]) => isDeep(value)), members.filter(([, value]) => !isDeep(value))];
  return [
    ...table(plain.map(([name, value]) => [titleOf(name), cellOf(value)])),
    ...deep.flatMap(([name, value]) => [
      '',
      `${titleOf(name)}:`,
      ...(Array.isArray(value) ? listLines<Record<string, unknown>>(value, shown[name]) : recordLines(value, shown)),
    ]),
  ];
}

/** Returns the width of the terminal. Files and pipes have none, and a serial console reports 0. */
const terminalColumns = (): number => (process.stdout.isTTY && process.stdout.columns) || Number.POSITIVE_INFINITY;

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

/** Returns rows as lines with aligned columns. */
export function table(foreign: readonly (readonly string[])[]): string[] {
  const rows = foreign.map((row) => row.map(printable));
  const widths: number[] = [];
  for (const row of rows) for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}
