/**
 * Somebody who can write to the database file and has no key alters suspensions of stores. An altered row is not used,
 * and an alarm names it.
 */
import Sqlite from 'better-sqlite3';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Database } from '../../../src/database/database.ts';
import { act, inWorld, type World } from '../../conformance/database/place.ts';
import { until } from '../../support/until.ts';

type Scene = World & Readonly<{ alter(sql: string): void }>;

const test = suite('MACs of rows');

/** Adds a test with a database, and a way to write to its file as another program does. */
function scene(name: string, work: (scene: Scene) => Promise<void>): void {
  test(
    name,
    inWorld(async (world) => {
      function alter(sql: string): void {
        const raw = new Sqlite(world.place.file);
        assert.is(raw.prepare(sql).run().changes, 1, sql);
        raw.close();
      }
      await work({ ...world, alter });
    }),
  );
}

const alarmed = (database: Database, text: string) =>
  until(`an alarm names ${text}`, async () =>
    (await database.alarms.list(20)).some(({ code, message }) => code === 'row_altered' && message.includes(text)),
  );

for (const change of [`status = 'approved'`, `decided_because = 'nothing'`, 'decided_at_ms = 5', 'mac = NULL']) {
  scene(`a store whose suspension was altered (${change}) stays suspended`, async ({ database, alter }) => {
    await database.stores.decide('m1', 'suspend', act('store suspend'));
    const suspended = async () => (await database.stores.find('m1'))?.suspension;
    assert.ok(await suspended());
    alter(`UPDATE stores SET ${change} WHERE id = 'm1'`);
    assert.match((await suspended())?.because ?? '', /altered/);
    await alarmed(database, 'store m1');
    const again = await database.stores.decide('m1', 'suspend', act('store suspend'));
    assert.equal([again?.hasChanged, again?.store.suspension?.because], [true, 'a test']);
    await database.stores.decide('m1', 'approve', act('store approve'));
    assert.is(await suspended(), undefined);
  });
}

test.run();
