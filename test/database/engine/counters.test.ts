/** Numbers that give an order: from the counters of their owners, and from no row that everybody writes. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openSqlite } from '../../../src/database/engine/open.ts';
import { nextNumber } from '../../../src/database/meta.ts';
import {
  addressOf,
  Feed,
  keyOf,
  merchant,
  newSession,
  pays,
  pool,
  sessionOf,
} from '../../conformance/database/place.ts';
import { closing } from '../../support/closing.ts';
import { raw } from '../../support/raw.ts';
import { openTempDatabase } from '../../support/temp-database.ts';

test('two connections take an owner’s numbers without gaps; a write that fails takes none', async () => {
  const { file } = closing(openTempDatabase());
  const open = () => openSqlite({ file, busyTimeoutMs: 5000 });
  const connections = [open(), open()];
  const taken: number[] = [];
  for (let at = 0; at < 10; at++) {
    const db = connections[at % 2] as ReturnType<typeof open>;
    const next = (owner: string) => nextNumber(db, owner);
    const failing = db.write(async () => {
      await next('x');
      throw new Error('it ends in vain');
    });
    await failing.catch(() => {});
    taken.push(await db.write(() => next('x')));
  }
  assert.equal(taken, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  const [one] = connections as [ReturnType<typeof open>];
  const next = (owner: string, least?: number) => nextNumber(one, owner, least);
  const numbers = await one.write(async () => [
    await next('x', 50),
    await next('x', 50),
    await next('x', 7),
    await next('y'),
  ]);
  assert.equal(numbers, [50, 51, 52, 1]);
  for (const db of connections) db.close();
});

/** Returns each row as text by its table and key. */
function rowsOf(file: string): Map<string, string> {
  return raw(file, (client) => {
    const tables = client.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[];
    const rows = new Map<string, string>();
    for (const table of tables.filter((name) => !name.startsWith('sqlite_'))) {
      const columns = client.pragma(`table_info(${table})`) as { name: string; pk: number }[];
      const keys = columns.filter(({ pk }) => pk > 0).map(({ name }) => name);
      for (const row of client.prepare(`SELECT * FROM ${table}`).all() as Record<string, unknown>[])
        rows.set(`${table} ${keys.map((key) => row[key]).join(' ')}`, JSON.stringify(row));
    }
    return rows;
  });
}

test('creating a session changes its own addresses only, and events of stores are numbered apart', async () => {
  const { database, file } = closing(openTempDatabase());
  for (const id of ['m1', 'm2']) await database.stores.create(merchant(id));
  await database.addresses.add({ ...pool, source: 'xpub', firstIndex: 0, keys: [1, 2].map(keyOf) });
  const [feed, second] = [new Feed(database, 'one'), new Feed(database, 'two')];
  await feed.mine();
  await second.mine();
  const open = async (name: string, storeId: string) =>
    sessionOf(await database.sessions.create({ ...newSession(name), storeId }));
  const before = rowsOf(file);
  const sessions = [await open('o1', 'm1'), await open('o2', 'm2')];
  const after = rowsOf(file);
  const changed = [...before].filter(([key, row]) => after.get(key) !== row).map(([key]) => key.split(' ')[0]);
  assert.equal(changed, ['addresses', 'addresses']);

  await feed.confirm(await feed.mine(sessions.map((one, at) => pays(addressOf(one), 1000n, { tx: `0x${at}` }))));
  const range = { mode: 'test', fromId: '', beforeId: '~', first: 'oldest', limit: 10 } as const;
  const [own = [], other = []] = await Promise.all(
    ['m1', 'm2'].map(async (storeId) => (await database.events.list({ ...range, storeId })).map(({ id }) => id)),
  );
  assert.ok(own.length > 1 && own.length === other.length, `${own.length} and ${other.length} events`);
  assert.is(new Set([...own, ...other]).size, 2 * own.length, 'no id of one store is that of another');
  for (const ids of [own, other]) assert.equal(ids, [...ids].sort(), 'in its order');
});

test.run();
