/** The migration that adds the ledger books the payments confirmed before it. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withOlderDatabase } from '../../support/older-database.ts';

const T0_S = 1_800_000_000;

/** Rows of an earlier version: a session's payment, one well before it, a stray one, and one not confirmed yet. */
const before = `
  INSERT INTO networks (key, state, updated_at_ms) VALUES ('test:one', 'following', 0);
  INSERT INTO stores VALUES ('m1', 'Shop', 'approved', 'USDT', 0, 0, 0, 'hold', 'sealed', 0);
  INSERT INTO pools VALUES (1, 'evm', 'test', 'xpub', 1, 2, 1);
  INSERT INTO sessions (id, store_id, mode, order_id, body_hash, amount_minor, currency, due_par, tolerance_par, accepts, expires_at_s,
    top_up_grace_s, monitoring_s, late_policy, options, networks, created_at_ms, status, paid_late, funded, firm, touched, late, seen_par,
    confirmed_par, late_par)
  VALUES ('cs_1', 'm1', 'test', 'o1', 'h', '1000', 'USD', '0', '0', '[]', ${T0_S}, 0, 0, 'hold', '[]', '[]', ${T0_S}000, 'pending', 0,
    'none', 'none', 0, 0, '0', '0', '0');
  INSERT INTO addresses VALUES (1, 1, 'evm', 'test', 'aa', 0, 'taken', 'cs_1'), (2, 1, 'evm', 'test', 'bb', 1, 'spoiled', NULL);
  INSERT INTO blocks VALUES (1, 'test:one', 'h1', 'h0', 1, ${T0_S - 601}, 1, 2), (2, 'test:one', 'h2', 'h1', 2, ${T0_S}, 1, 2);
  INSERT INTO transfers VALUES
    (1, 1, 'test:one', 't1', 0, 'USDT', 'ff', 1, '100', 6, 1, 5),
    (2, 2, 'test:one', 't2', 0, 'USDT', 'ff', 1, '1000000000000000000000', 6, 1, 6),
    (3, 2, 'test:one', 't3', 0, 'USDC', 'ff', 2, '7', 6, 1, 7),
    (4, 2, 'test:one', 't4', 0, 'USDT', 'ff', 1, '9', 6, 0, NULL);`;

test('the ledger begins with the payments confirmed before it', () =>
  withOlderDatabase('0003', before, async (database) => {
    const { entries, balances, unbalanced, differences } = await database.verifyLedger();
    assert.equal([entries, unbalanced, differences], [3, [], []]);
    assert.equal(
      balances.map(({ asset, account, units }) => [asset, account, units]),
      [
        ['USDC', 'collected', 7n],
        ['USDC', 'unclaimed', -7n],
        ['USDT', 'collected', 10n ** 21n + 100n],
        ['USDT', 'received', -(10n ** 21n)],
        ['USDT', 'unclaimed', -100n],
      ],
    );
  }));

test.run();
