/**
 * The operator's pages in a real browser, over a whole installation with its signer and a chain: freeze and thaw, with
 * and without scripts. Then, with scripts alone, what decides whether a refund is paid: the freeze of every network, a
 * stuck payout, a halted wallet, a database that was put back, the freeze of the signer. Pictures are written to
 * `.tmp/dashboard/`.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { codeOf, stepAt } from '../../src/dashboard/second-factor.ts';
import { openDatabase } from '../../src/database/sqlite/open.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import { createOperatorKey } from '../../src/signer/operator-key.ts';
import { barriers, openBrowser, openPage, phone } from '../support/browser.ts';
import * as built from '../support/built.ts';
import { PASSWORD } from '../support/dashboard.ts';
import type { Json } from '../support/instance.ts';
import { linkSecretIn } from '../support/link-secret.ts';
import { find } from '../support/quayside-process.ts';
import { passphrase } from '../support/temp-signer.ts';
import { until } from '../support/until.ts';
import { ethereum, openEvmPayouts } from './evm.ts';
import { untilPooled } from './payout-trouble.ts';

const PICTURES = '.tmp/dashboard';
mkdirSync(PICTURES, { recursive: true });

/** What an approver has, on a machine of their own. */
const away = mkdtempSync(join(tmpdir(), 'quayside-approver-'));
const approverKey = join(away, 'anna.key');
const approver = { name: 'Anna', key: createOperatorKey(approverKey, Buffer.from(passphrase)) };
const bench = await openEvmPayouts({ ...ethereum, approvers: [approver] });
const { shop, node, usdt, usdc } = bench;
const { chain, quayside, network } = shop;
const browser = await openBrowser();
const dashboardUrl = (): string =>
  JSON.parse(readFileSync(join(quayside.dataDir, 'server.json'), 'utf8')).dashboard_url;
const text = async (page: Page): Promise<string> => (await page.locator('main').textContent()) ?? '';
let people = 0;

/** Signs a new operator in by the link that the tool prints. Of the next ten minutes nothing asks for a code again. */
async function signIn(options: Parameters<typeof openPage>[2]) {
  const made: Json = await quayside.cli('user', 'create', `Mary ${++people}`, '--role', 'operator');
  const token = String(made.link).split('/link/')[1] ?? '';
  const opened = await openPage(browser, dashboardUrl(), options);
  await opened.page.goto(`${dashboardUrl()}/link/${token}`);
  const code = codeOf(linkSecretIn(databaseFile(quayside.dataDir), token), stepAt(systemClock.nowMs()));
  await opened.page.getByLabel('The code that it shows now').fill(code);
  await opened.page.getByLabel('Password').fill(PASSWORD);
  await opened.page.getByRole('button', { name: 'Set and sign in' }).click();
  await opened.page.getByRole('link', { name: 'I have saved them' }).click();
  return opened;
}

