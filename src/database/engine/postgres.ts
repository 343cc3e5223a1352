/**
 * The database on PostgreSQL: the same statements, sent one by one over a pool of connections.
 *
 * A body has a connection for itself, which is found by the body that a statement is called in. Writes are
 * serializable: what lost against another transaction is run again, so a command is as safe as with SQLite's one
 * writer. The writes of one process are done in the order in which they were called; those of several meet in the
 * server.
 * A connection that breaks during COMMIT, or a server that does not answer it, leaves open whether it took place. So
 * each commit that changed rows saves the number of its try in the row of its writer, in `writers`. The next try looks
 * there first, and if it finds the number, the command has the earlier try's answer. If that one is still under way,
 * both change the row, and the server lets only one of them commit.
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

/** Connections of one process, at most. */
const CONNECTIONS_MAX = 10;
/** A body is run again so many times at most, within so long; for a row that is taken less often: that may be a bug. */
const TRIES_MAX = 20;
const TRIES_TAKEN_MAX = 5;
const RETRY_MS = 5_000;
const PAUSE_MS_MAX = 300;
/**
 * How long an answer is waited for: to BEGIN and COMMIT; to a statement of a write, which waits for a lock less long;
 * to one that reads, and may read a lot. A server that is silent for longer is one whose connection broke.
 */
const TURN_MS = 3_000;
const WRITE_MS = 6_000;
const READ_MS = 30_000;
/** Rows that are fetched at once of those that are read one by one. */
const FETCHED_ROWS = 500;
/** How often it is looked whether anybody committed. */
const POLL_MS = 100;
/** Texts that the server keeps parsed for a connection. */
const NAMED_MAX = 2_000;

const BEGIN_WRITE = 'BEGIN ISOLATION LEVEL SERIALIZABLE';
const BEGIN_READ = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';
/**
 * Saves the number of a command, commits, and then numbers the commit, in one round trip. Nobody waits for a sequence.
 * Several statements at once have no parameters; these values are a hexadecimal text and an integer.
 */
const commitChanges = ({ writer, number }: Command): string =>
  `INSERT INTO writers (id, command, at) VALUES ('${writer}', ${number}, now())
     ON CONFLICT (id) DO UPDATE SET command = excluded.command, at = excluded.at;
   COMMIT; SELECT nextval('commits') AS commits`;
const LAST_COMMAND = 'SELECT command FROM writers WHERE id = $1';
/** Removes the rows of writers that have ended, long after the answer to their last command was waited for. */
const FORGET_WRITERS = "DELETE FROM writers WHERE at < now() - interval '1 day'";
const NOW = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms';
const LAST_COMMIT = 'SELECT last_value AS commits FROM commits';
const changing = new Set(['INSERT', 'UPDATE', 'DELETE']);

/** A try of a command that writes, numbered by its writer: a process has one for each database that it opens. */
type Command = Readonly<{ writer: string; number: number }>;

/** A transaction's body. */
type Body = {
  readonly client: PoolClient;
  /** Absent if it only reads. */
  readonly command: Command | null;
  isOpen: boolean;
  isBusy: boolean;
  changes: number;
  cursors: number;
  /** The error of its first statement that failed: the server has given the transaction up. */
  failure: unknown;
};

type Row = readonly unknown[];

/**
 * Opens a database that `preparePostgres` has brought to the current schema; `checkDatabase` says whether it has.
 * @param isAlone each write is refused if another process uses the database, and keeps others from opening it
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
        /** Results of tries that came as far as their COMMIT, by the number under which it would be saved. */
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

/** A process that opens the database reads this table first, and waits. After that it is counted by its connection. */
async function shutOut(client: Client, name: string): Promise<void> {
  await client.prepare('LOCK TABLE meta IN ACCESS EXCLUSIVE MODE').run();
  await refuseOthers((text) => client.prepare(text).all(), name);
}

/** A statement that is waited for less long than others; pg's types lack the wait of one statement. */
const turn = (text: string): QueryConfig => Object.assign({ text }, { query_timeout: TURN_MS });

/** Returns the number of the writer's newest command that was committed, as its transaction sees it; 0 for none. */
async function lastCommand({ client, command }: Body): Promise<number> {
  const { rows } = await client.query(LAST_COMMAND, [command?.writer]);
  return (rows[0] as Readonly<{ command: number }> | undefined)?.command ?? 0;
}

/** Returns the functions that run a body in a transaction, and that run it again. */
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
      // The server has given the transaction up, and would answer a COMMIT by taking it back.
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
        // A row of another transaction, for which this one has waited, is no broken constraint: the next call finds it.
        if (mayPass && isOver && isTaken(error)) throw waitFault(name);
        if (!mayPass || isOver) throw asPostgresFault(error, name);
        await systemClock.sleep(pauseMs);
      }
    }
  }

  return { once, again };
}

/** Numbers of texts that have a name on the server. */
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

/** Counts commits that changed rows: this process's at once, those of others at the next look. */
function watchChanges(pool: Pool) {
  let [seen, isStarted] = [0, false];
  let stop = () => {};
  const saw = (commits: number): void => {
    seen = Math.max(seen, commits);
  };
  async function look(): Promise<void> {
    // A failure says nothing about commits.
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
