/** The engine on PostgreSQL: what only it does. Run by `npm test -- --postgres`; without a server, all is skipped. */
import { createServer } from 'node:net';
import { setTimeout as rest } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '../../src/core/fault.ts';
import { openSqliteDatabase } from '../../src/database/database.ts';
import type { Db } from '../../src/database/engine/open.ts';
import { openPostgres } from '../../src/database/engine/postgres.ts';
import { preparePostgres, refuseUnfit } from '../../src/database/engine/postgres-server.ts';
import { translator } from '../../src/database/engine/translate.ts';
import { fenced, leaseCommands } from '../../src/database/leases.ts';
import { openRetentionDatabase } from '../../src/database/retention.ts';
import {
  act,
  breaks,
  cancelSession,
  addressOf as depositAddress,
  endpoint,
  fails,
  inWorld,
  newSession,
  pays,
  request,
  sessionOf,
  T0_MS,
} from '../conformance/database/place.ts';
import { askForRefund } from '../conformance/database/purse.ts';
import { addressOf, copyTemplate, onPool } from '../support/postgres.ts';
import { breaks as everyBreak, openPostgresProxy } from './postgres-proxy.ts';

const folder = process.env.TEST_POSTGRES ?? '';
const test = suite('postgres');
const onServer = folder === '' ? test.skip : test;
const plain = { file: '', busyTimeoutMs: 5_000, outageWaitS: 600 };
/** Retries end after five seconds; the last of them may wait for an answer. */
const BOUND_MS = 12_000;

/** Statements on a counter. */
const add = (db: Db) => db.client.prepare('INSERT INTO counters (owner, last) VALUES (?, ?)');
const read = (db: Db) => db.client.values('SELECT last FROM counters WHERE owner = ?');
const raise = (db: Db) => db.client.values('UPDATE counters SET last = last + 1 WHERE owner = ? RETURNING last');

/** Runs work by a clock that stands still, so that no stall of the machine ends its retries. */
async function outOfTime<T>(work: () => Promise<T>): Promise<T> {
  const atMs = performance.now();
  performance.now = () => atMs;
  try {
    return await work();
  } finally {
    Reflect.deleteProperty(performance, 'now');
  }
}

/** A test over two connections to a new database, as of two machines. */
const onTwo = (title: string, work: (one: Db, two: Db, url: string) => Promise<void>) =>
  onServer(title, async () => {
    const { url, remove } = copyTemplate(folder);
    const [one, two] = [openPostgres(url, {}), openPostgres(url, {})];
    await work(one, two, url);
    one.close();
    two.close();
    remove();
  });

test('each value says its type, a name is one parameter, and what is no parameter stays', () => {
  const text = 'SELECT \'?\', "a:b", :one -- ?\n, :two + :one, x::text FROM t WHERE c = :none';
  assert.equal(translator(text)([{ one: 1, two: 'b', none: null }]), {
    text: 'SELECT \'?\', "a:b", $1::bigint -- ?\n, $2::text + $1::bigint, x::text FROM t WHERE c = NULL',
    values: [1, 'b'],
  });
  const bytes = new Uint8Array(2);
  assert.equal(translator('(?, ?, ?)')([bytes, null, 2n ** 60n]), {
    text: '($1::bytea, NULL, $2::bigint)',
    values: [bytes, 2n ** 60n],
  });
  assert.is(translator('SELECT key FROM networks /* lock */')([]).text, 'SELECT key FROM networks FOR UPDATE');
  assert.throws(() => translator('?')([true]), /not boolean/);
  assert.throws(() => translator('?')([]), /is missing/);
});

onTwo(
  'a lost transaction and a broken connection are run again; a number above 2^53 is refused',
  async (one, two, url) => {
    const set = (db: Db) => db.client.prepare('UPDATE counters SET last = ? WHERE owner = ?');
    await one.write(() => add(one).run('a', 0));
    const bump = (db: Db) =>
      db.write(async () => {
        await set(db).run(Number(await read(db).get('a')) + 1, 'a');
      });
    await Promise.all(Array.from({ length: 20 }, (_, at) => bump(at % 2 ? one : two)));
    assert.is(await two.read(() => read(two).get('a')), 20);
    let isCut = false;
    await one.write(async () => {
      await set(one).run(21, 'a');
      if (isCut) return;
      isCut = true;
      const own = await one.client.values('SELECT pg_backend_pid()').get();
      await onPool(url, (pool) => pool.query('SELECT pg_terminate_backend($1)', [own]));
      await set(one).run(99, 'a');
    });
    assert.is(await two.read(() => read(two).get('a')), 21);
    await one.write(() => set(one).run(2n ** 60n, 'a'));
    const above = await one.read(() => read(one).get('a')).catch((error: unknown) => String(error));
    assert.match(String(above), /above 2\^53/);
    const caught = async () =>
      void (await add(one)
        .run('b', null)
        .catch(() => {}));
    await breaks(one.write(caught));
  },
);

