/**
 * Decisions about whether a refund is paid, over a whole installation with its signer and a chain: a freeze, and an
 * approver's signature. `test/dashboard/money-out.test.ts` has the pages.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createOperatorKey } from '../../src/signer/operator-key.ts';
import * as built from '../support/built.ts';
import type { Json } from '../support/instance.ts';
import { passphrase } from '../support/temp-signer.ts';
import { until } from '../support/until.ts';
import { ethereum, openEvmPayouts } from './evm.ts';

/** An approver's files, on a machine of their own. */
const away = mkdtempSync(join(tmpdir(), 'quayside-approver-'));
const approverKey = join(away, 'anna.key');
const approver = { name: 'Anna', key: createOperatorKey(approverKey, Buffer.from(passphrase)) };
const bench = await openEvmPayouts({ ...ethereum, approvers: [approver] });
const { shop, usdt, usdc } = bench;
const { chain, quayside } = shop;

/** Signs a request as the approver does, on a machine of their own. */
function signElsewhere(request: string, approval: string): void {
  const words = [built.quaysideSigner, 'approve', request, '--key', approverKey];
  const input = `yes\n${passphrase}\n`;
  writeFileSync(approval, execFileSync(process.execPath, words, { input, stdio: ['pipe', 'pipe', 'ignore'] }));
}

/** Waits until the engine does nothing, for this reason. */
const untilStopped = (code: string) =>
  until(`payouts are stopped: ${code}`, async () =>
    (await quayside.cli('status')).payouts.engines.some(({ reason }: Json) => reason?.code === code),
  );

/** Waits until a payout of this refund exists: its deposit is final, and the payouts have seen that. */
const untilProcessing = (refundId: string) =>
  until('the refund is being paid', async () => (await shop.show(refundId)).status === 'processing');

const reasons = async (): Promise<string[]> => (await quayside.cli('audit', 'list')).map(({ reason }: Json) => reason);

test.before(async () => {
  for (const token of [usdt, usdc]) await token.transfer(`0x${shop.refundWallet}`, 100_000_000n);
  // The refunds are above what is refunded in 24 hours without an approval.
  await quayside.cli('store', 'set', '--refund-automatic=5000.00');
  await shop.untilUnlocked();
});
test.after(async () => {
  await shop.close();
  rmSync(away, { recursive: true, force: true });
});

test('a freeze holds a refund back, and its end lets it be paid', async () => {
  const session = await shop.paidSession(1_000);
  await quayside.cli('payout', 'freeze', shop.network, '--reason', 'a lost laptop');
  const { id, payee } = await shop.refund(session, '4.00');
  await chain.finalize?.();
  await untilProcessing(id);
  await untilStopped('payouts_frozen');
  assert.equal(await shop.paidTo(payee), []);
  await quayside.cli('payout', 'thaw', shop.network, '--reason', 'it was found');
  await shop.completed(id);
  assert.equal(await shop.paidTo(payee), [4_000_000n]);
  assert.equal((await reasons()).slice(0, 2), ['it was found', 'a lost laptop']);
});

test('a refund above the signer’s cap is paid once an approver’s signature is handed in', async () => {
  await usdt.transfer(`0x${shop.refundWallet}`, 600_000_000n);
  const session = await shop.paidSession(60_000);
  await chain.finalize?.();
  const { id, payee } = await shop.refund(session, '600.00');
  await shop.untilWaiting('signer_refused_approval');
  const [payout] = await quayside.cli('payout', 'list');
  const [request, approval] = [join(away, 'refund.json'), join(away, 'signed.json')];
  writeFileSync(request, JSON.stringify(await quayside.cli('show', payout.id, '--request')));
  signElsewhere(request, approval);
  await quayside.cli('refund', 'approve', payout.id, '--approval', approval, '--yes');
  await shop.completed(id);
  assert.equal(await shop.paidTo(payee), [600_000_000n]);
});

test.run();
