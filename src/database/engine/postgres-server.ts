/**
 * The PostgreSQL server that `QUAYSIDE_DATABASE_URL` names: connections, and the checks before its first use.
 */
import { createRequire } from 'node:module';
import type { ClientConfig, Pool, PoolConfig, types } from 'pg';
import { Fault, permanent, transient } from '../../core/fault.ts';
import { systemClock } from '../../lib/clock.ts';
import { constraintFailed } from './connection.ts';
import { liveFault } from './inspection.ts';
import { MADE_AT_MS, readScripts, refuseOtherVersion, scriptsAfter } from './migrate.ts';
import { postgresTextOf } from './translate.ts';

const load = createRequire(import.meta.url);
/** Returns the driver, which is loaded only if such a database is opened. With SQLite it would waste memory. */
export const pg = (): typeof import('pg') => load('pg');

const VERSION_MIN = 15;
const CONNECT_MS = 5_000;
/** Longest wait for a lock. */
const LOCK_MS = 5_000;
/** The server ends a transaction whose process is silent for longer. */
const IDLE_MS = 8_000;
/** Largest difference between the clocks of this machine and of the server. */
const CLOCK_MS_MAX = 5_000;

/** Object ids of types that are read as numbers (PostgreSQL's `pg_type.dat`). */
const [BOOL, INT8, NUMERIC] = [16, 20, 1700];

/** @throws RangeError for a number that is not exact */
function exactly(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) throw new RangeError(`${text} is above 2^53`);
  return number;
}

const readers: Readonly<Record<number, (text: string) => number>> = {
  [BOOL]: (text) => (text === 't' ? 1 : 0),
  [INT8]: exactly,
  [NUMERIC]: exactly,
};

/** Names of connections, by which they are counted: those that use a database, and those that want it alone. */
const USER = 'quayside';
export const ALONE = 'alone with quayside';

/** Returns the settings of a connection. @throws Fault permanent `database_url_wrong` */
export function connectionOf(url: string, application = USER): ClientConfig {
  databaseName(url);
  const own = new URL(url);
  own.searchParams.set('application_name', application);
  return {
    connectionString: own.href,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    lock_timeout: LOCK_MS,
    idle_in_transaction_session_timeout: IDLE_MS,
    types: {
      getTypeParser: (id: number, format?: 'text' | 'binary') =>
        readers[id] ?? pg().types.getTypeParser(id, format as 'text'),
    } as typeof types,
  };
}

/**
 * Returns a pool of connections. A connection that breaks while nobody uses it is replaced at its next use. In use, its
 * next statement fails.
 * @throws Fault permanent `database_url_wrong`
 */
export function openPool(url: string, options: PoolConfig): Pool {
  const pool = new (pg().Pool)({ ...connectionOf(url, options.application_name), ...options });
  pool.on('error', () => {});
  pool.on('connect', (connection) => connection.on('error', () => {}));
  return pool;
}

/** Returns the database's name for messages, without its password. @throws Fault permanent `database_url_wrong` */
export function databaseName(url: string): string {
  const parsed = URL.parse(url);
  const isKnown = parsed?.protocol === 'postgres:' || parsed?.protocol === 'postgresql:';
  const database = parsed?.pathname.slice(1);
  if (!parsed || !isKnown || !database) throw wrongUrl();
  const host = parsed.searchParams.get('host') ?? parsed.host;
  return `${decodeURIComponent(database)} on ${host || 'this machine'}`;
}

const wrongUrl = () =>
  permanent(
    'database_url_wrong',
    'QUAYSIDE_DATABASE_URL is not the address of a PostgreSQL database. Set it to one of the form ' +
      'postgres://user:password@host:5432/quayside, or unset it to use SQLite.',
  );

/** Returns the rows of a query, by column. */
type Ask = (text: string) => Promise<readonly unknown[]>;

const OTHERS = `SELECT count(*) AS others FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = '${USER}'`;

/** @throws Fault permanent `database_in_use` if a process uses the database */
export async function refuseOthers(ask: Ask, name: string): Promise<void> {
  // Within a transaction, the server would repeat its first answer.
  await ask('SELECT pg_stat_clear_snapshot()');
  const [{ others }] = (await ask(OTHERS)) as [{ others: number }];
  if (others === 0) return;
  throw permanent(
    'database_in_use',
    `Quayside uses ${name} over ${others} connections: stop it on every machine, then run the same command again`,
  );
}

type Server = Readonly<{ version: number; encoding: string; is_standby: number; now_ms: number }>;

const aboutServer = `SELECT current_setting('server_version_num')::bigint / 10000 AS version,
  current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS is_standby,
  (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms`;

