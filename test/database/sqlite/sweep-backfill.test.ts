/** The migration that adds sweep parts counts the sweeps planned before it. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withOlderDatabase } from '../../support/older-database.ts';

/** Two addresses with money, one swept whole, one with an open sweep of a part; and a refund, which has no parts. */
const before = `
  INSERT INTO networks (key, state, floor, updated_at_ms) VALUES ('test:one', 'following', 9, 0);
  INSERT INTO pools VALUES (1, 'evm', 'test', 'xpub', 1, 9, 0);
  INSERT INTO addresses VALUES (1, 1, 'evm', 'test', 'aa', 7, 'spoiled', NULL), (2, 1, 'evm', 'test', 'bb', 8, 'spoiled', NULL);
  INSERT INTO blocks VALUES (1, 'test:one', 'h1', 'h0', 1, 5, 1, 2);
  INSERT INTO transfers VALUES
    (1, 1, 'test:one', 't1', 0, 'USDT', 'ff', 1, '1000000000000000000000', 6, 1, 5),
    (2, 1, 'test:one', 't2', 0, 'USDT', 'ff', 2, '50', 6, 1, 5);
  INSERT INTO payouts (id, kind, network, intent, state, not_before_ms, tx, fee_units, created_at_ms, updated_at_ms, settled_at_ms) VALUES
    ('s1', 'sweep', 'test:one', '{"currency":"USDT","from":[{"index":7,"units":"1000000000000000000000"}],"id":"s1","kind":"sweep","network":"test:one"}',
      'succeeded', 0, 'x1', '1', 0, 0, 1),
    ('s2', 'sweep', 'test:one', '{"currency":"USDT","from":[{"index":8,"units":"20"}],"id":"s2","kind":"sweep","network":"test:one"}',
      'waiting', 0, NULL, NULL, 0, 0, NULL),
    ('r1', 'refund', 'test:one', '{"currency":"USDT","id":"r1","kind":"refund","network":"test:one","to":"cc","units":"5"}',
      'waiting', 0, NULL, NULL, 0, 0, NULL);`;

test('what earlier sweeps took, or plan to take, is not swept again', () =>
  withOlderDatabase('0004', before, async (database) => {
    const { owners } = await database.unswept({ network: 'test:one', pool: { family: 'evm', mode: 'test' } }, 0, 10);
    const left = { index: 8, key: 'bb', currency: 'USDT', units: 30n, openUnits: 20n, oldestAtMs: 5000, sweepCount: 1 };
    assert.equal(owners, [left]);
    const refund = await database.findPayout('r1');
    assert.equal([refund?.state, refund?.wait, refund?.fault], ['waiting', null, null]);
  }));

test.run();
