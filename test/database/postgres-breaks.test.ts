/** PostgreSQL's engine when connections break or the server does not answer. Run by `npm test -- --postgres`. */
import { createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openSqliteDatabase } from '../../src/database/database.ts';
import type { Db } from '../../src/database/engine/open.ts';
import { openPostgres } from '../../src/database/engine/postgres.ts';
import {
  addressOf as depositAddress,
  Feed,
  fails,
  keyOf,
  merchant,
  newSession,
  pays,
  pool,
  sessionOf,
  T0_MS,
} from '../conformance/database/place.ts';
import { copyTemplate } from '../support/postgres.ts';
import { breaks, openPostgresProxy } from '../support/postgres-proxy.ts';
import { secretKey } from '../support/temp-database.ts';

const folder = process.env.TEST_POSTGRES ?? '';
const test = suite('postgres-breaks');
const onServer = folder === '' ? test.skip : test;
/** Retries end after five seconds; the last of them may wait for an answer. */
const BOUND_MS = 12_000;

const raise = (db: Db) =>
  db.client.prepare('UPDATE counters SET last = last + 1 WHERE owner = ? RETURNING last').pluck();

const databaseOf = (url: string): string => new URL(url).pathname.slice(1);

onServer('a commit that breaks in any way takes place once, and its command has the answer of that time', async () => {
  const { url, remove } = copyTemplate(folder);
  const proxy = await openPostgresProxy(folder);
  const db = openPostgres(proxy.address(databaseOf(url)), {});
  await db.write(() => db.client.prepare("INSERT INTO counters (owner, last) VALUES ('a', 0)").run());
  const next = raise(db);
  let [bodies, expected] = [0, 0];
  for (const how of [...breaks, 'after', 'late', 'late', 'before'] as const) {
    proxy.next.push(how);
    const answer = await db.write(async () => {
      bodies++;
      return next.get('a');
    });
    assert.is(answer, ++expected, `after a commit was broken ${how}`);
  }
  assert.is(proxy.broken(), expected);
  assert.ok(bodies > expected, 'what did not take place was run again');
  proxy.next.push('late', 'late', 'after');
  assert.is(await db.write(() => next.get('a')), expected + 1, 'broken three times');
  db.close();
  proxy.close();
  remove();
});

onServer('sessions that are created, and blocks that are read, over breaking commits are there once', async () => {
  const { url, remove } = copyTemplate(folder);
  const proxy = await openPostgresProxy(folder);
  const database = openSqliteDatabase({
    ...{ file: '', url: proxy.address(databaseOf(url)), secretKey, busyTimeoutMs: 5000, bytesMax: null },
    outageWaitS: 600,
  });
  const breakNext = (at: number) => proxy.next.splice(0, 1, breaks[at % 3] ?? 'before');
  await database.stores.create(merchant('m1'));
  await database.addresses.add({
    ...pool,
    source: 'xpub',
    firstIndex: 0,
    keys: Array.from({ length: 9 }, (_, n) => keyOf(n)),
  });
  const feed = new Feed(database, 'one');
  await feed.mine();
  for (let at = 0; at < 6; at++) {
    breakNext(at);
    const nonce = { keyId: 'k1', nonce: `n${at}`, nowMs: T0_MS, keepUntilMs: T0_MS + 60_000 };
    const outcome = await database.sessions.create(newSession(`o${at}`, { nonce }));
    assert.is(outcome.kind, 'created', 'its own nonce is not one that was used before');
    breakNext(at + 1);
    const block = await feed.mine([pays(depositAddress(sessionOf(outcome)), 1000n, { tx: `0x${at}` })]);
    breakNext(at + 2);
    await feed.confirm(block);
  }
  assert.is(proxy.broken(), 18);
  assert.is((await database.addresses.level(pool, 'xpub')).taken, 6);
  const events = await database.events.list({
    ...{ storeId: 'm1', mode: 'test', types: ['payment.completed'], first: 'oldest', limit: 100 },
    ...{ fromId: '', beforeId: '~' },
  });
  assert.is(events.length, 6, 'one event for each payment');
  database.close();
  proxy.close();
  remove();
});

onServer('a server that stops answering is unavailable, and never waited for without end', async () => {
  const { url, remove } = copyTemplate(folder);
  const db = openPostgres(url, {});
  const pid = db.client.prepare('SELECT pg_backend_pid()').pluck();
  const paused = Number(await db.read(() => pid.get()));
  process.kill(paused, 'SIGSTOP');
  try {
    const other = Number(await db.read(() => pid.get()));
    assert.is.not(other, paused, 'what nobody answers at its begin goes on over another connection');
    const sinceMs = performance.now();
    const stopped: number[] = [];
    await fails(
      db.write(async () => {
        stopped.push(Number(await pid.get()));
        process.kill(stopped.at(-1) ?? 0, 'SIGSTOP');
        await raise(db).get('a');
      }),
      'storage_unavailable',
    );
    for (const one of stopped) process.kill(one, 'SIGCONT');
    assert.ok(performance.now() - sinceMs < BOUND_MS, 'within the bound');
  } finally {
    process.kill(paused, 'SIGCONT');
  }
  await db.write(() => db.client.prepare("INSERT INTO counters (owner, last) VALUES ('b', 1)").run());
  db.close();
  remove();
});

test('an address where somebody listens and says nothing is unavailable', async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const address = silent.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const db = openPostgres(`postgres://user@127.0.0.1:${port}/none`, {});
  const sinceMs = performance.now();
  await Promise.all([
    fails(
      db.read(async () => {}),
      'storage_unavailable',
    ),
    fails(
      db.write(async () => {}),
      'storage_unavailable',
    ),
  ]);
  assert.ok(performance.now() - sinceMs < BOUND_MS, 'within the bound');
  db.close();
  silent.close();
});

test.run();
