/** Sessions that were created before block numbers were remembered: times say what came before them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withOlderDatabase } from '../../support/older-database.ts';

const before = `
  INSERT INTO networks (key, state, tip_hash, tip_number, tip_time_s, floor, read_through_s, updated_at_ms)
    VALUES ('test:one', 'following', 'h3', 3, 5000, 0, 5000, 5000000);
  INSERT INTO blocks VALUES (3, 'test:one', 'h3', 'h2', 3, 5000, 1, 2);
  INSERT INTO stores (id, name, status, settlement_currency, tolerance_minor, top_up_grace_s, monitoring_s, late_policy,
      webhook_secret, created_at_ms)
    VALUES ('m1', 'Shop', 'approved', 'USDT', 0, 100, 1000, 'hold', 'x', 0);
  INSERT INTO sessions (id, store_id, mode, order_id, body_hash, amount_minor, currency, due_par, tolerance_par, accepts,
      expires_at_s, top_up_grace_s, monitoring_s, late_policy, options, networks, created_at_ms, status, paid_late,
      funded, firm, touched, late, seen_par, confirmed_par, late_par, deadline_s, sums, payment_count)
    VALUES ('cs_old', 'm1', 'test', 'o1', 'b', '1000', 'USD', '10000000000000000000', '0', '["USDT"]',
      6800, 100, 1000, 'hold', '[]', '["test:one"]', 5000000, 'pending', 0,
      'none', 'none', 0, 0, '0', '0', '0', 6800, '[]', 0);
  UPDATE session_counts SET sessions = 1 WHERE status = 'pending';
  INSERT INTO pools (id, family, mode, source, current, next_index, taken) VALUES (1, 'evm', 'test', 'xpub', 1, 9, 1);
  INSERT INTO addresses VALUES (1, 1, 'evm', 'test', 'aa', 0, 'taken', 'cs_old');`;

test('money that came long before an older session by its time does not pay it; later money does', () =>
  withOlderDatabase('0010', before, async (database) => {
    const step = {
      network: 'test:one',
      family: 'evm',
      watchedThroughId: 9,
      decimals: { USDT: 6 },
      dustFloorPar: 0n,
      drop: [],
      floor: null,
      readThroughS: 5_000,
      nowMs: 5_000_000,
    } as const;
    const ofBlock = (number: number, timeS: number) => ({
      block: { hash: `h${number}`, parent: `h${number - 1}`, number, timeS },
      transfers: [{ tx: `t${number}`, index: 0, currency: 'USDT', from: 'ff', to: 'aa', units: 10_000_000n } as const],
    });
    const connect = [ofBlock(4, 4_399), ofBlock(5, 4_400)];
    assert.is(await database.ingest({ ...step, expectTip: 'h3', connect, confirm: [{ hash: 'h4' }] }), 'done');
    assert.is((await database.findSession('cs_old'))?.life.status, 'pending');
    assert.equal(
      (await database.listAlarms(9)).map(({ code }) => code),
      ['payment_before_session'],
    );
    assert.is(await database.ingest({ ...step, expectTip: 'h5', connect: [], confirm: [{ hash: 'h5' }] }), 'done');
    assert.is((await database.findSession('cs_old'))?.life.status, 'paid');
    assert.equal((await database.verifyLedger()).sums, []);
  }));

test.run();
