/**
 * A PostgreSQL server of this machine for a run of tests, with one database that each test copies. It keeps nothing:
 * the disk is never synced, and its folder is removed at the end.
 */
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { Pool } from 'pg';
import { openPool, preparePostgres } from '../../src/database/engine/postgres-server.ts';
import { until } from './until.ts';

const versions = '/usr/lib/postgresql';
/** The database that the others are copied from. */
const TEMPLATE = 'template';

/** Returns the address of a database on the server whose socket is in this folder. */
export const addressOf = (folder: string, database: string): string =>
  `postgres://postgres@localhost/${database}?host=${encodeURIComponent(folder)}`;

/** Returns Debian's folder of the newest server that is installed; null if none is. */
export function serverPrograms(): string | null {
  const found = existsSync(versions) ? readdirSync(versions).sort((one, other) => Number(other) - Number(one)) : [];
  return found.map((version) => join(versions, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb'))) ?? null;
}

/** The user that the server runs as, which root must not. Numbers, because a child takes no names. */
function otherUser(): { uid: number; gid: number } | Record<string, never> {
  if (process.getuid?.() !== 0) return {};
  const id = (word: string) => Number(execFileSync('id', [word, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** Makes a folder for a server, with its socket. The path of a socket has at most 107 bytes: not in the checkout. */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-pg-'));
  const { uid, gid } = otherUser();
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  return folder;
}

/** Runs one of the server's programs as its user. */
function runProgram(bin: string, folder: string, [program = '', ...words]: readonly string[]): void {
  const stdio = ['ignore', 'ignore', 'inherit'] as const;
  execFileSync(join(bin, program), words, { ...otherUser(), cwd: folder, stdio: [...stdio] });
}

/** Starts a server on the data of a folder, and waits for it. It ends with this process, at the latest. */
function startOn(bin: string, folder: string, settings: Readonly<Record<string, string>>) {
  const data = join(folder, 'data');
  const own = { listen_addresses: '', unix_socket_directories: folder, max_connections: '300', ...settings };
  const words = Object.entries(own).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let server: ChildProcess;
  const start = (): void => {
    server = spawn(join(bin, 'postgres'), ['-D', data, ...words], { ...otherUser(), cwd: folder, stdio: 'ignore' });
    for (let tries = 0; spawnSync(join(bin, 'pg_isready'), ['-h', folder]).status !== 0; tries++)
      if (tries > 3_000) throw new Error(`no server answers in ${folder}`);
  };
  const stop = (): void => {
    server.kill('SIGINT');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once('exit', stop);
  start();
  return {
    /** The folder of its socket. */
    folder,
    start,
    stop,
    /** Stops it at once, as a loss of power to the process does: what was committed is found again at its start. */
    async crash() {
      const ended = new Promise((resolve) => server.once('exit', resolve));
      server.kill('SIGQUIT');
      await ended;
    },
    /** Stops all its processes where they are. @returns what lets them go on */
    pause() {
      const found = execFileSync('ps', ['-o', 'pid=', '--ppid', String(server.pid)], { encoding: 'utf8' });
      const pids = [String(server.pid), ...found.trim().split(/\s+/)];
      // One of them may have ended meanwhile.
      const signal = (name: string) => void spawnSync('kill', [`-${name}`, ...pids]);
      signal('STOP');
      return () => signal('CONT');
    },
    /** Starts a copy on a socket of its own, which every commit waits for from now on. */
    standBy() {
      const copy = makeFolder();
      const target = ['-h', folder, '-U', 'postgres', '-D', join(copy, 'data')];
      runProgram(bin, copy, ['pg_basebackup', ...target, '-R', '-c', 'fast', '-X', 'stream', '--no-sync']);
      const standby = startOn(bin, copy, { ...settings, wal_retrieve_retry_interval: '200ms' });
      const sql = "ALTER SYSTEM SET synchronous_standby_names = '*'";
      for (const text of [sql, 'SELECT pg_reload_conf()'])
        execFileSync(join(bin, 'psql'), ['-h', folder, '-U', 'postgres', '-qc', text], { stdio: 'ignore' });
      return standby;
    },
    /** Makes a standby take writes. */
    promote: () => runProgram(bin, folder, ['pg_ctl', 'promote', '-D', data, '-w']),
  };
}

/** For conformance, where nothing crashes. */
const careless = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' };

/** Starts a new server on a socket in a folder of its own, with the template. */
export async function startPostgres(bin: string, settings: Readonly<Record<string, string>> = careless) {
  const folder = makeFolder();
  const form = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync'];
  runProgram(bin, folder, ['initdb', '-D', join(folder, 'data'), ...form]);
  const server = startOn(bin, folder, settings);
  execFileSync(join(bin, 'createdb'), ['-h', folder, '-U', 'postgres', TEMPLATE]);
  await preparePostgres(addressOf(folder, TEMPLATE));
  return server;
}

let copies = 0;

/** Makes a new database with the tables and no rows. @returns its address, and what removes it */
export function copyTemplate(folder: string): Readonly<{ url: string; remove(): void }> {
  const bin = serverPrograms() ?? '';
  const name = `t${process.pid}_${++copies}`;
  execFileSync(join(bin, 'createdb'), ['-h', folder, '-U', 'postgres', '-T', TEMPLATE, name]);
  return {
    url: addressOf(folder, name),
    remove: () => void execFile(join(bin, 'dropdb'), ['-h', folder, '-U', 'postgres', '--force', name]).unref(),
  };
}

/** Runs statements on a server's database, as its administrator. */
export async function onPool<T>(url: string, work: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = new Pool({ connectionString: url, max: 2, application_name: 'test' });
  pool.on('error', () => {});
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

/** Waits until no program is connected to a database: the server learns of a closed connection a moment later. */
export const untilUnused = (url: string): Promise<void> =>
  onPool(url, (pool) =>
    until('no program is connected', async () => {
      const { rowCount } = await pool.query(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'quayside'",
      );
      return rowCount === 0;
    }),
  );

/** Ends one of the connections of the programs to a database, by chance. @returns how many */
export const cutOne = (url: string): Promise<number> =>
  onPool(url, async (pool) => {
    const { rowCount } = await pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'quayside' ORDER BY state = 'idle', random() LIMIT 1`,
    );
    return rowCount ?? 0;
  });

type Owned = Readonly<{ url: string; pool: Pool }>;
const free: Owned[] = [];

const END_OTHERS = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;
const TABLES = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace";

/** Ends the connections to a database, and removes its rows, but for those that it was made with. */
async function empty({ pool }: Owned): Promise<void> {
  await pool.query(END_OTHERS);
  const { rows } = (await pool.query(TABLES)) as { rows: readonly { relname: string }[] };
  const removals = rows.map(({ relname }) =>
    relname === 'meta'
      ? `DELETE FROM meta WHERE name NOT IN ('made_at_ms', 'schema_version')`
      : `DELETE FROM ${relname}`,
  );
  // Neither foreign keys nor the triggers of tables to which rows are only added.
  await pool.query(`SET session_replication_role = replica; ${removals.join('; ')}`);
}

/**
 * Lends a database with the tables and no rows, which another test of this process may have had: it is emptied faster
 * than a new one is made.
 */
export function lendDatabase(folder: string) {
  const makeOne = (): Owned => {
    const { url } = copyTemplate(folder);
    return { url, pool: openPool(url, { max: 1, allowExitOnIdle: true }) };
  };
  const own = free.pop() ?? makeOne();
  const giveBack = () =>
    void empty(own).then(
      () => free.push(own),
      // The server was stopped: nobody gets this one again.
      () => {},
    );
  return { ...own, giveBack };
}

/**
 * Copies all rows of a PostgreSQL database into a SQLite file with the same tables, so that both are looked at with the
 * same eyes. A value that one of them would store otherwise fails here: SQLite's tables are strict.
 * @param file has the tables; its rows are replaced
 */
export async function copyRows(pool: Pool, file: string): Promise<void> {
  const client = new Sqlite(file);
  try {
    client.pragma('foreign_keys = OFF');
    client.pragma('synchronous = OFF');
    client.exec('BEGIN');
    const triggers = client.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all() as string[];
    for (const name of triggers) client.exec(`DROP TRIGGER ${name}`);
    const named = client.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    for (const table of named.pluck().all() as string[]) {
      const { rows, fields } = await pool.query({ text: `SELECT * FROM ${table}`, rowMode: 'array' });
      client.exec(`DELETE FROM ${table}`);
      if (rows.length === 0) continue;
      const columns = fields.map(({ name }) => name);
      const insert = client.prepare(`INSERT INTO ${table} (${columns}) VALUES (${columns.map(() => '?')})`);
      for (const row of rows) insert.run(...(row as unknown[]));
    }
    client.exec('COMMIT');
  } finally {
    client.close();
  }
}
