/** An installation of before destinations could be replaced keeps every refund, policy and address. */
import { createHash, createHmac } from 'node:crypto';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { intentMac, intentMacKey } from '../../../src/core/intent.ts';
import { withOlderDatabase } from '../../support/older-database.ts';
import { secretKey } from '../../support/temp-database.ts';
import { until } from '../../support/until.ts';

const macKey = intentMacKey(secretKey);
/** As that version made it, which did not cover the session. */
const macOf = (id: string, destination: string): string => {
  if (destination === 'NULL') return 'NULL';
  const paid = {
    id,
    network: 'test:one',
    currency: 'USDT',
    to: destination.replaceAll("'", ''),
    units: 4_500_000n,
  } as const;
  return `'${intentMac(macKey, paid)}'`;
};

const claimHashOf = (id: string): string => {
  const token = createHmac('sha256', secretKey).update(`quayside refund claim v1 ${id}`).digest('hex').slice(0, 32);
  return createHash('sha256').update(token).digest('hex');
};

const refund = (id: string, destination: string, from: string, status: string, end: string): string => `
  INSERT INTO refunds (id, store_id, mode, refund_id, session_id, body_hash, amount_minor, currency, metadata, network,
      units, destination, destination_from, mac, claim_hash, claim_until_s, status, needs_approval, failure_reason, tx,
      receipt_number, created_at_ms)
    VALUES ('${id}', 'm1', 'test', 'own-${id}', 'cs_1', 'h', '450', 'USDT', '{"a":1.0}', 'test:one', '4500000',
      ${destination}, ${from}, ${macOf(id, destination)}, '${claimHashOf(id)}', 900, '${status}', 0, ${end}, 5);`;

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
  INSERT INTO refund_policies VALUES ('m1', 1, 2, 3, 4, 5, 1);
  INSERT INTO refund_addresses VALUES ('cs_1', 'test:one', 'aa', 7);
  ${refund('rf_1', "'aa'", "'payer'", 'completed', "NULL, 't1', 'RF-2026-00000001'")}
  ${refund('rf_2', "'bb'", "'merchant'", 'failed', "'no', NULL, NULL")}
  ${refund('rf_3', "'cc'", "'sender'", 'processing', 'NULL, NULL, NULL')}
  ${refund('rf_4', 'NULL', 'NULL', 'pending', 'NULL, NULL, NULL')}`;

test('refunds, their policy and the payer’s address are kept', () =>
  withOlderDatabase('0019', before, async (database) => {
    const all = await database.listRefunds({ limit: 9 });
    assert.ok(all.every(({ requestedBy }) => requestedBy === null));
    assert.equal(
      all
        .map(({ id, status, destination, tx, receiptNumber, failureReason, claim }) => [
          ...[id, status, destination && [destination.key, destination.from]],
          ...[tx, receiptNumber, failureReason, claim?.untilS],
        ])
        .sort(),
      [
        ['rf_1', 'completed', ['aa', 'payer'], 't1', 'RF-2026-00000001', null, 900],
        ['rf_2', 'failed', ['bb', 'merchant'], null, null, 'no', 900],
        ['rf_3', 'processing', ['cc', 'sender'], null, null, null, 900],
        ['rf_4', 'pending', null, null, null, null, 900],
      ],
    );
    assert.equal(await database.refundPolicy('m1'), {
      ...{ refundWindowS: 1, refundDailyMinor: 2, refundAutoMinor: 3, refundCancelWindowS: 4, refundClaimS: 5 },
      ...{ refundToSender: true, refundEarlyMaxMinor: 0 },
    });
    assert.equal(await database.refundAddresses('cs_1'), { 'test:one': 'aa' });
  }));

for (const change of [
  "destination = 'ee'",
  "units = '4500001'",
  "mac = 'm'",
  "session_id = 'cs_1', amount_minor = '451'",
]) {
  test(`a refund with ${change} by hand shows no destination, and raises an alarm`, () =>
    withOlderDatabase('0019', before, async (database, _reopen, file) => {
      const open = async () => (await database.listRefunds({ limit: 9 })).find(({ id }) => id === 'rf_3');
      assert.is((await open())?.destination?.key, 'cc');
      const client = new Sqlite(file);
      assert.is(client.prepare(`UPDATE refunds SET ${change} WHERE id = 'rf_3'`).run().changes, 1);
      client.close();
      // The MAC of that version did not cover the amount that people see; the amount that is paid, it did.
      const isCovered = !change.includes('amount_minor');
      assert.is((await open())?.destination?.key, isCovered ? undefined : 'cc');
      await until('the alarm is raised', async () => !isCovered || (await database.listAlarms(9)).length === 1);
      const [alarm] = await database.listAlarms(9);
      assert.is(alarm?.code, isCovered ? 'row_altered' : undefined);
      if (isCovered) assert.match(alarm?.message ?? '', /refund rf_3 .*quayside refunds destination rf_3/);
    }));
}

test.run();