/** @throws Fault permanent: see `refuseUnfit` */
async function checkServer(ask: Ask, name: string): Promise<void> {
  const beforeMs = systemClock.nowMs();
  const [server] = await ask(aboutServer);
  refuseUnfit(server as Server, name, { beforeMs, afterMs: systemClock.nowMs() });
}

/**
 * Refuses a server that cannot be used.
 * @param asked when the server was asked, and when it had answered, by this machine's clock
 * @throws Fault permanent `postgres_too_old`, `database_encoding_wrong`, `database_is_standby`, `clock_apart`
 */
export function refuseUnfit(server: Server, name: string, asked: Readonly<{ beforeMs: number; afterMs: number }>) {
  const { version, encoding, is_standby, now_ms } = server;
  const apartMs = Math.max(asked.beforeMs - now_ms, now_ms - asked.afterMs);
  const clocks = `its clock and this machine's are ${Math.round(apartMs / 1000)} s apart. Synchronise both by NTP.`;
  const template = `Create one with ENCODING 'UTF8' and TEMPLATE template0.`;
  const reasons: readonly (readonly [boolean, string, string])[] = [
    [version < VERSION_MIN, 'postgres_too_old', `it is PostgreSQL ${version}. Use ${VERSION_MIN} or newer.`],
    [encoding !== 'UTF8', 'database_encoding_wrong', `its encoding is ${encoding}. ${template}`],
    [is_standby === 1, 'database_is_standby', 'it is a standby, which takes no writes. Name the primary instead.'],
    [apartMs > CLOCK_MS_MAX, 'clock_apart', clocks],
  ];
  const [, code, why] = reasons.find(([isUnfit]) => isUnfit) ?? [];
  if (code) throw permanent(code, `The database ${name} cannot be used: ${why}`);
}

/** The name in `meta` of the schema's version; a file of SQLite has it in its header. */
export const SCHEMA_VERSION = 'schema_version';
const VERSION = `SELECT value::bigint AS version FROM meta WHERE name = '${SCHEMA_VERSION}'`;

/** Returns the schema's version, or null if there is no table. */
async function versionIn(ask: Ask, name: string): Promise<number | null> {
  const [table] = (await ask(
    `SELECT relname = 'meta' AS is_ours FROM pg_class
     WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY is_ours DESC LIMIT 1`,
  )) as readonly { is_ours: number }[];
  if (!table) return null;
  const [row] = table.is_ours === 1 ? ((await ask(VERSION)) as readonly { version: number }[]) : [];
  if (!row) throw foreign(name);
  return row.version;
}

const foreign = (name: string) =>
  permanent(
    'database_foreign',
    `The database ${name} has tables of another program. Create an empty one, and set QUAYSIDE_DATABASE_URL to it.`,
  );

/**
 * Refuses a database that cannot be used, or that has another schema.
 * @param ask runs a query, and translates errors
 * @throws Fault permanent `database_foreign`, `schema_not_current`; see `refuseUnfit`
 */
export async function checkDatabase(ask: Ask, name: string): Promise<void> {
  await checkServer(ask, name);
  const version = await versionIn(ask, name);
  if (version === null) {
    throw permanent(
      'schema_not_current',
      `The database ${name} is empty. Run \`npm start\`, which creates its tables.`,
    );
  }
  refuseOtherVersion(name, version);
}

/**
 * Creates the tables in an empty database, or applies the migrations that it lacks: all of them, or none. Several
 * processes may call this at once.
 * @returns the names of the scripts applied now
 * @throws Fault as `checkDatabase`; transient `storage_unavailable`; permanent `database_newer`
 */
export async function preparePostgres(url: string, isSandbox = false): Promise<readonly string[]> {
  const name = databaseName(url);
  const pool = openPool(url, { max: 1 });
  const ask: Ask = async (text) => (await pool.query(text)).rows;
  try {
    await checkServer(ask, name);
    // If another process creates the same tables first, nothing is left to do.
    const applied = await applyMissing(pool, ask, name).catch((error: unknown) => {
      if (isCreatedMeanwhile(error)) return applyMissing(pool, ask, name);
      throw error;
    });
    if (isSandbox && (await ask(LIVE_DATA)).length > 0) {
      throw liveFault(`The database ${name}`, 'QUAYSIDE_DATABASE_URL to another database');
    }
    return applied;
  } catch (error) {
    throw asPostgresFault(error, name);
  } finally {
    await pool.end();
  }
}

