/**
 * The database on PostgreSQL: the same statements, sent one by one over a pool of connections.
 *
 * Each body has a connection of its own. Writes are serializable. A transaction that loses against another one runs
 * again, so a command is as safe as with SQLite's single writer. One process writes in the order of its calls.
 *
 * If the connection breaks during COMMIT, nobody knows whether the commit took place. Therefore each commit that
 * changed rows saves the number of its try in its writer's row of `writers`. The next try looks there first. If it
 * finds the number, it returns the earlier try's result. If the earlier try is still under way, both change the row,
 * and the server commits only one of them.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes, randomInt } from 'node:crypto';
import type { Pool, PoolClient, QueryArrayResult, QueryConfig } from 'pg';
import { invariant, transient } from '../../core/fault.ts';
import { after, systemClock } from '../../lib/clock.ts';
import { type Client, createOrm, keepStatements } from './client.ts';
import type { Db } from './open.ts';
import {
  ALONE,
  asPostgresFault,
  databaseName,
  isBroken,
  isLost,
  isTaken,
  openPool,
  refuseOthers,
} from './postgres-server.ts';
import { translator } from './translate.ts';
import type { WriteHooks } from './write-queue.ts';

/** The largest number of connections of one process. */
const CONNECTIONS_MAX = 10;
/** Most tries of a body. */
const TRIES_MAX = 20;
/** Most tries of a body whose row another transaction has inserted. It may be a bug. */
const TRIES_TAKEN_MAX = 5;
/** Longest time from the first to the last try of a body. */
const RETRY_MS = 5_000;
/** Longest pause between two tries. */
const PAUSE_MS_MAX = 300;
/** Timeout of BEGIN and COMMIT. A connection on which an answer times out counts as broken. */
const TURN_MS = 3_000;
/** Timeout of a statement in a write. It is longer than the wait for a lock. */
const WRITE_MS = 6_000;
/** Timeout of a statement that only reads. */
const READ_MS = 30_000;
/** Rows in one fetch from a cursor. */
const FETCHED_ROWS = 500;
/** Pause between two looks at the number of commits. */
const POLL_MS = 100;
/** Statements that the server keeps prepared for one connection. */
const NAMED_MAX = 2_000;

const BEGIN_WRITE = 'BEGIN ISOLATION LEVEL SERIALIZABLE';
const BEGIN_READ = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';
/**
 * Saves the number of a command, commits, and then counts the commit, in one round trip. Nobody waits for a sequence.
 * Several statements in one query cannot have parameters. The values are a hexadecimal text and an integer.
 */
const commitChanges = ({ writer, number }: Command): string =>
  `INSERT INTO writers (id, command, at) VALUES ('${writer}', ${number}, now())
     ON CONFLICT (id) DO UPDATE SET command = excluded.command, at = excluded.at;
   COMMIT; SELECT nextval('commits') AS commits`;
const LAST_COMMAND = 'SELECT command FROM writers WHERE id = $1';
/** Removes the rows of writers that ended so long ago that nobody waits for an answer any more. */
const FORGET_WRITERS = "DELETE FROM writers WHERE at < now() - interval '1 day'";
const NOW = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms';
const LAST_COMMIT = 'SELECT last_value AS commits FROM commits';
const changing = new Set(['INSERT', 'UPDATE', 'DELETE']);

/** One try of a command that writes. A process has one writer for each database that it opens, and it numbers them. */
type Command = Readonly<{ writer: string; number: number }>;

/** A transaction's body. */
type Body = {
  readonly client: PoolClient;
  /** Absent if the body only reads. */
  readonly command: Command | null;
  isOpen: boolean;
  isBusy: boolean;
  changes: number;
  cursors: number;
  /** The error of its first failed statement. The server has aborted the transaction since. */
  failure: unknown;
};

type Row = readonly unknown[];

/**
 * Opens a database of the current schema; see `preparePostgres` and `checkDatabase`.
 * @param isAlone whether writes are refused while another process uses the database, and keep others from opening it
 * @throws Fault permanent `database_url_wrong`
 */
