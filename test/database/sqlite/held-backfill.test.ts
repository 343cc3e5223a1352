/** What sessions of an earlier version hold is recorded once, without alarms and events for each. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withOlderDatabase } from '../../support/older-database.ts';

const session = (id: string, status: string, sums: string, confirmed: string, late: string, count: number): string => `
  INSERT INTO sessions (id, store_id, mode, order_id, body_hash, amount_minor, currency, due_par, tolerance_par, accepts,
      expires_at_s, top_up_grace_s, monitoring_s, late_policy, options, networks, created_at_ms, status, ended_at_s,
      paid_at_s, paid_late, funded, firm, touched, late, seen_par, confirmed_par, late_par, deadline_s, sums, payment_count)
    VALUES ('${id}', 'm1', 'test', '${id}', 'b', '1000', 'USD', '10000000000000000000', '0', '["USDT"]',
      800, 100, 1000, 'hold', '[]', '["test:one"]', 0, '${status}', 900, ${status === 'paid' ? 850 : 'NULL'}, 0,
      'part', 'seen', 1, 0, '0', '${confirmed}', '${late}', NULL, ${sums}, ${count});`;

const sum = (phase: string, units: string): string =>
  `'[{"network":"test:one","currency":"USDT","decimals":6,"phase":"${phase}","seen":"0","confirmed":"${units}","final":"0"}]'`;

const before = `
  INSERT INTO networks (key, state, tip_hash, tip_number, tip_time_s, floor, read_through_s, updated_at_ms)
    VALUES ('test:one', 'following', 'h1', 1, 500, 0, 500, 0);
  INSERT INTO stores (id, name, status, settlement_currency, tolerance_minor, top_up_grace_s, monitoring_s, late_policy,
      webhook_secret, created_at_ms)
    VALUES ('m1', 'Shop', 'approved', 'USDT', 0, 100, 1000, 'hold', 'x', 0);
  ${session('cs_1', 'expired', sum('late', '7000000'), '0', '7000000000000000000', 1)}
  ${session('cs_2', 'failed', 'NULL', '4000000000000000000', '0', 1)}
  ${session('cs_3', 'paid', sum('in_time', '12500000'), '12500000000000000000', '0', 1)}
  ${session('cs_4', 'expired', "'[]'", '0', '0', 0)}
  UPDATE session_counts SET sessions = 2 WHERE status = 'expired';
  UPDATE session_counts SET sessions = 1 WHERE status IN ('failed', 'paid');
  INSERT INTO pools (id, family, mode, source, current, next_index, taken) VALUES (1, 'evm', 'test', 'xpub', 1, 9, 3);
  INSERT INTO addresses VALUES (1, 1, 'evm', 'test', 'aa', 0, 'taken', 'cs_2'),
    (2, 1, 'evm', 'test', 'bb', 1, 'taken', 'cs_1'), (3, 1, 'evm', 'test', 'cc', 2, 'taken', 'cs_3');
  INSERT INTO blocks VALUES (1, 'test:one', 'h1', 'h0', 1, 500, 1, 2);
  INSERT INTO transfers (id, block_id, network, tx, position, currency, from_key, address_id, units, decimals, confirmed,
      first_confirmed_at_ms, phase, counted)
    VALUES (1, 1, 'test:one', 't1', 0, 'USDT', 'ff', 1, '4000000', 6, 1, 5, NULL, 'none'),
    (2, 1, 'test:one', 't2', 0, 'USDT', 'ff', 2, '7000000', 6, 1, 5, 'late', 'confirmed'),
    (3, 1, 'test:one', 't3', 0, 'USDT', 'ff', 3, '12500000', 6, 1, 5, 'in_time', 'confirmed');`;

test('late, short and surplus money of an earlier version can be listed and decided about', () =>
  withOlderDatabase('0011', before, async (database) => {
    const looks: number[] = [];
    for (let n = 0; n < 4; n++) looks.push(await database.recordOlderHeldMoney(1_000_000, 3));
    assert.equal(looks, [3, 1, 0, 0]);
    const all = await database.listHeldMoney({ limit: 9 });
    assert.equal(
      all.map(({ sessionId, kind, state, valuePar }) => [sessionId, kind, state, valuePar / 10n ** 16n]).sort(),
      [
        ['cs_1', 'late', 'open', 700n],
        ['cs_2', 'short', 'open', 400n],
        ['cs_3', 'surplus', 'open', 250n],
      ],
    );
    assert.equal(await database.listAlarms(9), []);
    const short = all.find(({ kind }) => kind === 'short');
    const act = { atMs: 1_000_000, operator: 'alice', command: 'held accept', reason: null };
    assert.is((await database.acceptHeldMoney(short?.id ?? '', act, false)).kind, 'done');
    assert.is((await database.findSession('cs_2'))?.life.status, 'paid');
    assert.equal((await database.verifyLedger()).sums, []);
  }));

test('what an earlier version confirmed and a reorg takes is no longer held, also where no sums were kept', () =>
  withOlderDatabase('0011', before, async (database) => {
    await database.recordOlderHeldMoney(1_000_000, 9);
    const block = { hash: 'x1', parent: 'h0', number: 1, timeS: 510 };
    const outcome = await database.ingest({
      network: 'test:one',
      family: 'evm',
      expectTip: 'h1',
      watchedThroughId: 9,
      decimals: { USDT: 6 },
      dustFloorPar: 0n,
      drop: ['h1'],
      connect: [{ block, transfers: [] }],
      confirm: [],
      floor: null,
      readThroughS: 510,
      nowMs: 1_100_000,
    });
    assert.is(outcome, 'done');
    const states = (await database.listHeldMoney({ limit: 9 })).map(({ sessionId, state }) => `${sessionId} ${state}`);
    assert.equal(states.sort(), ['cs_1 gone', 'cs_2 gone', 'cs_3 gone']);
    assert.equal((await database.verifyLedger()).sums, []);
  }));

test.run();