/** Finds rows that only live networks have. */
const LIVE_DATA = `SELECT 1 FROM networks WHERE starts_with(key, 'live:') UNION ALL
  SELECT 1 FROM pools WHERE mode = 'live' UNION ALL SELECT 1 FROM keys WHERE mode = 'live' AND last_used_at_ms IS NOT NULL
  LIMIT 1`;

async function applyMissing(pool: Pool, ask: Ask, name: string): Promise<readonly string[]> {
  const scripts = readScripts();
  await pool.query('BEGIN');
  try {
    // Every process that migrates locks this table, so they take turns.
    if ((await versionIn(ask, name)) !== null) await pool.query('LOCK TABLE meta IN ACCESS EXCLUSIVE MODE');
    const version = await versionIn(ask, name);
    const missing = version === null ? [scripts.schema] : scriptsAfter(name, version, scripts);
    for (const script of missing) await pool.query(postgresTextOf(script));
    const save =
      'INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value';
    if (version === null) await pool.query(save, [MADE_AT_MS, String(systemClock.nowMs())]);
    if (missing.length > 0) await pool.query(save, [SCHEMA_VERSION, String(scripts.migrations.length)]);
    await pool.query('COMMIT');
    return missing.map((script) => script.name);
  } catch (error) {
    await pool.query('ROLLBACK');
    throw error;
  }
}

/** Returns whether another process created the table, or a name in the catalogue, at the same time. */
const isCreatedMeanwhile = (error: unknown): boolean => ['23505', '42P07', '42723'].includes(codeOf(error) ?? '');

// ── Errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────
// Errors of PostgreSQL and of the connection become the same faults as SQLite's errors.

/** Classes and codes of errors (postgresql.org/docs/15/errcodes-appendix.html) after which a retry may succeed. */
const passing: Readonly<Record<string, string>> = {
  '08': 'the connection broke. Check that the server runs, and the network to it',
  '25006': 'it takes no writes: it is a standby. Set QUAYSIDE_DATABASE_URL to the primary',
  '28': 'it refuses the user or the password of QUAYSIDE_DATABASE_URL. Correct them',
  '3D000': 'it has no database of this name. Create it, or correct QUAYSIDE_DATABASE_URL',
  '40': 'other writers were in the way for too long. Try again; if it stays, look for a program that holds a lock',
  '42501': 'its user lacks a right. Make the user the owner of the database',
  '53': 'it has no room or no free connection left. Make room, or raise max_connections',
  '55P03': 'a lock was held for too long. Try again; if it stays, look for a program that holds it',
  '57': 'it was stopped, or it ended the statement. Check that the server runs',
  '58': 'reading or writing its disk failed. Check the disk of the server',
};

/** Codes of a transaction that lost against another one: serialization, deadlock. */
const lost = new Set(['40001', '40P01']);

export const codeOf = (error: unknown): string | null =>
  error instanceof pg().DatabaseError ? (error.code ?? null) : null;

/** Returns whether a transaction lost against another one, and must run again. */
export const isLost = (error: unknown): boolean => lost.has(codeOf(error) ?? '');

/** Returns whether another transaction inserted the row first. If the body runs again, it finds the row. */
export const isTaken = (error: unknown): boolean => codeOf(error) === '23505';

/** Returns whether the connection broke. A COMMIT on it may or may not have taken place. */
export function isBroken(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== null) return code.startsWith('08') || code.startsWith('57P');
  if (!(error instanceof Error)) return false;
  return 'syscall' in error || broken.test(error.message);
}

/** Beginnings of the driver's messages about a connection that broke, failed or timed out. */
const broken = /^(Connection terminated|Client (has encountered|was closed)|timeout exceeded|Query read timeout)/;

/**
 * Translates an error of PostgreSQL into a `Fault`: `storage_unavailable` (transient) or `storage_damaged` (permanent).
 * A failed constraint becomes an Error named `ConstraintFailed`. Returns any other error as is.
 * @param name the database, without its password
 */
export function asPostgresFault(error: unknown, name: string): unknown {
  if (error instanceof Fault) return error;
  const code = codeOf(error);
  if (code === null) return isBroken(error) ? unavailable(name, passing['08'] ?? '', error) : error;
  const why = passing[code] ?? passing[code.slice(0, 2)];
  if (why) return unavailable(name, why, error);
  if (code === 'XX001' || code === 'XX002') {
    const damage = 'it is damaged. Stop all processes and restore the newest backup';
    return permanent('storage_damaged', `The database ${name} cannot be used: ${damage}.`, error);
  }
  return code.startsWith('23') ? constraintFailed(error as Error) : error;
}

const unavailable = (name: string, why: string, cause: unknown): Fault =>
  transient('storage_unavailable', `The database ${name} cannot be used now: ${why}.`, cause);
