/**
 * Somebody who can write to the database file and has no key alters suspensions of stores. An altered row is not used,
 * and an alarm names it.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Database } from '../../../src/database/database.ts';
import { act, inWorld, type World } from '../../conformance/database/place.ts';
import { alterRow } from '../../support/raw.ts';
import { until } from '../../support/until.ts';

const test = suite('MACs of rows');

const alarmed = (database: Database, text: string) =>
  until(`an alarm names ${text}`, async () =>
    (await database.alarms.list(20)).some(({ code, message }) => code === 'row_altered' && message.includes(text)),
  );

async function staysSuspended({ database, place }: World, change: string): Promise<void> {
  await database.stores.decide('m1', 'suspend', act('store suspend'));
  const suspended = async () => (await database.stores.find('m1'))?.suspension;
  assert.ok(await suspended());
  alterRow(place.file, `UPDATE stores SET ${change} WHERE id = 'm1'`);
  assert.match((await suspended())?.because ?? '', /altered/);
  await alarmed(database, 'store m1');
  const again = await database.stores.decide('m1', 'suspend', act('store suspend'));
  assert.is(again?.suspension?.because, 'a test');
  await database.stores.decide('m1', 'approve', act('store approve'));
  assert.is(await suspended(), undefined);
}

for (const change of [`status = 'approved'`, `decided_because = 'nothing'`, 'decided_at_ms = 5', 'mac = NULL'])
  test(
    `a store whose suspension was altered (${change}) stays suspended`,
    inWorld((world) => staysSuspended(world, change)),
  );

test.run();
