/** What stores received by quarter of an hour: kept with the ledger, filled from it after an upgrade, and audited. */
import { readdirSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { QUARTER_MS } from '../../../src/database/credit-totals.ts';
import type { Database } from '../../../src/database/database.ts';
import { ingestedChain } from '../../support/ingested-chain.ts';
import { merchantStore, newSession } from '../../support/new-session.ts';
import { withOlderDatabase } from '../../support/older-database.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { testNetwork } from '../../support/test-network.ts';

const QUARTER = 1_920_000;
const COIN = 10n ** 18n;
const network = testNetwork({ name: 'one' });
const at = { storeId: 'm1', mode: 'test' } as const;

type Totals = Pick<Database, 'sumCredits'>;

/** Returns the totals of the quarters before and after the first entry, with their quarter, where there are any. */
async function totalsOf(database: Totals, store: Parameters<Totals['sumCredits']>[0] = at) {
  const quarters = Array.from({ length: 10 }, (_, after) => QUARTER - 2 + after);
  const periods = await database.sumCredits(
    store,
    quarters.map((quarter) => quarter * QUARTER_MS),
  );
  return periods.flatMap((totals, period) => totals.map((total) => ({ quarter: quarters[period], ...total })));
}

async function shortTotals(database: Totals, store: Parameters<Totals['sumCredits']>[0]) {
  const totals = await totalsOf(database, store);
  return totals.map((one) => [one.quarter, one.credits, one.creditedPar, one.reversals, one.reversedPar]);
}

test('credits and what a reorg takes back are summed in the quarter of their entry, in the file and after a restart', async () => {
  const place = openTempDatabase();
  try {
    const { database } = place;
    let nowMs = QUARTER * QUARTER_MS + 5;
    const store = merchantStore();
    await database.createStore(store);
    const keys = ['01', '02', '03'].map((byte) => byte.repeat(20));
    await database.addAddresses({ family: network.family, mode: 'test', source: 'x', firstIndex: 0, keys });
    const chain = ingestedChain(() => database, { nowMs: () => nowMs }, network);
    await chain.mine();
    await chain.report('following');
    const own = { storeId: store.id, mode: 'test' } as const;
    const create = (name: string) =>
      database.createSession(newSession({ storeId: store.id, name, networks: [network], amountMinor: 1000, nowMs }));
    await create('1');
    await create('2');
    assert.is(await database.hasCredits(own), false);
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
    const summed = await database.sumCredits(own, bounds);
    const reversed = { network: network.key, currency: 'USDT', credits: 0, creditedPar: 0n, reversals: 3 };
    assert.equal(summed[1], [{ ...reversed, reversedPar: first }]);
    assert.equal([summed.length, summed[0]?.length, summed[2]?.length], [3, 1, 0], 'a period ends before the next');
    assert.equal(await totalsOf(database, { ...own, mode: 'live' }), []);
    assert.equal(await totalsOf(database, { ...own, storeId: 'other' }), []);
    assert.is(await database.hasCredits({ ...own, mode: 'live' }), false);
    assert.equal((await database.verifyLedger()).sums, []);
    const again = place.connect();
    assert.is(await again.hasCredits(own), true);
    again.close();

    const client = new Sqlite(place.file);
    client.exec(`UPDATE quarter_totals SET credited_par = '1' WHERE credits = 3`);
    client.exec(
      `UPDATE session_assets SET currency = 'USDC' WHERE session_id = (SELECT min(session_id) FROM session_assets)`,
    );
    client.close();
    const { sums } = await database.verifyLedger();
    assert.match(
      sums.join('\n'),
      /credit total .* test 1920000 .*: kept as 3 credits of 1, .*the ledger says 3 credits of 2/,
    );
    assert.match(sums.join('\n'), /session asset .*USDC.*: the ledger has no such credit/);
    assert.match(sums.join('\n'), /session asset .*USDT.*: is in the ledger only/);
  } finally {
    place.close();
  }
});

const own = readdirSync('src/database/sqlite/migrations').find((name) => name.endsWith('_day_totals.sql')) ?? '';
const ENTRIES = 300;

/** A payment in a currency of 18 decimals: together far beyond what an integer of SQLite holds. */
const unitsOf = (entry: number): bigint => (BigInt(entry) * 987_654_321_987_654_321n) ** 2n / 7n;

function olderRows(): string {
  const lines = Array.from({ length: ENTRIES }, (_, at0) => {
    const entry = at0 + 1;
    // Every tenth one takes the one before it back, two quarters of an hour later.
    const isBack = entry % 10 === 0;
    const transfer = isBack ? entry - 1 : entry;
    const [units, quarter] = [unitsOf(transfer), QUARTER + (transfer % 4) + (isBack ? 2 : 0)];
    const session = `cs_${transfer % 3}`;
    const currency = transfer % 2 ? 'USDT' : 'USDC';
    const kind = isBack ? 'payment_reversed' : 'payment';
    const [collected, received] = isBack ? [-units, units] : [units, -units];
    return `
      ${
        isBack
          ? ''
          : `INSERT INTO transfers (id, block_id, network, tx, position, currency, from_key, address_id, units, decimals, confirmed)
        VALUES (${entry}, 1, 'test:one', 't${entry}', 0, '${currency}', 'ff', ${(transfer % 3) + 1}, '${units}', 18, 0);`
      }
      INSERT INTO ledger_entries VALUES (${entry}, '${kind}', '${transfer}', 0, ${quarter * QUARTER_MS + entry});
      INSERT INTO ledger_postings VALUES (${entry}, 'collected', '', 'test:one', '${currency}', '${collected}'),
        (${entry}, 'received', '${session}', 'test:one', '${currency}', '${received}');`;
  });
  return `
    INSERT INTO networks (key, state, updated_at_ms) VALUES ('test:one', 'following', 0);
    INSERT INTO stores (id, name, status, settlement_currency, tolerance_minor, top_up_grace_s, monitoring_s, late_policy,
      created_at_ms) VALUES ('m1', 'Shop', 'approved', 'USDT', 0, 100, 1000, 'hold', 0);
    INSERT INTO pools VALUES (1, 'evm', 'test', 'xpub', 1, 3, 3, 0);
    ${[0, 1, 2]
      .map(
        (
          n,
        ) => `INSERT INTO sessions (id, store_id, mode, order_id, body_hash, amount_minor, currency, due_par, tolerance_par,
          accepts, expires_at_s, top_up_grace_s, monitoring_s, late_policy, options, networks, created_at_ms, status,
          paid_late, funded, firm, touched, late, seen_par, confirmed_par, late_par)
        VALUES ('cs_${n}', 'm1', 'test', 'order ${n}', 'b', '1000', 'USD', '1', '0', '["USDT"]', 800, 100, 1000, 'hold', '[]',
          '[]', 1, 'pending', 0, 'none', 'none', 0, 0, '0', '0', '0');
        INSERT INTO addresses (id, pool_id, family, mode, key, derivation_index, state, session_id)
          VALUES (${n + 1}, 1, 'evm', 'test', 'a${n}', ${n}, 'taken', 'cs_${n}');`,
      )
      .join('\n')}
    INSERT INTO blocks VALUES (1, 'test:one', 'h1', 'h0', 1, 1, 0, 2);
    ${lines.join('')}`;
}

test('an older installation’s totals are filled from its ledger, exactly', () =>
  withOlderDatabase(own.slice(0, 4), olderRows(), async (database) => {
    const expected = new Map<string, bigint>();
    for (let entry = 1; entry <= ENTRIES; entry++) {
      const isBack = entry % 10 === 0;
      const transfer = isBack ? entry - 1 : entry;
      const place = `${QUARTER + (transfer % 4) + (isBack ? 2 : 0)} ${transfer % 2 ? 'USDT' : 'USDC'} ${isBack ? 'back' : 'credit'}`;
      expected.set(place, (expected.get(place) ?? 0n) + unitsOf(transfer));
    }
    const totals = await totalsOf(database);
    const kept = totals.flatMap(({ quarter, currency, creditedPar, reversedPar }) => [
      ...(creditedPar > 0n ? [[`${quarter} ${currency} credit`, creditedPar] as const] : []),
      ...(reversedPar > 0n ? [[`${quarter} ${currency} back`, reversedPar] as const] : []),
    ]);
    assert.equal(new Map(kept.sort()), new Map([...expected].sort()));
    assert.ok(
      [...expected.values()].some((sum) => sum > 2n ** 63n),
      'more than SQLite adds up',
    );
    assert.is(
      totals.reduce((sum, { credits, reversals }) => sum + credits + reversals, 0),
      ENTRIES,
    );
    const { sums } = await database.verifyLedger();
    assert.equal(
      sums.filter((line) => /^(credit total|session asset)/.test(line)),
      [],
    );
    const filter = { ...at, status: null, fromMs: null, toMs: null, beforeId: null, limit: 9 };
    const paidIn = [{ network: 'test:one', currency: 'USDC' }] as const;
    const found = await database.listSessions({ ...filter, paidIn });
    assert.equal(
      found.sessions.map(({ id }) => id),
      ['cs_2', 'cs_1', 'cs_0'],
    );
  }));

test.run();
