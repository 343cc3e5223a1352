/**
 * Decisions about whether a refund is paid, by the operator's pages in a real browser, over a whole installation with
 * its signer and a chain: the freeze of every network, and an approver's signature.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import { createOperatorKey } from '../../src/signer/operator-key.ts';
import { openBrowser, openPage } from '../support/browser.ts';
import * as built from '../support/built.ts';
import { PASSWORD } from '../support/dashboard.ts';
import type { Json } from '../support/instance.ts';
import { codeAt, linkSecretIn } from '../support/link-secret.ts';
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
const browser = await openBrowser();
const dashboardUrl = (): string =>
  JSON.parse(readFileSync(join(quayside.dataDir, 'server.json'), 'utf8')).dashboard_url;
const text = async (page: Page): Promise<string> => (await page.locator('main').textContent()) ?? '';
let people = 0;

/** Signs a new operator in by the link that the tool prints. Of the next ten minutes nothing asks for a code again. */
async function signIn() {
  const made: Json = await quayside.cli('user', 'link', `Mary ${++people}`, '--role', 'operator');
  const token = String(made.link).split('/link/')[1] ?? '';
  const opened = await openPage(browser, dashboardUrl(), {});
  await opened.page.goto(`${dashboardUrl()}/link/${token}`);
  const code = codeAt(linkSecretIn(databaseFile(quayside.dataDir), token), systemClock.nowMs());
  await opened.page.getByLabel('The code that it shows now').fill(code);
  await opened.page.getByLabel('Password').fill(PASSWORD);
  await opened.page.getByRole('button', { name: 'Set and sign in' }).click();
  await opened.page.getByRole('link', { name: 'I have saved them' }).click();
  return opened;
}

/** Gives a reason in the form whose button this is, and confirms it on the next page. @returns what that page says */
async function confirm(page: Page, asks: string, { does, reason }: Readonly<{ does: string; reason?: string }>) {
  const form = page.locator('form', { has: page.getByRole('button', { name: asks }) });
  if (reason !== undefined) await form.getByRole('textbox', { name: 'Reason' }).fill(reason);
  await form.getByRole('button', { name: asks }).click();
  const button = page.getByRole('button', { name: does, exact: true });
  await button.waitFor();
  const said = await text(page);
  await button.click();
  return said;
}

/** Freezes a network, or every one where none is named. */
async function freeze(page: Page, of: string, reason: string): Promise<void> {
  await page.getByText('Freeze money out', { exact: true }).click();
  await page.locator('select[name=network]').selectOption(of);
  await confirm(page, 'Freeze…', { does: 'Freeze it', reason });
}

/** Waits until a page of the dashboard says this. It changes meanwhile, so it is opened again and again. */
const untilShown = (page: Page, path: string, expected: string) =>
  until(`${path} says ${expected}`, async () => {
    await page.goto(`${dashboardUrl()}${path}`);
    return (await text(page)).includes(expected);
  });

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
  await browser.close();
  await shop.close();
  rmSync(away, { recursive: true, force: true });
});

test('a freeze of every network holds a refund back, and its end lets it be paid', async () => {
  const { page, complaints } = await signIn();
  const session = await shop.paidSession(1_000);
  await page.goto(`${dashboardUrl()}/operator/money`);
  await freeze(page, 'all', 'a lost laptop');
  await page.getByText('Money out is frozen on every network.').waitFor();
  assert.match(await text(page), /by Mary \d+ \(dashboard\): a lost laptop/);
  const { id, payee } = await shop.refund(session, '4.00');
  await chain.finalize?.();
  await untilProcessing(id);
  await untilStopped('payouts_frozen');
  assert.equal(await shop.paidTo(payee), []);
  await confirm(page, 'End the freeze', { does: 'End the freeze', reason: 'it was found' });
  await page.getByText('The freeze is ended').waitFor();
  await shop.completed(id);
  assert.equal(await shop.paidTo(payee), [4_000_000n]);
  assert.equal((await reasons()).slice(0, 2), ['it was found', 'a lost laptop']);
  assert.equal(complaints, []);
  await page.context().close();
});

test('a refund above the signer’s cap is paid once an approver’s signature is handed in', async () => {
  const { page, complaints } = await signIn();
  await usdt.transfer(`0x${shop.refundWallet}`, 600_000_000n);
  const session = await shop.paidSession(60_000);
  await chain.finalize?.();
  const { id, payee } = await shop.refund(session, '600.00');
  await shop.untilWaiting('signer_refused_approval');
  const [payout] = await quayside.cli('payout', 'list');
  await untilShown(page, '/operator/money', `quayside show ${payout.id} --request`);
  const [request, approval] = [join(away, 'refund.json'), join(away, 'signed.json')];
  writeFileSync(request, JSON.stringify(await quayside.cli('show', payout.id, '--request')));
  signElsewhere(request, approval);
  await quayside.cli('refund', 'approve', payout.id, '--approval', approval, '--yes');
  await shop.completed(id);
  assert.equal(await shop.paidTo(payee), [600_000_000n]);
  assert.equal(complaints, []);
  await page.context().close();
});

test.run();
