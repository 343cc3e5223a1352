/** An installation of before returns of held money keeps every payout and refund, and what refers to them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RefundIntent } from '../../../src/core/intent.ts';
import { writeIntent } from '../../../src/database/sqlite/payouts/schema.ts';
import { withOlderDatabase } from '../../support/older-database.ts';

const network = 'test:one';
const refund = (id: string): RefundIntent => ({
  ...{ kind: 'refund', id, network, currency: 'USDT', to: 'bb', units: 5n, mac: 'c' },
});
const sweep = { kind: 'sweep', id: 'sw_1', network, currency: 'USDT', from: [{ index: 1, units: 9n }] } as const;
const gas = { kind: 'gas', id: 'gs_1', network, form: 'transfer', index: 1, units: 2n } as const;

const before = `
  INSERT INTO stores (id, name, status, settlement_currency, tolerance_minor, top_up_grace_s, monitoring_s, late_policy,
      created_at_ms)
    VALUES ('m1', 'Shop', 'approved', 'USDT', 0, 100, 1000, 'hold', 0);
  INSERT INTO sessions (id, store_id, mode, order_id, body_hash, amount_minor, currency, due_par, tolerance_par, accepts,
      expires_at_s, top_up_grace_s, monitoring_s, late_policy, options, networks, created_at_ms, status, ended_at_s,
      paid_at_s, paid_late, funded, firm, touched, late, seen_par, confirmed_par, late_par, deadline_s, sums, payment_count)
    VALUES ('cs_1', 'm1', 'test', 'order-1', 'b', '1000', 'USD', '10000000000000000000', '0', '["USDT"]', 800, 100, 1000,
      'hold', '[]', '["test:one"]', 0, 'paid', 900, 850, 0, 'full', 'confirmed', 1, 0, '0', '10000000000000000000', '0',
      NULL, '[]', 0);
  UPDATE session_counts SET sessions = 1 WHERE status = 'paid';
  INSERT INTO refunds (id, store_id, mode, refund_id, session_id, body_hash, amount_minor, currency, network, units,
      destination, destination_from, mac, status, needs_approval, created_at_ms)
    VALUES ('rf_1', 'm1', 'test', 'own', 'cs_1', 'h', '450', 'USDT', 'test:one', '5', 'bb', 'payer', 'c', 'processing', 0, 5);
  INSERT INTO payouts (id, kind, network, intent, session_id, serves_id, state, generation, proof, wait_code, wait_message,
      not_before_ms, tx, fee_units, created_at_ms, updated_at_ms, settled_at_ms, fault_code, fault_message)
    VALUES ('rf_1', 'refund', 'test:one', '${writeIntent(refund('rf_1'))}', 'cs_1', NULL, 'sent', 1, 'failed', NULL, NULL,
        7, NULL, NULL, 1, 2, NULL, 'f', 'why'),
      ('rf_2', 'refund', 'test:one', '${writeIntent(refund('rf_2'))}', NULL, NULL, 'succeeded', 0, NULL, NULL, NULL,
        7, 'tx 2', '3', 2, 3, 4, NULL, NULL),
      ('sw_1', 'sweep', 'test:one', '${writeIntent(sweep)}', NULL, NULL, 'stuck', 0, NULL, 'w', 'waits',
        7, NULL, NULL, 3, 4, NULL, NULL, NULL),
      ('gs_1', 'gas', 'test:one', '${writeIntent(gas)}', NULL, 'sw_1', 'canceled', 0, NULL, NULL, NULL,
        7, NULL, NULL, 4, 5, 6, NULL, NULL);
  INSERT INTO payout_attempts (payout_id, generation, attempt, network, payer, payer_role, terms, fee_units_max,
      allotted_at_ms)
    VALUES ('rf_1', 1, 0, 'test:one', 'a', 'refund', '{}', '4', 1);`;

test('every payout is kept, with its attempts, what it serves and what it waits for', () =>
  withOlderDatabase('0026', before, async (database) => {
    const payouts = await database.listPayouts({ limit: 9 });
    assert.equal(
      payouts.map(({ id, state, generation, proof, sessionId, servesId, tx, feeUnits, settledAtMs }) =>
        [id, state, generation, proof, sessionId, servesId, tx, feeUnits, settledAtMs].join(' '),
      ),
      [
        'gs_1 canceled 0   sw_1   6',
        'sw_1 stuck 0      ',
        'rf_2 succeeded 0    tx 2 3 4',
        'rf_1 sent 1 failed cs_1    ',
      ],
    );
    const [given, swept, , paid] = payouts;
    assert.equal([given?.intent, swept?.intent, paid?.intent], [gas, sweep, refund('rf_1')]);
    assert.equal([swept?.wait?.code, paid?.fault?.message], ['w', 'why']);
    assert.is((await database.listPayoutAttempts('rf_1')).length, 1);
    const [kept] = await database.listRefunds({ limit: 9 });
    assert.equal([kept?.id, kept?.status, kept?.heldKind], ['rf_1', 'processing', null]);
  }));

test.run();
