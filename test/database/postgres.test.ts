/** The engine on PostgreSQL: what only it does. Run by `npm test -- --postgres`; without a server, all is skipped. */
import { Pool } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '../../src/core/fault.ts';
import { openSqliteDatabase } from '../../src/database/database.ts';
import { textsPrepared } from '../../src/database/engine/client.ts';
import { openEngine } from '../../src/database/engine/engine.ts';
import { fenced } from '../../src/database/engine/fenced.ts';
import { openPostgres } from '../../src/database/engine/postgres.ts';
import { preparePostgres, refuseUnfit } from '../../src/database/engine/postgres-server.ts';
import { translator } from '../../src/database/engine/translate.ts';
import { leaseCommands } from '../../src/database/leases.ts';
import { breaks, fails } from '../conformance/database/place.ts';
import { addressOf, copyTemplate } from '../support/postgres.ts';
import { openTempDatabase } from '../support/temp-database.ts';

const folder = process.env.TEST_POSTGRES ?? '';
const test = suite('postgres');
const onServer = folder === '' ? test.skip : test;

/** Runs statements on a server's database, as its administrator. */
async function onPool<T>(url: string, work: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = new Pool({ connectionString: url, max: 2 });
  pool.on('error', () => {});
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

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

test('an address that names no database of PostgreSQL is refused', () => {
  for (const url of ['', 'mysql://h/d', 'postgres://h', 'postgres://h/'])
    assert.throws(
      () => openPostgres(url, {}),
      (error: unknown) => error instanceof Fault && error.code === 'database_url_wrong',
    );
});

onServer('the server understands every statement', async () => {
  const [place, copied] = [openTempDatabase(), copyTemplate(folder)];
  const texts = textsPrepared(() => place.connect().close());
  assert.ok(texts.length > 150, `${texts.length} statements were seen`);
  await onPool(copied.url, async (pool) => {
    for (const text of texts) {
      const nulls = new Proxy({}, { get: () => null });
      const isNamed = /(?<!:)[:@][a-z]/i.test(text.replaceAll(/'[^']*'/g, ''));
      const given = isNamed ? [nulls] : Array.from(text, () => null);
      await pool.query(`EXPLAIN ${translator(text)(given).text}`);
    }
  });
  place.close();
  copied.remove();
});

onServer('a lost transaction and a broken connection are run again; a number above 2^53 is refused', async () => {
  const { url, remove } = copyTemplate(folder);
  const [one, two] = [openPostgres(url, {}), openPostgres(url, {})];
  const add = one.client.prepare('INSERT INTO counters (owner, last) VALUES (?, ?)');
  const read = (db: typeof one) => db.client.prepare('SELECT last FROM counters WHERE owner = ?').pluck();
  const raise = (db: typeof one) => db.client.prepare('UPDATE counters SET last = ? WHERE owner = ?');
  await one.write(() => add.run('a', 0));
  const bump = (db: typeof one) =>
    db.write(async () => {
      await raise(db).run(Number(await read(db).get('a')) + 1, 'a');
    });
  await Promise.all(Array.from({ length: 20 }, (_, at) => bump(at % 2 ? one : two)));
  assert.is(await two.read(() => read(two).get('a')), 20);
  let isCut = false;
  await one.write(async () => {
    await raise(one).run(21, 'a');
    if (isCut) return;
    isCut = true;
    const own = await one.client.prepare('SELECT pg_backend_pid()').pluck().get();
    await onPool(url, (pool) => pool.query('SELECT pg_terminate_backend($1)', [own]));
    await raise(one).run(99, 'a');
  });
  assert.is(await two.read(() => read(two).get('a')), 21);
  await one.write(() => raise(one).run(2n ** 60n, 'a'));
  const above = await one.read(() => read(one).get('a')).catch((error: unknown) => String(error));
  assert.match(String(above), /above 2\^53/);
  await breaks(one.write(() => add.run('b', null)));
  one.close();
  two.close();
  remove();
});

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

onServer('nobody takes a lease between the comparison of its fence and the commit', async () => {
  const { url, remove } = copyTemplate(folder);
  const [one, two] = [openPostgres(url, {}), openPostgres(url, {})];
  const [holder, standby] = [leaseCommands(one), leaseCommands(two)];
  const fence = (await holder.take({ name: 'chores', holder: 'a', isBack: true })) ?? 0;
  await holder.letGo({ name: 'chores', fence });
  const slow = one.client.prepare('SELECT pg_sleep(0.5)::text');
  const add = one.client.prepare('INSERT INTO counters (owner, last) VALUES (?, ?)');
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  let isTaken = false;
  let wasTaken = true;
  const writing = fenced(one, { name: 'chores', fence }, () => {}).write(async () => {
    begin();
    await slow.get();
    await add.run('a', 1);
    // Read before the commit: of two commits that follow each other, the second may be answered first.
    wasTaken = isTaken;
  });
  await begun;
  const taking = standby.take({ name: 'chores', holder: 'b', isBack: true }).then((taken) => {
    isTaken = true;
    return taken;
  });
  const [taken] = await Promise.all([taking, writing]);
  assert.equal({ taken, wasTaken }, { taken: fence + 1, wasTaken: false });
  one.close();
  two.close();
  remove();
});

onServer('a user without rights, and a second installation, are refused in a sentence', async () => {
  const { url, remove } = copyTemplate(folder);
  await onPool(addressOf(folder, 'postgres'), async (pool) => {
    await pool.query('CREATE ROLE guest LOGIN');
    await pool.query('CREATE DATABASE of_another_user');
  });
  const asGuest = addressOf(folder, 'of_another_user').replace('postgres@', 'guest@');
  const refused = await preparePostgres(asGuest).catch((error: unknown) => String(error));
  assert.match(String(refused), /its user lacks a right. Make the user the owner/);
  const options = { file: '', url, busyTimeoutMs: 5_000, bytesMax: null, outageWaitS: 600 };
  const [first, second] = [1, 2].map((byte) =>
    openSqliteDatabase({ ...options, secretKey: new Uint8Array(32).fill(byte) }),
  );
  await first?.stores.list();
  await fails(Promise.resolve(second?.stores.list()), 'secret_key_wrong');
  first?.close();
  second?.close();
  remove();
});

onServer('what cannot be used is refused in a sentence', async () => {
  const { url, remove } = copyTemplate(folder);
  await onPool(addressOf(folder, 'postgres'), async (pool) => {
    await pool.query(`CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`);
    await pool.query('CREATE DATABASE foreign_tables');
    await pool.query('CREATE DATABASE empty');
  });
  await onPool(addressOf(folder, 'foreign_tables'), (pool) => pool.query('CREATE TABLE theirs (id BIGINT)'));
  await fails(preparePostgres(addressOf(folder, 'latin')), 'database_encoding_wrong');
  await fails(preparePostgres(addressOf(folder, 'foreign_tables')), 'database_foreign');
  await fails(preparePostgres(addressOf(folder, 'nowhere')), 'storage_unavailable');
  const empty = openEngine(
    { url: addressOf(folder, 'empty'), file: '', busyTimeoutMs: 5_000, bytesMax: null },
    async () => {},
  );
  await fails(
    empty.read(async () => {}),
    'schema_not_current',
  );
  empty.close();
  const both = await Promise.all([1, 2].map(() => preparePostgres(addressOf(folder, 'empty'))));
  assert.equal(both.flat(), ['schema.pg.sql'], 'only one of two creates the tables');
  await onPool(url, (pool) =>
    pool.query(`UPDATE meta SET name = 'migration 0007', value = replace(value, '"version":0', '"version":7')
      WHERE name = 'migration 0000'`),
  );
  await fails(preparePostgres(url), 'database_newer');
  remove();
});

test.run();
