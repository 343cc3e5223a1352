/** `quayside show --request` and `refund approve`: what approvers sign for the refund as it is paid now. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultStoreSettings } from '../../src/app/new-credentials.ts';
import { createIntentMac } from '../../src/core/intent.ts';
import { defaultRefundPolicy } from '../../src/core/refund.ts';
import { writeIntent } from '../../src/database/engine/column-types.ts';
import { approverOf, signApproval } from '../../src/signer/approval.ts';
import { readRequestFile, textOf } from '../../src/signer/approval-file.ts';
import { handClock } from '../support/hand-clock.ts';
import { refusalOf } from '../support/refusal.ts';
import {
  firstOf,
  makeSignerFolder,
  openSigningServiceIn,
  payer,
  policySettings,
  refundOf,
  usdt,
} from '../support/temp-signer.ts';
import { openPayingInstallation } from './paying-installation.ts';

const [anna, bob] = [1, 2].map((byte) => new Uint8Array(32).fill(byte)) as [Uint8Array, Uint8Array];
const settings = {
  ...policySettings,
  approvers: [anna, bob].map((secret, at) => ({ name: `Approver ${at}`, key: approverOf(secret) })),
};
const folder = makeSignerFolder(settings, false);
const nowMs = Date.now();
const signing = openSigningServiceIn(folder.dir, handClock(nowMs));
const untilS = Math.floor(nowMs / 1000) + 3600;
const intent = refundOf('rf_1', usdt(5000), { session: { id: 'cs_1', amount: '5000.00' } });

const { home, secretKey, database, databaseFile, run, close } = openPayingInstallation();
/** With this installation’s key: a destination that nobody set cannot be approved. */
const mac = createIntentMac(secretKey)(intent);
/** As `sessionTerms` writes them. */
const terms = ['10n', '0n', ['USDT'], 800, 100, 1000, 'hold', []];
const raw = new Sqlite(databaseFile);
raw.exec(`
  INSERT INTO stores (id, name, status, settings, refund_policy, page, zone, next_receipt_number, created_at_ms,
      live_secret, test_secret)
    VALUES ('m1', 'Shop', 'approved', '${JSON.stringify(defaultStoreSettings)}', '${JSON.stringify(defaultRefundPolicy)}',
      '{}', 'UTC', 1, 0, '', '');
  INSERT INTO sessions (id, store_id, mode, order_id, body_hash, amount_minor, currency, terms, networks, created_at_ms,
      status, ended_at_s,
      paid_at_s, paid_late, funded, firm, touched, late, seen_par, confirmed_par, late_par, deadline_s, sums, payment_count,
      before_numbers, takes_any_token)
    VALUES ('cs_1', 'm1', 'test', 'order-1', 'b', '500000', 'USD', '${JSON.stringify(terms)}', '["test:one"]', 0, 'paid', 900, 850, 0, 'full', 'confirmed', 1, 0, '0', '10', '0', NULL, '[]', 0,
      '{}', 0);
  INSERT INTO refunds (id, store_id, mode, refund_id, session_id, body_hash, amount_minor, currency, network, units,
      destination, destination_from, mac, status, needs_approval, created_at_ms)
    VALUES ('rf_1', 'm1', 'test', 'own', 'cs_1', 'h', '500000', 'USDT', 'test:one', '${intent.units}', '${payer}', 'payer',
      '${mac}', 'processing', 0, 5);
  INSERT INTO payouts (id, kind, network, intent, session_id, state, generation, not_before_ms, created_at_ms, updated_at_ms)
    VALUES ('rf_1', 'refund', 'test:one', '${writeIntent(intent)}', 'cs_1', 'waiting', 0, 0, 1, 2)`);
test.after(() => {
  raw.close();
  close();
  signing.close();
  folder.remove();
});

const requestFile = join(home, 'request.json');
/** Signs the request as `quayside-signer approve` does, and hands it in. */
async function approve(secret: Uint8Array) {
  const approval = signApproval(secret, textOf(readRequestFile(requestFile)), untilS);
  writeFileSync(join(home, 'approval.json'), JSON.stringify({ approves: 'rf_1', ...approval }));
  return (await run('refund', 'approve', 'rf_1', '--approval', 'approval.json')).code;
}
const approval = async () => (await database.payouts.open('test:one', nowMs, 10))[0]?.approval ?? null;
const sign = async (refund = intent) => {
  const given = await approval();
  return refusalOf(() => signing.service.sign(firstOf(refund, 1, { approval: given })));
};

test('a request says what is paid; the newest approver’s signature is kept', async () => {
  const request = await run('show', 'rf_1', '--request');
  assert.is(request.code, 0, request.err);
  writeFileSync(requestFile, request.out);
  assert.match(textOf(readRequestFile(requestFile))(1).join('\n'), /amount: 5000\.00 USDT .*\npay to: 0xbBbB/);
  const tried = await run('refund', 'approve', 'rf_1', '--dry-run');
  assert.match(tried.out, /^Approve 5,000\.00 USDT\?$/m);
  assert.is((await database.refunds.findBy({ id: 'rf_1' }))?.approvedAtMs, null);
  assert.is(await approve(anna), 0);
  assert.is((await approval())?.approver, approverOf(anna));
  assert.is(await approve(bob), 0);
  assert.is((await approval())?.approver, approverOf(bob));
  assert.is(
    await sign(refundOf('rf_1', usdt(5000), { to: 'c'.repeat(40), session: intent.session })),
    'signer_refused_approval',
  );
  assert.is(await sign(), 'none');
});

test('an approval of what was to be paid before is refused here already', async () => {
  const moved = refundOf('rf_1', usdt(5000), { to: 'c'.repeat(40), session: intent.session });
  raw.prepare("UPDATE payouts SET intent = ? WHERE id = 'rf_1'").run(writeIntent(moved));
  assert.is(await approve(anna), 1);
  assert.is((await run('show', 'rf_none', '--request')).code, 3);
  raw.prepare("UPDATE refunds SET status = 'pending' WHERE id = 'rf_1'").run();
  assert.is((await run('show', 'rf_1', '--request')).code, 1);
  assert.is((await run('refund', 'approve', 'rf_1', '--key', 'anna.key')).code, 2);
});

test.run();
