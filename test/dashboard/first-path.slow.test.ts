/**
 * The first hour of a new installation, in a real browser without scripts: from the line that the start prints to a
 * payment, its webhook and its refund on the dashboard. Pictures of each page are written to `.tmp/dashboard/first/`.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readServerFile } from '../../src/app/server-file.ts';
import { chains } from '../../src/chains/index.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import { openBrowser, openPage, shows } from '../support/browser.ts';
import { PASSWORD } from '../support/dashboard.ts';
import { codeAt, linkSecretIn } from '../support/link-secret.ts';
import { type MerchantServer, startMerchantServer } from '../support/merchant-server.ts';
import { endAll } from '../support/processes.ts';
import { runQuayside, type SandboxInstallation, sandboxInstallation } from '../support/quayside-process.ts';
import { until } from '../support/until.ts';

const PICTURES = '.tmp/dashboard/first';
mkdirSync(PICTURES, { recursive: true });
const PAYEE = chains.evm.address.format(`c0ffee${'1'.repeat(34)}`);

type World = {
  dataDir: string;
  installation: SandboxInstallation;
  banner: string;
  dashboardUrl: string;
  shop: MerchantServer;
  browser: Browser;
  page: Page;
  complaints: readonly string[];
  linkToken: string;
  sessionId: string;
  payUrl: string;
};
const test = suite<World>('the first hour of an installation');

test.before(async (world) => {
  world.dataDir = mkdtempSync(join(tmpdir(), 'quayside-first-'));
  world.installation = sandboxInstallation(world.dataDir);
  const supervisor = await world.installation.start();
  world.banner = supervisor.stdout();
  world.dashboardUrl = readServerFile(world.dataDir)?.dashboard_url ?? '';
  world.shop = await startMerchantServer((response) => response.end('thank you'));
  world.browser = await openBrowser();
  Object.assign(world, await openPage(world.browser, world.dashboardUrl, { javaScriptEnabled: false }));
});
test.after(async ({ browser, shop, dataDir }) => {
  await browser.close();
  await shop.close();
  await endAll();
  rmSync(dataDir, { recursive: true, force: true });
});

const leadsTo = (page: Page, title: string) => shows(page.locator('h1'), title);
const mainOf = async (page: Page) => (await page.locator('main').textContent()) ?? '';
const link = (page: Page, name: string | RegExp) => page.getByRole('link', { name, exact: true }).first().click();
const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first().click();
const picture = (page: Page, name: string) => page.screenshot({ path: `${PICTURES}/${name}.png`, fullPage: true });

/** Loads the page again until it says this. */
const says = (page: Page, words: RegExp) =>
  until(`the page says ${words}`, async () => {
    await page.reload();
    return words.test(await mainOf(page));
  });

/** Goes to a page of the store's menu, in test mode. */
async function openMenu(page: Page, name: string): Promise<void> {
  await page.locator('nav').getByRole('link', { name: 'Test', exact: true }).click();
  await shows(page.locator('nav [aria-current=true]'), 'Test');
  await page.locator('nav').getByRole('link', { name, exact: true }).first().click();
  await shows(page.locator('h1'), new RegExp(`^(Test )?${name}$`, 'i'));
}

test('the start prints a link that signs in to the demo store, once', async ({ banner, page, dashboardUrl }) => {
  const address = /^ {2}(http:\/\/localhost:\d+\/link\/\S+)$/m.exec(banner)?.[1] ?? '';
  assert.ok(address.startsWith(`${dashboardUrl}/`), banner);
  // A preview of the link does not use it up.
  assert.is((await fetch(address, { method: 'HEAD' })).status, 404);
  await page.goto(address);
  await leadsTo(page, 'Test overview');
  await shows(page.locator('nav'), /Demo store.*Operator.*Sandbox/s);
  await picture(page, 'signed-in');
  assert.is((await fetch(address)).status, 404, 'used up');
  await press(page, 'Sign out');
  await leadsTo(page, 'Sign in');
});