onTwo('a body sees one state, and a row that was added since when it is run again', async (one, two) => {
  const seen = await two.read(async () => {
    const before = await read(two).get('b');
    await one.write(() => add(one).run('b', 1));
    return [before, await read(two).get('b')];
  });
  assert.equal(seen, [undefined, undefined]);
  await fails(
    two.read(() => raise(two).get('b')),
    'storage_unavailable',
  );
  const answer = await two.write(async () => {
    if ((await read(two).get('a')) !== undefined) return 'found';
    await one.write(() => add(one).run('a', 1));
    await add(two).run('a', 2);
    return 'added';
  });
  assert.is(answer, 'found');
});

const inOneDay = inWorld(
  async ({ database, place, one, two }) => {
    await database.stores.update('m1', { refundDailyMinor: 1_50 });
    const other = place.connect();
    const feeds = [one, two];
    for (const feed of feeds) {
      const network = feed === one ? 'one' : 'two';
      const session = sessionOf(await database.sessions.create(newSession(network)));
      await feed.confirm(await feed.mine([pays(depositAddress(session), 1000n, { network })]));
    }
    two.database = other;
    for (let day = 1; day <= 5; day++) {
      for (const feed of feeds) feed.nowMs += 24 * 3_600_000;
      const asking = feeds.map((feed, at) => askForRefund(feed, `r${day}/${at}`, `cs_${at ? 'two' : 'one'}`, 1_00n));
      const asked = await Promise.all(asking);
      assert.is(asked.filter((id) => id !== null).length, 1, `day ${day}`);
    }
    other.close();
  },
  {},
  folder,
);

onTwo('a command whose time ends while another one takes its row is answered as unavailable', async (one, two) => {
  let [late, hasRead]: [Promise<unknown>, boolean] = [Promise.resolve(), false];
  await one.write(async () => {
    await add(one).run('a', 1);
    const asked = two.write(
      async () => {
        const last = await read(two).get('a');
        hasRead = true;
        if (last === undefined) await add(two).run('a', 2);
      },
      { waitMs: 200 },
    );
    late = fails(asked, 'storage_unavailable');
    // It has to find no row, or it would add none.
    while (!hasRead) await rest(20);
    await rest(400);
  });
  await late;
});

onServer('two refunds at once, on two networks, do not exceed what a store pays back in a day', inOneDay);

/** Fails the first commit as one that lost against another transaction. */
function losingOnce() {
  let isLost = false;
  return {
    beforeCommit(): void {
      if (isLost) return;
      isLost = true;
      throw Object.assign(new DatabaseError('lost', 0, 'error'), { code: '40001' });
    },
  };
}

const inSlices = inWorld(
  async ({ database, place }) => {
    await database.endpoints.add(endpoint('e1'));
    const wish = newSession('o1', { request: request('o1', { description: 'Flowers for Ann' }) });
    await cancelSession(database, sessionOf(await database.sessions.create(wish)).id);
    const other = place.connect(5_000, losingOnce());
    const nowMs = T0_MS + 1;
    const [again] = await database.deliveries.list({ limit: 1 });
    const resent = await other.deliveries.resend({ deliveryId: again?.id ?? '' }, nowMs, {
      act: act('webhook resend'),
    });
    other.close();
    assert.is(resent, 1);
    assert.equal((await database.audit.list(9)).map(({ command }) => command).slice(0, 1), ['webhook resend']);
    const { file, url } = place;
    const retaining = openRetentionDatabase({ file, url, ...losingOnce() });
    const laterMs = T0_MS + 100 * 24 * 3_600_000;
    const slices: number[] = [];
    for await (const done of retaining.retain('anonymised', { beforeMs: laterMs, nowMs: laterMs })) slices.push(done);
    retaining.close();
    assert.equal(slices, [1]);
  },
  {},
  folder,
);

onServer('a slice of a longer work that lost against another transaction is done again as a whole', inSlices);

test('an old server, a standby, and a clock that is apart are refused', () => {
  const [fit, asked] = [
    { version: 15, encoding: 'UTF8', is_standby: 0, now_ms: 10_000 },
    { beforeMs: 9_000, afterMs: 9_500 },
  ];
  refuseUnfit(fit, 'shop on db', asked);
  for (const [change, code, words] of [
    [{ version: 14 }, 'postgres_too_old', /it is PostgreSQL 14. Use 15 or newer/],
    [{ is_standby: 1 }, 'database_is_standby', /Name the primary/],
    [{ now_ms: 16_000 }, 'clock_apart', /7 s apart. Synchronise both by NTP/],
    [{ now_ms: 3_000 }, 'clock_apart', /6 s apart/],
  ] as const)
    assert.throws(
      () => refuseUnfit({ ...fit, ...change }, 'shop on db', asked),
      (error: unknown) => error instanceof Fault && error.code === code && words.test(error.message),
    );
});

