/** Money that stores received, and sessions that they created, by period. */

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Database } from '../../../src/database/database.ts';
import type { NewSession } from '../../../src/database/sessions.ts';
import { newSessionId } from '../../../src/lib/id.ts';
import { ingestedChain } from '../../support/ingested-chain.ts';
import { merchantStore, newSession, type SessionWish } from '../../support/new-session.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { testNetwork } from '../../support/test-network.ts';

const QUARTER_MS = 900_000;
const QUARTER = 1_920_000;
const COIN = 10n ** 18n;
const network = testNetwork({ name: 'one' });
const at = { storeId: 'm1', mode: 'test' } as const;

type Store = Parameters<Database['ledger']['sumCredits']>[0];

/** Returns the totals of the quarters before and after the first entry, with their quarter, where there are any. */
async function totalsOf(database: Database, store: Store = at) {
  const quarters = Array.from({ length: 10 }, (_, after) => QUARTER - 2 + after);
  const periods = await database.ledger.sumCredits(
    store,
    quarters.map((quarter) => quarter * QUARTER_MS),
  );
  return periods.flatMap((totals, period) => totals.map((total) => ({ quarter: quarters[period], ...total })));
}

async function shortTotals(database: Database, store: Store) {
  const totals = await totalsOf(database, store);
  return totals.map((one) => [one.quarter, one.credits, one.creditedPar, one.reversals, one.reversedPar]);
}

test('credits and what a reorg takes back are summed in the quarter of their entry, in the file and after a restart', async () => {
  const place = openTempDatabase();
  try {
    const { database } = place;
    let nowMs = QUARTER * QUARTER_MS + 5;
    const store = merchantStore();
    await database.stores.create(store);
    const keys = ['01', '02', '03'].map((byte) => byte.repeat(20));
    await database.addresses.add({ family: network.family, mode: 'test', source: 'x', firstIndex: 0, keys });
    const chain = ingestedChain(() => database, { nowMs: () => nowMs }, network);
    await chain.mine();
    await chain.report('following');
    const own = { storeId: store.id, mode: 'test' } as const;
    const create = (name: string) =>
      database.sessions.create(newSession({ storeId: store.id, name, networks: [network], amountMinor: 1000, nowMs }));
    await create('1');
    await create('2');
    assert.is(await database.ledger.hasCredits(own), false);
    // The third address has no session: its money belongs to nobody, and to no quarter.
    const coins = keys.map((to) => ({ to, currency: 'USDT', units: 10_000_000n }) as const);
    const block = await chain.mine([...coins, { to: keys[0] ?? '', currency: 'USDT', units: 1n }]);
    assert.equal(await totalsOf(database, own), [], 'not before it is confirmed');
    await chain.confirm(block);
    const first = 20n * COIN + 10n ** 12n;
    assert.equal(await shortTotals(database, own), [[QUARTER, 3, first, 0, 0n]]);
    nowMs += QUARTER_MS;
    await chain.report('following');
    await chain.orphanTip();
    assert.equal(await shortTotals(database, own), [
      [QUARTER, 3, first, 0, 0n],
      [QUARTER + 1, 0, 0n, 3, first],
    ]);
    const bounds = [0, QUARTER + 1, QUARTER + 2, QUARTER + 3].map((quarter) => quarter * QUARTER_MS);
    const summed = await database.ledger.sumCredits(own, bounds);
    const reversed = { network: network.key, currency: 'USDT', credits: 0, creditedPar: 0n, reversals: 3 };
    assert.equal(summed[1], [{ ...reversed, reversedPar: first }]);
    assert.equal([summed.length, summed[0]?.length, summed[2]?.length], [3, 1, 0], 'a period ends before the next');
    assert.equal(await totalsOf(database, { ...own, mode: 'live' }), []);
    assert.equal(await totalsOf(database, { ...own, storeId: 'other' }), []);
    assert.is(await database.ledger.hasCredits({ ...own, mode: 'live' }), false);
    assert.equal((await database.ledger.verify()).sums, []);
    const again = place.connect();
    assert.is(await again.ledger.hasCredits(own), true);
    again.close();
  } finally {
    place.close();
  }
});

/** A session whose id says when it was created, as that of every real one. */
const sessionNow = (wish: SessionWish): NewSession => ({ ...newSession(wish), id: newSessionId(wish.nowMs) });

/** Returns created, paid and unpaid of the quarters around the first one. */
async function countsOf(database: Database, at: Store): Promise<readonly number[][]> {
  const times = [-1, 0, 1, 2].map((after) => (QUARTER + after) * QUARTER_MS);
  return (await database.sessions.countSessions(at, times)).map(({ created, paid, unpaid }) => [created, paid, unpaid]);
}

test('a session is counted where it was created, and what becomes of it is counted there too', async () => {
  const place = openTempDatabase();
  try {
    const { database } = place;
    let nowMs = QUARTER * QUARTER_MS + 5;
    const store = merchantStore();
    await database.stores.create(store);
    const keys = ['01', '02', '03', '04', '05'].map((byte) => byte.repeat(20));
    await database.addresses.add({ family: network.family, mode: 'test', source: 'x', firstIndex: 0, keys });
    const chain = ingestedChain(() => database, { nowMs: () => nowMs }, network);
    await chain.mine();
    await chain.report('following');
    const at = { storeId: store.id, mode: 'test' } as const;
    const create = (name: string) =>
      database.sessions.create(sessionNow({ storeId: store.id, name, networks: [network], amountMinor: 1000, nowMs }));
    for (const name of ['1', '2', '3']) await create(name);
    await create('3');
    const none = [0, 0, 0];
    assert.equal(await countsOf(database, at), [none, [3, 0, 0], none], 'a repeated request creates nothing');
    nowMs += QUARTER_MS;
    await chain.report('following');
    const last = await create('4');
    await chain.confirm(await chain.mine([{ to: keys[0] ?? '', currency: 'USDT', units: 10_000_000n }]));
    assert.equal(await countsOf(database, at), [none, [3, 1, 0], [1, 0, 0]], 'paid a quarter of an hour later');
    assert.ok(last.kind === 'created');
    const { replay } = sessionNow({ storeId: store.id, name: '4', networks: [network], amountMinor: 1000, nowMs });
    await database.sessions.cancel({ storeId: store.id, mode: 'test', id: last.session.id, replay, nowMs });
    assert.equal(await countsOf(database, at), [none, [3, 1, 0], [1, 0, 1]]);
    nowMs += 10 * QUARTER_MS;
    await chain.report('following');
    await chain.mine();
    await database.sessions.settleDue(nowMs + QUARTER_MS * 100, 10);
    assert.equal(await countsOf(database, at), [none, [3, 1, 2], [1, 0, 1]], 'expired');
    assert.equal(await countsOf(database, { ...at, mode: 'live' }), [none, none, none]);
    assert.equal(await countsOf(database, { ...at, storeId: 'other' }), [none, none, none]);
    const again = place.connect();
    assert.equal(await countsOf(again, at), [none, [3, 1, 2], [1, 0, 1]]);
    again.close();
    assert.equal((await database.ledger.verify()).sums, []);
  } finally {
    place.close();
  }
});

test.run();
