/**
 * The two ends of a move, one of each engine: a connection with a transaction of its own, and the tables of both.
 */
import Sqlite from 'better-sqlite3';
import { Client } from 'pg';
import { connect, guarded } from './connection.ts';
import { refuseOtherSchema } from './migrate.ts';
import { asPostgresFault } from './postgres-fault.ts';
import { ALONE, checkDatabase, connectionOf, databaseName, refuseOthers } from './postgres-server.ts';
import { readScripts } from './scripts.ts';
import { translator } from './translate.ts';

const BUSY_TIMEOUT_MS = 5_000;
/** The schema of a rehearsal, beside the one that programs use. */
const SCRATCH = 'quayside_rehearsal';

export type Row = readonly unknown[];

/** `columns` begins with those of the primary key. */
export type Table = Readonly<{ name: string; columns: readonly string[]; key: readonly string[] }>;

export type End = Readonly<{
  /** The file, or the database and its server, for messages. */
  name: string;
  isServer: boolean;
  /** Runs a statement that both engines understand. @returns its rows, as lists */
  all(text: string, values?: Row): Promise<readonly Row[]>;
  /** Begins a transaction that sees one state. `isAlone`: nobody else writes before its end. */
  begin(isAlone: boolean, tables: readonly Table[]): Promise<void>;
  /** @throws Fault permanent `database_in_use` if other processes use a server's database; a file's folder is locked */
  refuseOthers(): Promise<void>;
  close(): Promise<void>;
}>;

/** Returns the tables of the current schema, each after those that its rows name. */
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
export const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

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

/** Connects under a name that is not counted among those that use the database. */
async function connectServer(url: string) {
  const name = databaseName(url);
  const client = new Client({ ...connectionOf(url, ALONE), idle_in_transaction_session_timeout: 0 });
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