export function openPostgres(url: string, { beforeCommit, onWrite }: WriteHooks, isAlone = false): Db {
  const name = databaseName(url);
  const more = isAlone ? { application_name: ALONE } : {};
  const pool = openPool(url, { max: CONNECTIONS_MAX, query_timeout: WRITE_MS, ...more });
  const bodies = new AsyncLocalStorage<Body>();
  const inside = (): Body | null => {
    const body = bodies.getStore();
    return body?.isOpen ? body : null;
  };
  const client = createClient(inside);
  const now = client.values(NOW);
  const changes = watchChanges(pool);
  const { again, once } = createTransactions(pool, bodies, name, changes.saw);
  const writer = randomBytes(12).toString('hex');
  let [last, commands]: [Promise<unknown>, number] = [Promise.resolve(), 0];

  return {
    name,
    client,
    orm: createOrm(client),
    changeCount: changes.count,
    nowMs: async () => Number(await now.get()),
    async read(work) {
      if (inside()) return work();
      return again(RETRY_MS, () => once(null, async () => work()));
    },
    async write(work, { waitMs = RETRY_MS } = {}) {
      invariant(!inside(), 'a write is a transaction of its own');
      const askedAtMs = performance.now();
      const done = last.then(async () => {
        const sinceMs = performance.now();
        const waitedMs = sinceMs - askedAtMs;
        if (waitedMs > waitMs) throw waitFault(name);
        /** Results of tries that reached their COMMIT, by number. */
        const tried = new Map<number, Awaited<ReturnType<typeof work>>>();
        return again(Math.min(RETRY_MS, waitMs), () => {
          const command = { writer, number: ++commands };
          if (commands === 1) void pool.query(FORGET_WRITERS).catch(() => {});
          return once(command, async (body) => {
            const known = tried.size > 0 ? await lastCommand(body) : 0;
            if (tried.has(known)) return tried.get(known) as Awaited<ReturnType<typeof work>>;
            if (isAlone) await shutOut(client, name);
            const result = await work();
            beforeCommit?.();
            onWrite?.({ waitedMs, heldMs: performance.now() - sinceMs, rows: body.changes });
            if (body.changes > 0) tried.set(command.number, result);
            return result;
          });
        });
      });
      last = done.catch(() => {});
      return done;
    },
    close() {
      changes.stop();
      void pool.end();
    },
  };
}

const waitFault = (name: string) =>
  transient('storage_unavailable', `The database ${name} cannot be used now: other writes take long.`);

/** Locks the table that a process reads first when it opens the database. Later it is counted by its connection. */
async function shutOut(client: Client, name: string): Promise<void> {
  await client.prepare('LOCK TABLE meta IN ACCESS EXCLUSIVE MODE').run();
  await refuseOthers((text) => client.prepare(text).all(), name);
}

/** Returns a statement with a short timeout, which pg's types lack. */
const turn = (text: string): QueryConfig => Object.assign({ text }, { query_timeout: TURN_MS });

/** Returns the number of the writer's newest committed command, as this transaction sees it; 0 for none. */
async function lastCommand({ client, command }: Body): Promise<number> {
  const { rows } = await client.query(LAST_COMMAND, [command?.writer]);
  return (rows[0] as Readonly<{ command: number }> | undefined)?.command ?? 0;
}

/** Returns a function that runs a body in one transaction, and a function that repeats it. */
function createTransactions(
  pool: Pool,
  bodies: AsyncLocalStorage<Body>,
  name: string,
  onCommit: (commits: number) => void,
) {
  async function once<T>(command: Command | null, work: (body: Body) => Promise<T>): Promise<T> {
    const client = await pool.connect();
    const body: Body = { client, command, isOpen: true, isBusy: false, changes: 0, cursors: 0, failure: null };
    let lost: Error | undefined;
    try {
      await client.query(turn(command ? BEGIN_WRITE : BEGIN_READ));
      const result = await bodies.run(body, () => work(body));
      body.isOpen = false;
      // The server has aborted the transaction, and would answer a COMMIT with a rollback.
      if (body.failure) throw body.failure;
      if (!command || body.changes === 0) await client.query(turn('COMMIT'));
      else {
        const answers = (await client.query(turn(commitChanges(command)))) as unknown as readonly { rows: Commits[] }[];
        onCommit(answers.at(-1)?.rows[0]?.commits ?? 0);
      }
      return result;
    } catch (error) {
      body.isOpen = false;
      const cause = body.failure ?? error;
      if (isBroken(cause)) lost = cause as Error;
      else await client.query('ROLLBACK').catch((failed: Error) => (lost = failed));
      throw cause;
    } finally {
      client.release(lost);
    }
  }

  async function again<T>(limitMs: number, work: () => Promise<T>): Promise<T> {
    const untilMs = performance.now() + limitMs;
    let taken = 0;
    for (let tries = 1; ; tries++) {
      try {
        return await work();
      } catch (error) {
        if (isTaken(error)) taken++;
        const mayPass = isLost(error) || isBroken(error) || (isTaken(error) && taken < TRIES_TAKEN_MAX);
        const pauseMs = randomInt(Math.min(PAUSE_MS_MAX, 2 ** tries));
        const isOver = tries >= TRIES_MAX || performance.now() + pauseMs > untilMs;
        // It waited for another transaction's row. That is no broken constraint, and the next call finds the row.
        if (mayPass && isOver && isTaken(error)) throw waitFault(name);
        if (!mayPass || isOver) throw asPostgresFault(error, name);
        await systemClock.sleep(pauseMs);
      }
    }
  }

  return { once, again };
}

