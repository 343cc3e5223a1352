/**
 * Moves all rows into a database of the other engine, table by table, and then compares both. Each table is moved in
 * one transaction. An interrupted move continues with the first table that did not arrive.
 */
import { createHash } from 'node:crypto';
import Sqlite from 'better-sqlite3';
import { permanent } from '../../core/fault.ts';
import { connect, guarded } from './connection.ts';
import { type Mark, MOVE, movedFault, readMark } from './engine.ts';
import { MADE_AT_MS, readScripts, refuseOtherSchema } from './migrate.ts';
import {
  ALONE,
  asPostgresFault,
  checkDatabase,
  connectionOf,
  databaseName,
  pg,
  refuseOthers,
  SCHEMA_VERSION,
} from './postgres-server.ts';
import { translator } from './translate.ts';

/** Rows in memory at once. One statement inserts them all, and SQLite's takes 32,766 values at most. */
const PAGE_ROWS = 500;

/** Chooses the rows that move. The version of the schema and the mark of the move stay. */
const moving = ({ name }: Table): string =>
  name === 'meta' ? `name NOT IN ('${MOVE}', '${SCHEMA_VERSION}')` : '1 = 1';

/** The number of a table's rows, and the SHA-256 of all cells, each with its type and length, in the key's order. */
export type TableDigest = Readonly<{ rows: number; sha256: string }>;
export type TableProgress = Readonly<{ table: string; done: number; total: number }>;

/**
 * Prepares the target, whose tables exist. It must be empty, or contain rows of this same move, which was interrupted.
 * @throws Fault permanent `target_not_empty`, `database_moved`, `move_unfinished`
 */
export async function beginMove(source: End, target: End, atMs: number): Promise<void> {
  const [left, known] = [await readMark(source.all), await readMark(target.all)];
  const isSame = known?.kind === 'from' && known.place === source.name;
  // The move was interrupted between the two marks at its end.
  const isEnding = left?.kind === 'to' && left.place === target.name && isSame;
  if (left && !isEnding) throw movedFault(source.name, left);
  if (isSame) return;
  // Opening a database writes into `meta`.
  const [used] = await target.all('SELECT name FROM meta WHERE name NOT IN (?, ?) LIMIT 1', [
    MADE_AT_MS,
    SCHEMA_VERSION,
  ]);
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

/** Ends the move. From now on the target is opened, and the source is refused. */
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
  // A row may refer to one of a later page.
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

/** Returns the digest of a table. It does not depend on the engine. */
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

// ── Both ends ────────────────────────────────────────────────────────────────────────────────────────────────────────
// A connection to each engine, with a transaction of its own.

const BUSY_TIMEOUT_MS = 5_000;
/** The schema of a rehearsal, beside the one that programs use. */
const SCRATCH = 'quayside_rehearsal';

type Row = readonly unknown[];

/** `columns` begins with those of the primary key. */
type Table = Readonly<{ name: string; columns: readonly string[]; key: readonly string[] }>;

export type End = Readonly<{
  /** The file, or the database and its server, for messages. */
  name: string;
  isServer: boolean;
  /** Runs a statement that both engines understand. @returns its rows, as lists */
  all(text: string, values?: Row): Promise<readonly Row[]>;
  /** Begins a transaction on one snapshot. `isAlone` keeps all other writers out until its end. */
  begin(isAlone: boolean, tables: readonly Table[]): Promise<void>;
  /** @throws Fault permanent `database_in_use` if other processes use a server's database; a file's folder is locked */
  refuseOthers(): Promise<void>;
  close(): Promise<void>;
}>;

/** Returns the tables of the current schema, each after those that it references. */
export function listTables(): readonly Table[] {
  const { schema, migrations } = readScripts();
  const client = new Sqlite(':memory:');
  try {
    for (const { text } of [schema, ...migrations]) client.exec(text);
    const names = client.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid").pluck();
    const columnsOf = client.prepare('SELECT name, pk FROM pragma_table_info(?) ORDER BY pk = 0, pk, cid');
    return (names.all() as string[]).map((name) => {
      const columns = columnsOf.all(name) as { name: string; pk: number }[];
      const namesOf = (some: typeof columns) => some.map((column) => column.name);
      return { name, columns: namesOf(columns), key: namesOf(columns.filter(({ pk }) => pk > 0)) };
    });
  } finally {
    client.close();
  }
}

/** Returns names of columns for a statement. */
const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

/**
 * Opens a file of the current schema.
 * @throws Fault as `openSqlite`
 */
export function openFile(file: string): End {
  const raw = guarded(file, () => connect(file, BUSY_TIMEOUT_MS, true));
  const all: End['all'] = async (text, values = []) =>
    guarded(file, () => {
      const statement = raw.prepare(text);
      if (statement.reader) return statement.raw().all(...values) as Row[];
      statement.run(...values);
      return [];
    });
  try {
    refuseOtherSchema(raw, file);
  } catch (error) {
    raw.close();
    throw error;
  }
  return {
    name: file,
    isServer: false,
    all,
    async begin(isAlone) {
      await all(isAlone ? 'BEGIN IMMEDIATE' : 'BEGIN');
    },
    async refuseOthers() {},
    async close() {
      raw.close();
    },
  };
}

/** Connects under a name that does not count as a user of the database. */
async function connectServer(url: string) {
  const name = databaseName(url);
  const client = new (pg().Client)({ ...connectionOf(url, ALONE), idle_in_transaction_session_timeout: 0 });
  // A connection that breaks fails its next statement.
  client.on('error', () => {});
  const translated = <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((error: unknown) => {
      throw asPostgresFault(error, name);
    });
  await translated(client.connect());
  return { name, client, send: (text: string, values?: unknown[]) => translated(client.query(text, values)) };
}

/**
 * Opens a PostgreSQL database of the current schema.
 * @throws Fault as `openPostgres`
 */
export async function openServer(url: string): Promise<End> {
  const { name, client, send } = await connectServer(url);
  const ask = async (text: string) => (await send(text)).rows;
  try {
    await checkDatabase(ask, name);
  } catch (error) {
    await client.end();
    throw error;
  }
  return {
    name,
    isServer: true,
    async all(text, given = []) {
      const { text: own, values } = translator(text)(given);
      const { rows, fields } = await send(own, [...values]);
      return rows.map((row) => fields.map((field) => row[field.name]));
    },
    async begin(isAlone, tables) {
      await send(`BEGIN ISOLATION LEVEL REPEATABLE READ${isAlone ? '' : ' READ ONLY'}`);
      if (isAlone) await send(`LOCK TABLE ${quoted(tables.map((table) => table.name))} IN SHARE ROW EXCLUSIVE MODE`);
    },
    refuseOthers: () => refuseOthers(ask, name),
    close: () => client.end(),
  };
}

/** Gives `work` the address of an empty schema of a database, and drops the schema at the end. */
export async function withScratchSchema<T>(url: string, work: (scratch: string) => Promise<T>): Promise<T> {
  const { client, send } = await connectServer(url);
  const drop = () => send(`DROP SCHEMA IF EXISTS ${SCRATCH} CASCADE`);
  try {
    await drop();
    await send(`CREATE SCHEMA ${SCRATCH}`);
    const scratch = new URL(url);
    scratch.searchParams.set('options', `-c search_path=${SCRATCH}`);
    return await work(scratch.href).finally(drop);
  } finally {
    await client.end();
  }
}
