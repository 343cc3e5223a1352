/**
 * Source maps, version 3 (https://tc39.es/ecma426/): the source of a place in a built file. Node's `SourceMap` makes an
 * object of each mapping when it is created, of which a joined program has a hundred thousand: a tenth of a second, and
 * megabytes. Here it is noted where the lines begin, and a line is decoded when a place in it is looked up.
 * @module
 */

/** Rows and columns count from 0. The source is a path relative to the map. */
export type SourcePlace = Readonly<{ source: string; row: number; column: number }>;

/** Where the next mapping begins, and the source, row and column that it is relative to. */
type Cursor = { at: number; source: number; row: number; column: number };

/** Value of each digit, by its character's code. */
const digits = new Uint8Array(128);
for (const [value, digit] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries()) {
  digits[digit.charCodeAt(0)] = value;
}
const CONTINUES = 32;
const [COMMA, SEMICOLON] = [',', ';'].map((mark) => mark.charCodeAt(0));

/**
 * Moves the cursor behind the mappings of one line.
 * @param found told the column in the built file of each mapping that names a source, when the cursor is on its place
 */
function decodeLine(mappings: string, cursor: Cursor, found: (builtColumn: number) => void): void {
  let [builtColumn, field, value, shift] = [0, 0, 0, 0];
  for (;;) {
    const code = mappings.charCodeAt(cursor.at++);
    if (code === COMMA || code === SEMICOLON || Number.isNaN(code)) {
      if (field > 1) found(builtColumn);
      if (code !== COMMA) return;
      field = 0;
      continue;
    }
    const digit = digits[code] ?? 0;
    value |= (digit & (CONTINUES - 1)) << shift;
    shift += 5;
    if (digit & CONTINUES) continue;
    const delta = value & 1 ? -(value >>> 1) : value >>> 1;
    if (field === 0) builtColumn += delta;
    else if (field === 1) cursor.source += delta;
    else if (field === 2) cursor.row += delta;
    else if (field === 3) cursor.column += delta;
    field++;
    value = shift = 0;
  }
}

/**
 * Opens a map.
 * @param text the map's JSON
 * @returns finds the source of a place in the built file; null where the line has none at or before the column
 */
export function openSourceMap(text: string): (row: number, column: number) => SourcePlace | null {
  const { sources, mappings } = JSON.parse(text) as { sources: readonly string[]; mappings: string };
  const cursor: Cursor = { at: 0, source: 0, row: 0, column: 0 };
  const begun: number[] = [];
  while (cursor.at <= mappings.length) {
    begun.push(cursor.at, cursor.source, cursor.row, cursor.column);
    decodeLine(mappings, cursor, () => {});
  }
  const starts = Int32Array.from(begun);
  return (row, column) => {
    const [at, source, sourceRow, sourceColumn] = starts.subarray(4 * row, 4 * row + 4);
    if (at === undefined) return null;
    const here = { at, source, row: sourceRow, column: sourceColumn } as Cursor;
    let found: SourcePlace | null = null;
    decodeLine(mappings, here, (builtColumn) => {
      if (builtColumn <= column) found = { source: sources[here.source] ?? '', row: here.row, column: here.column };
    });
    return found;
  };
}