test('a link of the tool sets up the first person, who owns the demo shop too and sees what is left to do', async (world) => {
  const { installation, page, dashboardUrl } = world;
  const { code, out, err } = await runQuayside(['user', 'link', 'Ada', '--json'], installation.variables);
  assert.is(code, 0, err);
  const { link: address, name } = JSON.parse(out);
  world.linkToken = address.split('/').at(-1);
  assert.ok(address.startsWith(dashboardUrl), address);
  await page.goto(address);
  const secret = linkSecretIn(databaseFile(world.dataDir), world.linkToken);
  await picture(page, 'link');
  await page.getByLabel('The code that it shows now').fill(codeAt(secret, Date.now()));
  await page.getByLabel('Password').fill(PASSWORD);
  await press(page, 'Set and sign in');
  await leadsTo(page, 'recovery codes');
  await link(page, 'I have saved them');
  await leadsTo(page, 'Installation');
  await shows(page.locator('nav'), name);
  assert.match(await mainOf(page), /no backup was proved.*nobody is informed about alarms/s);
  await picture(page, 'operator');
  await openMenu(page, 'Overview');
  assert.match(await mainOf(page), /To try it in test mode: \d of 6 left.*to do A test payment came through/s);
  await picture(page, 'set-up');
});

test('a payment is asked for by a form, which gives the link to send', async (world) => {
  const { page } = world;
  await openMenu(page, 'Payments');
  await page.getByText('New payment', { exact: true }).click();
  await page.getByLabel('Amount').fill('10.50');
  await page.getByLabel('Order', { exact: true }).fill('first-call');
  await page.locator('main details button').first().click();
  await leadsTo(page, 'Order first-call');
  await picture(page, 'payment-made');
  world.payUrl = await page.getByLabel(/page/).first().inputValue();
  world.sessionId = world.payUrl.split('/').at(-1) ?? '';
  assert.match(world.sessionId, /^cs_/);
});

test('an endpoint of the shop is added, and a test event arrives there', async ({ page, shop }) => {
  await openMenu(page, 'Webhooks');
  await page.getByText('Add an endpoint').click();
  await page.getByLabel('URL').fill(`${shop.origin}/hook`);
  await press(page, 'Continue');
  await press(page, 'Add the endpoint');
  await shows(page.locator('main'), 'whsec_');
  await openMenu(page, 'Webhooks');
  await link(page, `${shop.origin}/hook`);
  await leadsTo(page, 'Endpoint');
  await press(page, 'Send a test event');
  await until('the event arrives', () => shop.on('/hook').length > 0);
  await picture(page, 'endpoint');
});

test('the payment is paid on its page’s address, and its whole way is shown', async (world) => {
  const { installation, page, browser, shop, sessionId, payUrl } = world;
  const payer = await openPage(browser, new URL(payUrl).origin, { javaScriptEnabled: false });
  await payer.page.goto(payUrl);
  await payer.page
    .getByRole('link', { name: /Ethereum/ })
    .first()
    .click();
  await shows(payer.page.locator('main'), '0x');
  await picture(payer.page, 'payer');
  await installation.tool('pay', sessionId, '--network', 'ethereum');
  await until('it is paid', async () => (await installation.showSession(sessionId)).payment_status === 'paid');
  await payer.page.reload();
  await shows(payer.page.locator('h1'), 'Paid');
  assert.equal(payer.complaints, []);
  await payer.page.context().close();
  await openMenu(page, 'Payments');
  await says(page, /first-call.*10\.50 USD.*10\.50.*paid/s);
  await picture(page, 'payments');
  await link(page, 'first-call');
  await says(page, /Created for order.*payment\.completed/s);
  await picture(page, 'payment');
  const told = () =>
    shop.on('/hook').some(({ body }) => body.includes('payment.completed') && body.includes(sessionId));
  await until('the webhook arrived at the shop', told);
});

test('a refund is made to an address, and is on the chain', async ({ page, installation, sessionId }) => {
  await link(page, 'Refund');
  await leadsTo(page, 'Refund order');
  await page.getByLabel('Amount').fill('4.50');
  await page.getByLabel('Address').fill(PAYEE);
  await press(page, 'Continue');
  await leadsTo(page, 'Refund 4.50 USDT?');
  await picture(page, 'refund-review');
  await press(page, 'Refund 4.50 USDT');
  await leadsTo(page, 'Refund of 4.50 USDT');
  await says(page, /completed/);
  await picture(page, 'refund');
  const refunds: { session_id: string; status: string }[] = await installation.tool('refund', 'list');
  assert.is(refunds.find((one) => one.session_id === sessionId)?.status, 'completed');
});

test('the overview has it all, and nobody is signed in after signing out', async ({ page, complaints }) => {
  await openMenu(page, 'Overview');
  await says(page, /Taken today.*10\.50/s);
  assert.not.match(await mainOf(page), 'To try it in test mode', 'nothing is left to do');
  await picture(page, 'overview');
  await press(page, 'Sign out');
  await leadsTo(page, 'Sign in');
  await page.goBack();
  await page.reload();
  await leadsTo(page, 'Sign in');
  assert.equal(complaints, []);
});

test.run();