onTwo('nobody takes a lease between the comparison of its fence and the commit', async (one, two) => {
  const [holder, standby] = [leaseCommands(one), leaseCommands(two)];
  const fence = (await holder.take({ name: 'chores', holder: 'a', isBack: true })) ?? 0;
  await holder.letGo({ name: 'chores', fence });
  const slow = one.client.prepare('SELECT pg_sleep(0.5)::text');
  let [taking, isTaken, wasTaken]: [Promise<void>, boolean, boolean] = [Promise.resolve(), false, true];
  await fenced(one, { name: 'chores', fence }, () => {}).write(async () => {
    taking = standby.take({ name: 'chores', holder: 'b', isBack: true }).then((taken) => {
      isTaken = taken === fence + 1;
    });
    await slow.get();
    await add(one).run('a', 1);
    // Read before the commit: of two commits that follow each other, the second may be answered first.
    wasTaken = isTaken;
  });
  await taking;
  assert.equal({ isTaken, wasTaken }, { isTaken: true, wasTaken: false });
});

onServer('what cannot be used is refused in a sentence', async () => {
  const { url, remove } = copyTemplate(folder);
  await onPool(addressOf(folder, 'postgres'), async (pool) => {
    await pool.query('CREATE ROLE guest LOGIN');
    await pool.query(`CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`);
    for (const name of ['of_another_user', 'foreign_tables', 'empty']) await pool.query(`CREATE DATABASE ${name}`);
  });
  await onPool(addressOf(folder, 'foreign_tables'), (pool) => pool.query('CREATE TABLE theirs (id BIGINT)'));
  const asGuest = addressOf(folder, 'of_another_user').replace('postgres@', 'guest@');
  const refused = await preparePostgres(asGuest).catch((error: unknown) => String(error));
  assert.match(String(refused), /its user lacks a right. Make the user the owner/);
  await fails(preparePostgres(addressOf(folder, 'latin')), 'database_encoding_wrong');
  await fails(preparePostgres(addressOf(folder, 'foreign_tables')), 'database_foreign');
  await fails(preparePostgres(addressOf(folder, 'nowhere')), 'storage_unavailable');
  const open = (url: string, byte: number) =>
    openSqliteDatabase({ ...plain, url, secretKey: new Uint8Array(32).fill(byte) });
  const [empty, first, second] = [open(addressOf(folder, 'empty'), 1), open(url, 1), open(url, 2)];
  await fails(empty.stores.list(), 'schema_not_current');
  const both = await Promise.all([1, 2].map(() => preparePostgres(addressOf(folder, 'empty'))));
  assert.equal(both.flat(), ['schema.sql'], 'only one of two creates the tables');
  await first.stores.list();
  await fails(second.stores.list(), 'secret_key_wrong');
  for (const one of [empty, first, second]) one.close();
  await onPool(url, (pool) => pool.query("UPDATE meta SET value = '7' WHERE name = 'schema_version'"));
  await fails(preparePostgres(url), 'database_newer');
  remove();
});

onServer('a commit that breaks in any way takes place once, and its command has the answer of that time', async () => {
  const { url, remove } = copyTemplate(folder);
  const proxy = await openPostgresProxy(folder);
  const db = openPostgres(proxy.address(new URL(url).pathname.slice(1)), {});
  await db.write(() => add(db).run('a', 0));
  const next = raise(db);
  let [bodies, expected] = [0, 0];
  for (const how of [...everyBreak, 'after', 'late', 'late', 'before'] as const) {
    proxy.next.push(how);
    const raising = () => {
      bodies++;
      return next.get('a');
    };
    const answer = await outOfTime(() => db.write(raising));
    assert.is(answer, ++expected, `after a commit was broken ${how}`);
  }
  assert.is(proxy.broken(), expected);
  assert.ok(bodies > expected, 'what did not take place was run again');
  proxy.next.push('late', 'late', 'after');
  assert.is(await outOfTime(() => db.write(() => next.get('a'))), expected + 1, 'broken three times');
  db.close();
  proxy.close();
  remove();
});

/** Calls a server that accepts connections and says nothing. */
async function callSilent(): Promise<void> {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const address = silent.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const db = openPostgres(`postgres://user@127.0.0.1:${port}/none`, {});
  const calls = [db.read(async () => {}), db.write(async () => {})];
  await Promise.all(calls.map((call) => fails(call, 'storage_unavailable')));
  db.close();
  silent.close();
}

onServer('a server that does not answer, or stops to, is unavailable and never waited for without end', async () => {
  const { url, remove } = copyTemplate(folder);
  const db = openPostgres(url, {});
  const pid = db.client.values('SELECT pg_backend_pid()');
  const paused = Number(await db.read(() => pid.get()));
  const [sinceMs, stopped] = [performance.now(), [paused]];
  process.kill(paused, 'SIGSTOP');
  try {
    const other = Number(await outOfTime(() => db.read(() => pid.get())));
    assert.is.not(other, paused, 'what nobody answers at its begin goes on over another connection');
    const calling = callSilent();
    await fails(
      db.write(async () => {
        stopped.push(Number(await pid.get()));
        process.kill(stopped.at(-1) ?? 0, 'SIGSTOP');
        await raise(db).get('a');
      }),
      'storage_unavailable',
    );
    await calling;
    assert.ok(performance.now() - sinceMs < BOUND_MS, 'within the bound');
  } finally {
    for (const one of stopped) process.kill(one, 'SIGCONT');
  }
  await db.write(() => add(db).run('b', 1));
  db.close();
  remove();
});

test.run();
