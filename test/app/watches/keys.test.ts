/** A key that expires within two weeks opens an alarm, which lasts until the key is revoked. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { issueKey } from '../../../src/app/new-credentials.ts';
import { watchKeys } from '../../../src/app/watches/keys.ts';
import { handClock } from '../../support/hand-clock.ts';
import { merchantStore } from '../../support/new-session.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { CALM_MS, watched } from '../../support/watched.ts';

const DAY_MS = 86_400_000;

test('the alarm comes two weeks before, changes when the key is refused, and ends when it is revoked', async () => {
  const clock = handClock();
  const { database, close } = openTempDatabase();
  try {
    const store = merchantStore();
    await database.stores.create(store);
    const make = async (life: object) => {
      const { row } = issueKey(store.id, 'live', ['sessions:read'], clock.nowMs(), life);
      await database.keys.create(row);
      return row;
    };
    await make({});
    const { id, hint } = await make({ expiresAtMs: clock.nowMs() + 20 * DAY_MS });
    const bench = watched(watchKeys(database.keys), database, clock);
    assert.equal(await bench.look(), []);
    assert.equal(await bench.after(6 * DAY_MS), [], 'exactly two weeks before');
    assert.equal(await bench.after(1), ['api_key_expiring']);
    const [alarm] = await bench.open();
    assert.ok(alarm?.message.includes(`API key ${id} (${hint}) of store ${store.id} expires at `), alarm?.message);
    assert.match(alarm?.message ?? '', /`quayside key revoke <id>`/);
    assert.equal(await bench.after(14 * DAY_MS), ['api_key_expired']);
    assert.equal(await bench.after(DAY_MS), ['api_key_expired'], 'the shop may not have noticed');
    await database.keys.revoke(id, { atMs: clock.nowMs(), operator: 'alice', command: 'key revoke', reason: null });
    await bench.look();
    assert.equal(await bench.after(CALM_MS), []);
  } finally {
    close();
  }
});

test.run();
