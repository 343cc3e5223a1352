/** How many sessions stores created, and what became of them: kept with them, filled after an upgrade, audited. */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { QUARTER_MS } from '../../../src/database/credit-totals.ts';
import type { Database } from '../../../src/database/database.ts';
import { ingestedChain } from '../../support/ingested-chain.ts';
import { merchantStore, newSession } from '../../support/new-session.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { testNetwork } from '../../support/test-network.ts';

const QUARTER = 1_920_000;
const network = testNetwork({ name: 'one' });

type At = Parameters<Database['countSessions']>[0];

/** Returns created, paid and unpaid of the quarters around the first one. */
async function countsOf(database: Pick<Database, 'countSessions'>, at: At): Promise<readonly number[][]> {
  const times = [-1, 0, 1, 2].map((after) => (QUARTER + after) * QUARTER_MS);
  return (await database.countSessions(at, times)).map(({ created, paid, unpaid }) => [created, paid, unpaid]);
}

test('a session is counted where it was created, and what becomes of it is counted there too', async () => {
  const place = openTempDatabase();
  try {
    const { database } = place;
    let nowMs = QUARTER * QUARTER_MS + 5;
    const store = merchantStore();
    await database.createStore(store);
    const keys = ['01', '02', '03', '04', '05'].map((byte) => byte.repeat(20));
    await database.addAddresses({ family: network.family, mode: 'test', source: 'x', firstIndex: 0, keys });
    const chain = ingestedChain(() => database, { nowMs: () => nowMs }, network);
    await chain.mine();
    await chain.report('following');
    const at = { storeId: store.id, mode: 'test' } as const;
    const create = (name: string) =>
      database.createSession(newSession({ storeId: store.id, name, networks: [network], amountMinor: 1000, nowMs }));
    for (const name of ['1', '2', '3']) await create(name);
    await create('3');
    const none = [0, 0, 0];
    assert.equal(await countsOf(database, at), [none, [3, 0, 0], none], 'a repeated request creates nothing');
    nowMs += QUARTER_MS;
    await chain.report('following');
    await create('4');
    await chain.confirm(await chain.mine([{ to: keys[0] ?? '', currency: 'USDT', units: 10_000_000n }]));
    assert.equal(await countsOf(database, at), [none, [3, 1, 0], [1, 0, 0]], 'paid a quarter of an hour later');
    const canceled = newSession({ storeId: store.id, name: '4', networks: [network], amountMinor: 1000, nowMs });
    await database.cancelSession({ storeId: store.id, mode: 'test', id: canceled.id, replay: canceled.replay, nowMs });
    assert.equal(await countsOf(database, at), [none, [3, 1, 0], [1, 0, 1]]);
    nowMs += 10 * QUARTER_MS;
    await chain.report('following');
    await chain.mine();
    await database.settleDue(nowMs + QUARTER_MS * 100, 10);
    assert.equal(await countsOf(database, at), [none, [3, 1, 2], [1, 0, 1]], 'expired');
    assert.equal(await countsOf(database, { ...at, mode: 'live' }), [none, none, none]);
    assert.equal(await countsOf(database, { ...at, storeId: 'other' }), [none, none, none]);
    const again = place.connect();
    assert.equal(await countsOf(again, at), [none, [3, 1, 2], [1, 0, 1]]);
    again.close();
    assert.equal((await database.verifyLedger()).sums, []);

    const alter = async (text: string) => {
      const client = new Sqlite(place.file);
      client.exec(text);
      client.close();
      return (await database.verifyLedger()).sums.join('\n');
    };
    const first = `WHERE quarter = ${QUARTER}`;
    const wrong = await alter(`UPDATE session_totals SET paid = 2, unpaid = 1 ${first}`);
    assert.match(
      wrong,
      /session total .* test 1920000: kept as 3 created, 2 paid, 1 unpaid; the sessions are 3 created, 1/,
    );
    const more = await alter(`UPDATE session_totals SET created = 4, paid = 1, unpaid = 3 ${first}`);
    assert.match(
      more,
      /session total .* test 1920000: kept as 4 created, 1 paid, 3 unpaid; the sessions are 3 created/,
    );
    assert.match(
      await alter(`DELETE FROM session_totals ${first}`),
      /session total .* 1920000: missing, for 3 sessions/,
    );
  } finally {
    place.close();
  }
});

test.run();