/** Names of prepared statements, by their text. */
const names = new Map<string, string>();

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= NAMED_MAX) return known;
  const name = `q${names.size}`;
  names.set(text, name);
  return name;
}

async function send(body: Body | null, text: string, values: readonly unknown[], name = nameOf(text)) {
  invariant(body, 'a statement belongs to a body, which waits for it');
  invariant(!body.isBusy, 'the statements of a body run one after the other');
  body.isBusy = true;
  try {
    const query = { text, values: [...values], rowMode: 'array' as const, ...(name !== undefined && { name }) };
    const waiting = { query_timeout: body.command ? WRITE_MS : READ_MS };
    const result: QueryArrayResult = await body.client.query({ ...query, ...waiting });
    if (changing.has(result.command)) body.changes += result.rowCount ?? 0;
    return result;
  } catch (error) {
    body.failure ??= error;
    throw error;
  } finally {
    body.isBusy = false;
  }
}

type Shape = (names: readonly string[]) => (row: Row) => unknown;
const shapes: Readonly<Record<keyof Client, Shape>> = {
  prepare: (columns) => (row) => Object.fromEntries(columns.map((column, at) => [column, row[at]])),
  values: () => (row) => row[0],
  lists: () => (row) => row,
};

function createClient(inside: () => Body | null): Client {
  return keepStatements((text, form) => {
    let translate: ReturnType<typeof translator> | undefined;
    const query = async (given: readonly unknown[]) => {
      translate ??= translator(text);
      const { text: own, values: cells } = translate(given);
      return send(inside(), own, cells);
    };
    const rowsOf = ({ rows, fields }: QueryArrayResult): unknown[] =>
      rows.map(shapes[form](fields.map((field) => field.name)));
    return {
      get: async (...given) => rowsOf(await query(given))[0],
      all: async (...given) => rowsOf(await query(given)),
      run: async (...given) => ({ changes: (await query(given)).rowCount ?? 0 }),
      async *iterate(...given) {
        const body = inside();
        invariant(body, 'rows are read one by one within a body');
        const { text: own, values: cells } = translator(text)(given);
        const cursor = `rows_${++body.cursors}`;
        await send(body, `DECLARE ${cursor} NO SCROLL CURSOR FOR ${own}`, cells);
        for (let isEnd = false; !isEnd; ) {
          const result = await send(body, `FETCH ${FETCHED_ROWS} FROM ${cursor}`, [], '');
          isEnd = result.rows.length < FETCHED_ROWS;
          yield* rowsOf(result);
        }
        await send(body, `CLOSE ${cursor}`, [], '');
      },
    };
  });
}

type Commits = Readonly<{ commits: number }>;

/** Counts commits that changed rows. Those of this process count at once, those of others at the next look. */
function watchChanges(pool: Pool) {
  let [seen, isStarted] = [0, false];
  let stop = () => {};
  const saw = (commits: number): void => {
    seen = Math.max(seen, commits);
  };
  async function look(): Promise<void> {
    // If it fails, nothing is known about commits.
    const found = await pool.query(LAST_COMMIT).catch(() => null);
    saw((found?.rows[0] as Commits | undefined)?.commits ?? 0);
    if (!pool.ending) stop = after(POLL_MS, () => void look());
  }
  return {
    count(): number {
      if (!isStarted) void look();
      isStarted = true;
      return seen;
    },
    saw,
    stop: () => stop(),
  };
}
