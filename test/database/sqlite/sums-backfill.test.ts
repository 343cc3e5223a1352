/** Sessions that were created before running sums were kept get theirs at the next change, from all their transfers. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withOlderDatabase } from '../../support/older-database.ts';

/** 4.00 confirmed in a block that is not final, 1.00 seen, and 2.00 in an orphaned block. */
const before = `
  INSERT INTO networks (key, state, tip_hash, tip_number, tip_time_s, floor, read_through_s, updated_at_ms)
    VALUES ('test:one', 'following', 'h3', 3, 700, 0, 700, 0);
  INSERT INTO stores (id, name, status, settlement_currency, tolerance_minor, top_up_grace_s, monitoring_s, late_policy,
      webhook_secret, created_at_ms)
    VALUES ('m1', 'Shop', 'approved', 'USDT', 0, 100, 1000, 'hold', 'x', 0);
  INSERT INTO sessions (id, store_id, mode, order_id, body_hash, amount_minor, currency, due_par, tolerance_par, accepts,
      expires_at_s, top_up_grace_s, monitoring_s, late_policy, options, networks, created_at_ms, status, paid_late,
      funded, firm, touched, late, seen_par, confirmed_par, late_par, deadline_s)
    VALUES ('cs_old', 'm1', 'test', 'o1', 'b', '1000', 'USD', '10000000000000000000', '0', '["USDT"]',
      800, 100, 1000, 'hold', '[]', '["test:one"]', 0, 'pending', 0,
      'part', 'seen', 1, 0, '1000000000000000000', '4000000000000000000', '0', 900),
    ('cs_new', 'm1', 'test', 'o2', 'b', '1000', 'USD', '10000000000000000000', '0', '["USDT"]',
      800, 100, 1000, 'hold', '[]', '["test:one"]', 0, 'pending', 0, 'none', 'none', 0, 0, '0', '0', '0', 800);
  UPDATE session_counts SET sessions = 2 WHERE status = 'pending';
  INSERT INTO pools VALUES (1, 'evm', 'test', 'xpub', 1, 9, 2);
  INSERT INTO addresses VALUES (1, 1, 'evm', 'test', 'aa', 0, 'taken', 'cs_old'), (2, 1, 'evm', 'test', 'bb', 1, 'taken', 'cs_new');
  INSERT INTO blocks VALUES
    (1, 'test:one', 'h1', 'h0', 1, 500, 1, 2), (2, 'test:one', 'h2', 'h1', 2, 600, 1, 2),
    (3, 'test:one', 'h3', 'h2', 3, 700, 1, 2), (4, 'test:one', 'x3', 'h2', 3, 690, 0, 2);
  INSERT INTO transfers VALUES
    (1, 1, 'test:one', 't1', 0, 'USDT', 'ff', 1, '4000000', 6, 1, 5),
    (2, 2, 'test:one', 't2', 0, 'USDT', 'ff', 1, '1000000', 6, 0, NULL),
    (3, 4, 'test:one', 't3', 0, 'USDT', 'ff', 1, '2000000', 6, 0, NULL);`;

test('an older session is folded once and keeps exact sums from then on', () =>
  withOlderDatabase('0005', before, async (database) => {
    const common = { network: 'test:one', family: 'evm', watchedThroughId: 9, drop: [], floor: null } as const;
    const step = {
      ...common,
      decimals: { USDT: 6 },
      dustFloorPar: 0n,
      connect: [],
      confirm: [],
      readThroughS: 960,
      nowMs: 960_000,
    };
    const old = async () => {
      const session = await database.findSession('cs_old');
      assert.ok(session);
      return session;
    };
    assert.equal([(await old()).paymentCount, (await old()).payments.length], [3, 3]);
    // t3 is mined again, long after the deadline: it came in time.
    const transfer = { tx: 't3', index: 0, currency: 'USDT', from: 'ff', to: 'aa', units: 2_000_000n } as const;
    const block = { hash: 'h4', parent: 'h3', number: 4, timeS: 950 };
    assert.is(await database.ingest({ ...step, expectTip: 'h3', connect: [{ block, transfers: [transfer] }] }), 'done');
    const one = 10n ** 18n;
    assert.equal([(await old()).standing.seenPar, (await old()).standing.confirmedPar], [3n * one, 4n * one]);
    assert.is((await old()).paymentCount, 4);
    assert.is(
      await database.ingest({ ...step, expectTip: 'h4', confirm: [{ hash: 'h2' }, { hash: 'h4' }], floor: 2 }),
      'done',
    );
    const { standing } = await old();
    assert.equal([standing.seenPar, standing.confirmedPar, standing.latePar], [0n, 7n * one, 0n]);
    assert.equal((await database.verifyLedger()).sums, []);
  }));

test.run();
