/**
 * Moves the rows of one database into another of the other engine: page by page in the order of keys, so that a move
 * that was interrupted goes on after the last row that arrived; then compares both.
 */
import { createHash } from 'node:crypto';
import { permanent } from '../../core/fault.ts';
import { type End, quoted, type Row, type Table } from './move-ends.ts';
import { type Mark, MOVE, movedFault, readMark } from './moved.ts';
import { MADE_AT_MS } from './scripts.ts';

/** Rows that are in memory at once. */
const PAGE_ROWS = 1_000;

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
      `${target.name} has data already: name an empty database in \`quayside database move --to\`. Nothing was changed`,
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

/** Copies the rows that the target lacks. */
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
  const order = table.key.map((name) => `"${name}" DESC`).join(', ');
  const newest = `SELECT ${quoted(table.key)} FROM "${table.name}" WHERE ${moving(table)} ORDER BY ${order} LIMIT 1`;
  const [last] = await target.all(newest);
  for await (const rows of pagesOf(source, table, last)) {
    const own = table.columns.map(({ name }) => table.own.includes(name));
    // A row that names one of a later page gets the name afterwards.
    await target.insert(
      table,
      table.own.length === 0 ? rows : rows.map((row) => row.map((cell, at) => (own[at] ? null : cell))),
    );
    done += rows.length;
    say();
  }
  await nameOwn(source, target, table);
}

/** Sets the columns that name another row of the same table. */
async function nameOwn(source: End, target: End, table: Table): Promise<void> {
  const places = table.columns.flatMap(({ name }, at) => (table.own.includes(name) ? [{ name, at }] : []));
  if (places.length === 0) return;
  const [set, where] = [places, table.key.map((name) => ({ name }))].map((columns) =>
    columns.map(({ name }) => `"${name}" = ?`),
  );
  const update = `UPDATE "${table.name}" SET ${set?.join(', ')} WHERE ${where?.join(' AND ')}`;
  for await (const rows of pagesOf(source, table)) {
    await target.all('BEGIN');
    for (const row of rows) {
      const names = places.map(({ at }) => row[at]);
      if (names.some((name) => name !== null)) await target.all(update, [...names, ...row.slice(0, table.key.length)]);
    }
    await target.all('COMMIT');
  }
}

/** Reads a table in the order of its key, from after this key on. */
async function* pagesOf({ all }: End, table: Table, after?: Row): AsyncGenerator<readonly Row[]> {
  const key = quoted(table.key);
  const columns = quoted(table.columns.map(({ name }) => name));
  for (let last = after; ; ) {
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
