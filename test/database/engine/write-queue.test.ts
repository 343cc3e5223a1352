/** Waiting for other processes' writes: without blocking the thread, in order, in turns, and not for ever. */
import Sqlite from 'better-sqlite3';
import * as assert from 'uvu/assert';
import { openSqlite } from '../../../src/database/engine/open.ts';
import type { WriteMeasure } from '../../../src/database/engine/write-queue.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { addShop, Feed, fails, newSession } from '../../conformance/database/place.ts';
import { column } from '../../support/fields.ts';
import { type LockHolder, startLockHolder } from '../../support/lock.ts';
import { openTempDatabase, type TempDatabase } from '../../support/temp-database.ts';
import { testsIn } from '../../support/tests-in.ts';
import { audit } from './audit.ts';

type Place = TempDatabase & Readonly<{ other: LockHolder }>;

/** Runs a test on a file with a merchant, addresses and a followed network, beside a process that can lock it. */
async function beside(work: (place: Place) => Promise<void>): Promise<void> {
  const place = openTempDatabase();
  const { database, file } = place;
  await addShop(database, 100);
  await new Feed(database, 'one').mine();
  const other = await startLockHolder(file);
  try {
    await work({ ...place, other });
    assert.equal(audit(file), []);
  } finally {
    await other.kill();
    place.close();
  }
}
const test = testsIn(beside);

/** A connection, and what each of its writes took. */
function openMeasured(file: string) {
  const measures: WriteMeasure[] = [];
  const db = openSqlite({ file, busyTimeoutMs: 60_000, onWrite: (measure) => void measures.push(measure) });
  return { db, measures };
}

function holdUpThread(forMs: number): void {
  const untilMs = performance.now() + forMs;
  while (performance.now() < untilMs);
}

const alarm = (code: string) => ({ atMs: 1, code, message: code, network: null, sessionId: null });

