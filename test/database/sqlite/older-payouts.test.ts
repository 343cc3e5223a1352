/** Installations from before freezes: their payouts stay as they were, and nothing is frozen. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RefundIntent } from '../../../src/core/intent.ts';
import { writeIntent } from '../../../src/database/sqlite/payouts/schema.ts';
import { withOlderDatabase } from '../../support/older-database.ts';

const intent: RefundIntent = {
  kind: 'refund',
  id: 'rf_1',
  network: 'test:one',
  currency: 'USDT',
  to: 'b',
  units: 5n,
  mac: 'c',
};
const before = `
  INSERT INTO payouts (id, kind, network, intent, state, generation, not_before_ms, created_at_ms, updated_at_ms)
    VALUES ('rf_1', 'refund', 'test:one', '${writeIntent(intent)}', 'waiting', 0, 0, 0, 0);
  INSERT INTO lanes (network, payer, next_nonce) VALUES ('test:one', 'a', 7);`;

test('an older installation keeps its payouts and numbers, and pays', () =>
  withOlderDatabase('0021', before, async (database) => {
    assert.equal([await database.listFreezes(), await database.listOutgoing('test:one', 9)], [[], []]);
    const offer = await database.offerNonce('test:one', 'a', 7, 1);
    assert.equal(offer, { kind: 'free', nonce: 7 });
    const own = { id: 'rf_1', generation: 0, attempt: 0, payer: 'a', payerRole: 'refund', nonce: 7 } as const;
    assert.equal(
      (await database.openPayouts('test:one', 1, 9)).map(({ payout }) => payout.intent),
      [intent],
    );
    assert.is((await database.allotAttempt({ ...own, intent, terms: {}, feeUnitsMax: 1n, nowMs: 1 })).kind, 'allotted');
  }));

test('what an older version may have paid is held against its lock too, what is planned now only against the new one', () =>
  withOlderDatabase('0036', before, async (database) => {
    const later = { ...intent, id: 'rf_2' };
    const planned = { intent: later, servesId: null, sessionId: null, notBeforeMs: 0, nowMs: 1 };
    await database.planPayouts([planned]);
    const locks = (await database.openPayouts('test:one', 1, 9)).map(({ payout }) => [payout.id, payout.olderLock]);
    assert.equal(locks.sort(), [
      ['rf_1', true],
      ['rf_2', false],
    ]);
  }));

const frozen = `
  INSERT INTO payout_freezes VALUES ('', 'restored_from_backup', 'compare', 'alice', 5),
    ('test:one', 'payouts_frozen', 'maintenance', 'bob', 6), ('test:two', 'wallet_balance_short', 'gone', 'quayside', 7);
  INSERT INTO own_wallets (network, role, key) VALUES ('test:one', 'refund', 'a');
  INSERT INTO outgoing_transfers (network, block_hash, block_number, tx, position, role, from_key, to_key, currency,
      units, state, seen_at_ms)
    VALUES ('test:one', 'b', 0, 't2', 0, 'refund', 'a', 'c', 'USDC', '5', 'foreign', 3);`;

test('an older installation stays frozen, and is frozen for what an earlier freeze had hidden', () =>
  withOlderDatabase('0068', frozen, async (database) => {
    const own = [
      { network: null, code: 'restored_from_backup', reason: 'compare', frozenBy: 'alice', sinceMs: 5 },
      { network: 'test:one', code: 'payouts_frozen', reason: 'maintenance', frozenBy: 'bob', sinceMs: 6 },
      { network: 'test:two', code: 'wallet_balance_short', reason: 'gone', frozenBy: 'quayside', sinceMs: 7 },
    ];
    assert.equal(await database.listFreezes(), own);
    for (let times = 0; times < 2; times++) await database.judgeOutgoing('test:one', 9);
    const codes = (await database.listFreezes()).map(({ network, code }) => `${network} ${code}`);
    assert.equal(codes, [
      'null restored_from_backup',
      'test:one payouts_frozen',
      'test:one wallet_outflow_foreign',
      'test:two wallet_balance_short',
    ]);
    assert.is((await database.listAlarms(9)).length, 1);
  }));

const left = `
  INSERT INTO outgoing_transfers (id, network, block_hash, block_number, tx, position, role, from_key, to_key, currency,
      units, state, seen_at_ms)
    VALUES (4, 'test:one', 'b', 1, 't1', 0, 'treasury', 'a', 'b', 'USDT', '5', 'recorded', 2),
      (9, 'test:one', 'b', 1, 't2', 0, 'refund', 'a', 'c', 'USDC', '12345678901234567890', 'known', 3);`;

test('a refund that equals what an older version has acknowledged waits for a person', () =>
  withOlderDatabase('0073', left, async (database) => {
    const own = { ...intent, id: 'rf_9', to: 'c', currency: 'USDC', units: 12345678901234567890n } as const;
    await database.planPayouts([{ intent: own, servesId: null, sessionId: null, notBeforeMs: 0, nowMs: 1 }]);
    const attempt = { id: 'rf_9', generation: 0, attempt: 0, payer: 'a', payerRole: 'refund', nonce: null } as const;
    const allot = () => database.allotAttempt({ ...attempt, intent: own, terms: {}, feeUnitsMax: 1n, nowMs: 1 });
    assert.is((await allot()).kind, 'moved');
    assert.is((await database.findPayout('rf_9'))?.wait?.code, 'refund_equals_transfer');
    assert.equal(await database.findEqualTransfer('rf_9'), { id: 9, tx: 't2' });
  }));

test('an older installation keeps what left its wallets', () =>
  withOlderDatabase('0064', left, async (database) => {
    const shown = (await database.listOutgoing('test:one', 9)).map((one) => [one.id, one.tx, one.units, one.state]);
    assert.equal(shown, [
      [9, 't2', 12345678901234567890n, 'known'],
      [4, 't1', 5n, 'recorded'],
    ]);
    assert.equal(await database.judgeOutgoing('test:one', 4), { claims: [], moves: [], undecided: 0 });
  }));

test('of the sweeps of an older installation nobody knows whether they were ordered: they wait if they are too dear', () =>
  withOlderDatabase('0089', before.replaceAll('rf_1', 'sw_1'), async (database) => {
    assert.is((await database.findPayout('sw_1'))?.isOrdered, false);
    assert.equal(
      (await database.openPayouts('test:one', 1, 9)).map(({ payout }) => payout.id),
      ['sw_1'],
    );
  }));

test.run();