/** Gives a reason in the form whose button this is, and confirms it on the next page. @returns what that page says */
async function confirm(page: Page, asks: string, { does, reason }: Readonly<{ does: string; reason?: string }>) {
  const form = page.locator('form', { has: page.getByRole('button', { name: asks }) });
  if (reason !== undefined) await form.getByLabel('Reason').fill(reason);
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

/** Opens the page of the first payout in a section of the page of all. */
async function openPayout(page: Page, section: '#payouts' | '#stuck'): Promise<void> {
  await page.goto(`${dashboardUrl()}/operator/money`);
  const payouts = page.locator('section', { has: page.locator(section) });
  await payouts.locator('table a').first().click();
  await page.getByRole('heading', { name: 'Attempts' }).waitFor();
}

/** Waits until a page of the dashboard says this. What it shows changes meanwhile, so it is opened again and again. */
const untilShown = (page: Page, path: string, expected: string) =>
  until(`${path} says ${expected}`, async () => {
    await page.goto(`${dashboardUrl()}${path}`);
    return (await text(page)).includes(expected);
  });

/** Returns the newest attempt of the newest payout, once it was sent. */
const newestSent = (): Promise<Json> =>
  find('the newest payout is sent', async () => {
    const [payout] = await quayside.cli('payout', 'list');
    const { attempts } = (await quayside.cli('show', payout.id)).payout;
    return attempts.find((one: Json) => one.sent_at !== null);
  });

/** Changes what the database holds of a signed transaction. @returns puts it right */
function alterBytes(tx: string): () => void {
  const write = (change: (bytes: Buffer) => Buffer): void => {
    const db = openDatabase({ file: databaseFile(quayside.dataDir), busyTimeoutMs: 10_000, bytesMax: null });
    const bytes = db.client.prepare('SELECT bytes FROM payout_attempts WHERE tx = ?').pluck().get(tx) as Buffer;
    db.client.prepare('UPDATE payout_attempts SET bytes = ? WHERE tx = ?').run(change(bytes), tx);
    db.close();
  };
  const flipped = (bytes: Buffer) => Buffer.from(bytes.map((byte, at) => (at === bytes.length - 1 ? byte ^ 1 : byte)));
  write(flipped);
  return () => write(flipped);
}

/** Signs a request as the approver does, on a machine of their own. */
function signElsewhere(request: string, approval: string): void {
  const words = [built.quaysideSigner, 'approve', request, '--key', approverKey];
  const input = `yes\n${passphrase}\n`;
  writeFileSync(approval, execFileSync(process.execPath, words, { input, stdio: ['pipe', 'pipe', 'ignore'] }));
}

/** Lets the approver sign elsewhere what ends the signer's freeze, and hands it in. */
async function thawSigner(): Promise<void> {
  const [request, approval] = [join(away, 'thaw.json'), join(away, 'thawed.json')];
  writeFileSync(request, JSON.stringify(await quayside.signer('thaw')));
  signElsewhere(request, approval);
  await quayside.signer('thaw', '--approval', approval);
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

async function look(page: Page, name: string, hasScripts: boolean): Promise<void> {
  if (hasScripts) assert.equal(await barriers(page), [], name);
  const wider = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
  assert.ok(Number(await page.evaluate(wider)) <= 0, `${name} fits the screen`);
  await page.screenshot({ path: `${PICTURES}/${name}-${hasScripts ? 'light' : 'dark'}.png`, fullPage: true });
}

test.before(async () => {
  for (const token of [usdt, usdc]) await token.transfer(`0x${shop.refundWallet}`, 100_000_000n);
  // Mining stops while some refunds are under way, so their payments would never be final.
  // Together, they are above what is refunded in 24 hours without an approval.
  await quayside.cli('store', 'set', '--refund-early-max', '1000.00', '--refund-automatic', '5000.00');
  await shop.untilUnlocked();
});
test.after(async () => {
  await browser.close();
  await shop.close();
  rmSync(away, { recursive: true, force: true });
});

for (const hasScripts of [true, false]) {
  const how = hasScripts ? 'with scripts' : 'without scripts, on a phone';
  const device = hasScripts ? {} : { ...phone, javaScriptEnabled: false, colorScheme: 'dark' as const };

  test(`money out is frozen and thawed, ${how}`, async () => {
    const { page, complaints } = await signIn(device);
    await page.goto(`${dashboardUrl()}/operator/money`);
    await freeze(page, network, 'a look at the wallets');
    assert.match(await text(page), /Money out is frozen[\s\S]*a look at the wallets/);
    const { freezes }: Json = await quayside.cli('status');
    assert.ok(JSON.stringify(freezes ?? (await quayside.cli('status'))).includes('a look at the wallets'));
    await confirm(page, 'End the freeze of', { does: 'End the freeze', reason: 'all is well' });
    assert.match(await text(page), 'The freeze is ended');

    await page.goto(`${dashboardUrl()}/operator/networks/${network}`);
    await page.getByText('Ways out when reading stops').click();
    await look(page, 'network-recovery', hasScripts);
    assert.equal(complaints, []);
    await page.context().close();
  });
}

test('a freeze of every network holds a refund back, and its end lets it be paid', async () => {
  const { page, complaints } = await signIn({});
  const session = await shop.paidSession(1_000);
  await page.goto(`${dashboardUrl()}/operator/money`);
  await freeze(page, '', 'a lost laptop');
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

test('a payout whose signed bytes were altered is stuck; once they are right again it is retried, and paid once', async () => {
  const { page, complaints } = await signIn({});
  const session = await shop.paidSession(1_000);
  await node.mineEvery(0);
  const { id, payee } = await shop.refund(session, '5.00');
  await untilPooled(bench);
  const putRight = alterBytes((await newestSent()).transaction_hash);
  await untilShown(page, '/operator/money', 'Stuck: they need you');
  await openPayout(page, '#stuck');
  assert.match(await text(page), /payout_bytes_differ[\s\S]*are not what was ordered/);
  await look(page, 'payout-stuck', true);
  putRight();
  await page.goto(`${dashboardUrl()}/operator/networks/${network}`);
  await page.getByText('Halted wallet', { exact: true }).waitFor();
  await look(page, 'wallet-halted', true);
  const [{ id: payout }]: Json[] = await quayside.cli('payout', 'list', '--state', 'stuck');
  const reason = 'the bytes are right again';
  assert.is((await quayside.cli('payout', 'resolve', payout, '--retry', '--reason', reason)).resolved, 'retry');
  await node.mineEvery(1);
  await shop.completed(id);
  assert.equal(await shop.paidTo(payee), [5_000_000n]);
  // Later numbers of the wallet waited for this one.
  assert.equal((await quayside.cli('status')).payouts.halted_wallets, []);
  const resolved = (await quayside.cli('audit', 'list')).filter(({ command }: Json) => command === 'payout resolve');
  assert.equal([resolved[0]?.target, resolved[0]?.reason], [payout, reason]);
  assert.equal(complaints, []);
  await page.context().close();
});

test('a payout whose final transaction shows no payment is settled by it only if somebody agrees to that', async () => {
  const { page, complaints } = await signIn({});
  const session = await shop.paidSession(1_000, 'USDC');
  await node.mineEvery(0);
  const { id, payee } = await shop.refund(session, '6.00', 'USDC');
  await untilPooled(bench);
  const { transaction_hash: tx } = await newestSent();
  // In the refund's block, and before it.
  await usdc.silence(true, { feeWei: 10n ** 11n });
  await node.mine(1);
  await usdc.silence(false);
  await node.mineEvery(1);
  await untilShown(page, '/operator/money', 'payout_outcome_unclear');
  const [{ id: payout }]: Json[] = await quayside.cli('payout', 'list');
  const settle = ['payout', 'resolve', payout, '--paid', tx, '--reason', 'the issuer has moved it'];
  await openPayout(page, '#payouts');
  assert.match(await text(page), `quayside payout resolve ${payout} --paid TRANSACTION`);
  const refused = await quayside.cli(...settle).then(() => 'settled', String);
  assert.match(refused, 'its receipt does not show that 6000000 units went to');
  assert.is((await shop.show(id)).status, 'processing');
  assert.is((await quayside.cli(...settle, '--yes')).resolved, 'paid');
  assert.is((await shop.completed(id)).transaction_hash, tx);
  assert.equal(await shop.paidTo(payee, 'USDC'), [], 'not sent again');
  assert.ok((await reasons()).includes('the issuer has moved it'));
  assert.equal(complaints, []);
  await page.context().close();
});

test('a database that was put back alone pays nothing until it has adopted what the signer has signed, and then nothing twice', async () => {
  const before = await signIn({});
  await before.page.goto(`${dashboardUrl()}/operator/money`);
  await freeze(before.page, '', 'a copy is made');
  await before.page.getByText('Money out is frozen on every network.').waitFor();
  const session = await shop.paidSession(1_000);
  const { id, payee } = await shop.refund(session, '4.00');
  await untilProcessing(id);
  const putBack = await shop.snapshot();
  await confirm(before.page, 'End the freeze', { does: 'End the freeze', reason: 'it is made' });
  await before.page.getByText('The freeze is ended').waitFor();
  await before.page.context().close();
  const { transaction_hash: tx } = await shop.completed(id);
  await quayside.stop();
  putBack('data');
  await quayside.start();

  await untilStopped('payouts_not_adopted');
  const { page, complaints } = await signIn({});
  assert.is((await quayside.cli('payout', 'reconcile', network)).added, 1);
  // What was signed is watched while money out is frozen, too.
  assert.is((await shop.completed(id)).transaction_hash, tx);
  await page.goto(`${dashboardUrl()}/operator/money`);
  await confirm(page, 'End the freeze', { does: 'End the freeze', reason: 'it is compared with the chain' });
  await page.getByText('The freeze is ended').waitFor();
  const other = await shop.refund(session, '3.00');
  await shop.completed(other.id);
  assert.equal([await shop.paidTo(payee), await shop.paidTo(other.payee)], [[4_000_000n], [3_000_000n]]);
  assert.equal(complaints, []);
  await page.context().close();
});

test('a refund above the signer’s cap is paid once an approver’s signature is handed in', async () => {
  const { page, complaints } = await signIn({});
  await usdt.transfer(`0x${shop.refundWallet}`, 600_000_000n);
  const session = await shop.paidSession(60_000);
  await chain.finalize?.();
  const { id, payee } = await shop.refund(session, '600.00');
  await shop.untilWaiting('signer_refused_approval');
  const [payout] = await quayside.cli('payout', 'list');
  await untilShown(page, `/operator/payouts/${payout.id}`, `quayside refund request ${payout.id}`);
  const [request, approval] = [join(away, 'refund.json'), join(away, 'signed.json')];
  writeFileSync(request, JSON.stringify(await quayside.cli('refund', 'request', payout.id)));
  signElsewhere(request, approval);
  await quayside.cli('refund', 'approve', payout.id, '--approval', approval, '--yes');
  await shop.completed(id);
  assert.equal(await shop.paidTo(payee), [600_000_000n]);
  assert.equal(complaints, []);
  await page.context().close();
});

test('a signer that is frozen signs nothing until an approver ends that, as the page says; then the refund is paid', async () => {
  const { page, complaints } = await signIn({});
  const session = await shop.paidSession(1_000);
  await quayside.signer('freeze', '--reason', 'a stranger on the machine');
  const { id, payee } = await shop.refund(session, '2.00');
  await shop.untilWaiting('signer_refused_frozen');
  assert.equal(await shop.paidTo(payee), []);
  await untilShown(page, '/operator/money', 'signer_refused_frozen');
  await thawSigner();
  await shop.completed(id);
  assert.equal(await shop.paidTo(payee), [2_000_000n]);
  await openPayout(page, '#payouts');
  const shown = await text(page);
  assert.match(shown, 'succeeded');
  assert.not.match(shown, 'signer_refused_frozen');
  assert.equal(complaints, []);
  await page.context().close();
});

test.run();