test('while another process writes, reads are answered; then what waited is written in the order in which it came', async ({
  database,
  other,
}) => {
  await other.tell('hold');
  const settled: string[] = [];
  const waiting = ['a', 'b', 'c', 'd'].map(async (code) => {
    await database.alarms.raise(alarm(code));
    settled.push(code);
  });
  const created = database.sessions.create(newSession('o1'));
  for (let turn = 0; turn < 100; turn++) {
    assert.is((await database.networks.list()).length, 1);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(settled, []);
  await other.tell('release');
  assert.is((await created).kind, 'created');
  await Promise.all(waiting);
  assert.equal(settled, ['a', 'b', 'c', 'd']);
  assert.equal(column(await database.alarms.list(9), 'code'), ['d', 'c', 'b', 'a']);
});

test('a write is not refused untried because the thread was held up', async ({ file }) => {
  const db = openSqlite({ file, busyTimeoutMs: 20 });
  const written = db.write(() => 'written', { isGrouped: true });
  holdUpThread(50);
  assert.is(await written, 'written');
  db.close();
});

test('grouped writes of one turn are one transaction, in order; one that fails leaves the others', async ({ file }) => {
  const client = new Sqlite(file);
  const { db, measures } = openMeasured(file);
  client.exec('CREATE TABLE grouped (n INTEGER PRIMARY KEY)');
  const insert = db.client.prepare('INSERT INTO grouped VALUES (?)');
  const write = (n: number, isGrouped: boolean) => db.write(() => insert.run(n), { isGrouped });
  const asked = [write(1, true), write(2, true), write(1, true), write(3, false)];
  // After so long a wait their transaction may take 200 ms, so that a busy machine does not end it early.
  holdUpThread(800);
  const ended = await Promise.allSettled(asked);
  assert.equal(column(ended, 'status'), ['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  assert.equal(client.prepare('SELECT n FROM grouped ORDER BY rowid').pluck().all(), [1, 2, 3]);
  assert.is(measures.length, 1);
  // A write that has not begun when the file is closed is refused.
  const last = write(4, true);
  db.close();
  assert.is((await Promise.allSettled([last]))[0]?.status, 'rejected');
  assert.is(client.prepare('SELECT count(*) FROM grouped').pluck().get(), 3);
  client.close();
});

test('the longer writes have waited, the more of them are written in one transaction', async ({ file, other }) => {
  const { db, measures } = openMeasured(file);
  const insert = db.client.prepare('INSERT INTO alarms (at_ms, code, message) VALUES (1, ?, ?)');
  await other.tell('hold');
  const waiting = Array.from({ length: 6 }, (_, n) =>
    db.write(() => {
      // Each alone takes longer than a group of writes that have only just been asked for.
      holdUpThread(25);
      return insert.run(`w${n}`, '');
    }),
  );
  await systemClock.sleep(800);
  await other.tell('release');
  await Promise.all(waiting);
  assert.ok(measures.length < waiting.length, `${measures.length} transactions for ${waiting.length} writes`);
  db.close();
});

test('at most 100 writes are committed together, so that those who asked for them do not hold up the thread', async ({
  file,
  other,
}) => {
  const { db, measures } = openMeasured(file);
  const insert = db.client.prepare("INSERT INTO alarms (at_ms, code, message) VALUES (1, 'x', '')");
  await other.tell('hold');
  const waiting = Array.from({ length: 250 }, () => db.write(() => void insert.run()));
  await systemClock.sleep(800);
  await other.tell('release');
  await Promise.all(waiting);
  const rows = measures.map((measure) => measure.rows);
  assert.ok(Math.max(...rows) <= 100, rows.join());
  db.close();
});

test('what waited for too long is refused, and is never written', async ({ connect, database, other }) => {
  const hasty = connect(50);
  await other.tell('hold');
  await Promise.all([
    fails(hasty.sessions.create(newSession('o1')), 'storage_unavailable'),
    fails(hasty.alarms.raise(alarm('late')), 'storage_unavailable'),
  ]);
  await other.tell('release');
  await hasty.alarms.raise(alarm('next'));
  assert.is(await database.sessions.find('o1'), null);
  assert.equal(column(await database.alarms.list(9), 'code'), ['next']);
  hasty.close();
});

test('if the disk is full, writes that waited together are all refused, and nothing of them is saved', async ({
  file,
  database,
  other,
}) => {
  const db = openSqlite({ file, busyTimeoutMs: 60_000, bytesMax: 1_000_000 });
  const insert = db.client.prepare('INSERT INTO alarms (at_ms, code, message) VALUES (1, ?, ?)');
  await other.tell('hold');
  const ending = Promise.allSettled([
    db.write(() => insert.run('small', '')),
    db.write(() => insert.run('large', 'x'.repeat(2_000_000))),
  ]);
  await other.tell('release');
  const ends = await ending;
  const codes = (await database.alarms.list(9)).map(({ code }) => code);
  assert.equal(ends[1]?.status, 'rejected');
  assert.equal(codes, ends[0]?.status === 'fulfilled' ? ['small'] : [], 'what was answered is what was saved');
  await db.write(() => insert.run('next', ''));
  db.close();
});

test('no more than 1,000 writes wait; the next is refused at once', async ({ connect, other }) => {
  const database = connect(60_000);
  await other.tell('hold');
  const waiting = Array.from({ length: 1_000 }, (_, n) => database.alarms.raise(alarm(`a${n}`)));
  await fails(database.alarms.raise(alarm('one too many')), 'storage_unavailable');
  await other.tell('release');
  await Promise.all(waiting);
  assert.is((await database.alarms.list(2_000)).length, 1_000);
  database.close();
});

test('a process that writes back to back lets others write in between', async ({ database, other }) => {
  await other.tell('write');
  for (let n = 0; n < 20; n++) {
    await database.alarms.raise(alarm(`a${n}`));
    await systemClock.sleep(5);
  }
  await other.kill();
  const codes = (await database.alarms.list(10_000)).map(({ code }) => code).reverse();
  const others = codes.slice(codes.indexOf('a0')).filter((code) => code === 'back_to_back').length;
  assert.ok(others <= 60, `the other process wrote ${others} times between 20 writes of this one`);
});

test('the turn of a process that dies is free again, and a suspended process is waited for only once', async ({
  database,
  file,
  other,
}) => {
  await other.tell('turn');
  await other.kill();
  await database.alarms.raise(alarm('after a death'));

  const suspended = await startLockHolder(file);
  await suspended.tell('turn');
  suspended.suspend();
  await database.alarms.raise(alarm('after a wait'));
  let turns = 0;
  const counting = setInterval(() => turns++, 1);
  await database.alarms.raise(alarm('at once'));
  clearInterval(counting);
  assert.is(turns, 0, 'the second write did not wait');
  await suspended.kill();
  await database.alarms.raise(alarm('in turn'));
});

test('what each write took is reported: waiting, holding the lock, and rows', async ({ file, other }) => {
  const { db, measures } = openMeasured(file);
  const insert = db.client.prepare("INSERT INTO alarms (at_ms, code, message) VALUES (1, 'a', '')");
  await other.tell('hold');
  const written = db.write(() => [insert.run(), insert.run()]);
  const failing = db.write(() => {
    throw new Error('no');
  });
  const ending = Promise.allSettled([written, failing]);
  await other.tell('release');
  assert.equal(column(await ending, 'status'), ['fulfilled', 'rejected']);
  assert.is(
    column(measures, 'rows').reduce((sum, rows) => sum + rows),
    2,
  );
  assert.ok(measures.every(({ waitedMs, heldMs }) => waitedMs > 0 && heldMs > 0));
  db.close();
});

test('closing refuses what still waits', async ({ connect, database, other }) => {
  const locked = connect();
  await other.tell('hold');
  const refused = locked.alarms.raise(alarm('refused'));
  locked.close();
  await fails(refused, 'storage_unavailable');
  await other.tell('release');
  assert.equal(await database.alarms.list(9), []);
});

test.run();
