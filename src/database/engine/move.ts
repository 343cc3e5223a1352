/**
 * Moves the rows of one database into another of the other engine: table by table, each in one transaction, so that a
 * move that was interrupted goes on with the first table that did not arrive; then compares both.
 */
import { createHash } from 'node:crypto';
import { permanent } from '../../core/fault.ts';
import { type Mark, MOVE, movedFault, readMark } from './engine.ts';
import { type End, quoted, type Row, type Table } from './move-ends.ts';
import { MADE_AT_MS } from './scripts.ts';

/** Rows that are in memory at once. A statement adds them all; SQLite's takes 32,766 values at most. */
const PAGE_ROWS = 500;

/** Chooses what moves. The scripts that made a database, and the mark of its move, stay in it. */
const moving = (table: Table): string =>
  table.name === 'meta' ? `name <> '${MOVE}' AND (name < 'migration ' OR name > 'migration!')` : '1 = 1';

/** The rows of a table, and their SHA-256: cell by cell in the order of the key, each with its type and length. */
export type TableDigest = Readonly<{ rows: number; sha256: string }>;
export type TableProgress = Readonly<{ table: string; done: number; total: number }>;

/**
 * Prepares the target, whose tables exist: it must be empty, or of this same move, which was interrupted.
 * @throws Fault permanent `target_not_empty`, `database_moved`, `move_unfinished`
 */
export async function beginMove(source: End, target: End, atMs: number): Promise<void> {
  const [left, known] = [await readMark(source.all), await readMark(target.all)];
  const isSame = known?.kind === 'from' && known.place === source.name;
  // Interrupted between the two marks of its end.
  const isEnding = left?.kind === 'to' && left.place === target.name && isSame;
  if (left && !isEnding) throw movedFault(source.name, left);
  if (isSame) return;
  // Opening a database writes into `meta`.
  const [used] = await target.all(
    `SELECT name FROM meta WHERE name <> ? AND (name < 'migration ' OR name > 'migration!') LIMIT 1`,
    [MADE_AT_MS],
  );
  if (used) {
    throw permanent(
      'target_not_empty',
      `${target.name} has data already. Nothing was changed: ${target.isServer ? 'name an empty database' : 'move the file elsewhere'}, then run \`quayside database move\` again`,
    );
  }
  const mark: Mark = { kind: 'from', place: source.name, isServer: source.isServer, atMs };
  await target.all('BEGIN');
  await target.all('DELETE FROM meta WHERE name = ?', [MADE_AT_MS]);
  await writeMark(target, mark);
  await target.all('COMMIT');
}

const writeMark = ({ all }: End, mark: Mark) =>
  all('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value', [
    MOVE,
    JSON.stringify(mark),
  ]);

/** Ends the source's transaction, in which nobody else wrote: it is not opened any more, and the target is. */
export async function endMove(source: End, target: End, atMs: number): Promise<void> {
  await source.refuseOthers();
  await writeMark(source, { kind: 'to', place: target.name, isServer: target.isServer, atMs });
  await source.all('COMMIT');
  await target.all('DELETE FROM meta WHERE name = ?', [MOVE]);
}

/** Copies a table, unless an earlier try has. */
export async function copyTable(
  source: End,
  target: End,
  table: Table,
  onProgress: (progress: TableProgress) => void,
): Promise<void> {
  const count = async (end: End) =>
    Number((await end.all(`SELECT count(*) FROM "${table.name}" WHERE ${moving(table)}`))[0]?.[0]);
  const [total, known] = [await count(source), await count(target)];
  let done = known;
  const say = () => onProgress({ table: table.name, done, total });
  say();
  if (known > 0) return;
  await target.all('BEGIN');
  // A row may name one of a later page.
  await target.all(target.isServer ? 'SET CONSTRAINTS ALL DEFERRED' : 'PRAGMA defer_foreign_keys = ON');
  const row = `(${table.columns.map(() => '?')})`;
  for await (const rows of pagesOf(source, table)) {
    const text = `INSERT INTO "${table.name}" (${quoted(table.columns)}) VALUES ${rows.map(() => row)}`;
    await target.all(text, rows.flat());
    done += rows.length;
    say();
  }
  await target.all('COMMIT');
}

/** Reads a table in the order of its key. */
async function* pagesOf({ all }: End, table: Table): AsyncGenerator<readonly Row[]> {
  const [key, columns] = [quoted(table.key), quoted(table.columns)];
  for (let last: Row | undefined; ; ) {
    const later = last ? `AND (${key}) > (${table.key.map(() => '?').join(', ')})` : '';
    const text = `SELECT ${columns} FROM "${table.name}" WHERE ${moving(table)} ${later} ORDER BY ${key} LIMIT ${PAGE_ROWS}`;
    const rows = await all(text, last ?? []);
    if (rows.length > 0) yield rows;
    if (rows.length < PAGE_ROWS) return;
    last = rows.at(-1)?.slice(0, table.key.length);
  }
}

/** Returns the digest of a table, which is the same on both engines. */
export async function digestTable(end: End, table: Table): Promise<TableDigest> {
  const hash = createHash('sha256');
  let count = 0;
  for await (const rows of pagesOf(end, table)) {
    hash.update(rows.flatMap((row) => row.map(cellText)).join(''));
    count += rows.length;
  }
  return { rows: count, sha256: hash.digest('hex') };
}

function cellText(value: unknown): string {
  if (value === null) return 'n;';
  const [type, text] =
    value instanceof Uint8Array
      ? ['b', Buffer.from(value).toString('hex')]
      : [typeof value === 'string' ? 't' : 'i', String(value)];
  return `${type}${text.length}:${text}`;
}
