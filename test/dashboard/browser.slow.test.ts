/**
 * Acts of people on the dashboard in a real browser, where scripts help them; passkeys with the authenticator that
 * Chromium plays. Screenshots are written to `.tmp/dashboard/`.
 */

import { mkdirSync } from 'node:fs';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { barriers, copies, openBrowser, openPage, shows, stopTimers } from '../support/browser.ts';
import { type Dashboard, PASSWORD, startDashboard } from '../support/dashboard.ts';
import { have } from '../support/fields.ts';
import { paidSale } from '../support/payment-scenes.ts';
import { until } from '../support/until.ts';

const PICTURES = '.tmp/dashboard';
mkdirSync(PICTURES, { recursive: true });

type World = { browser: Browser; dashboard: Dashboard };
const test = suite<World>('the dashboard in a browser');

test.before(async (world) => {
  world.browser = await openBrowser();
  world.dashboard = await startDashboard({ pages: true });
});
test.after(async ({ browser, dashboard }) => {
  await browser.close();
  await dashboard.close();
});

/** Follows a link and signs in by hand, as a person does. */
async function join(dashboard: Dashboard, page: Page, token: string): Promise<void> {
  await page.goto(`${dashboard.url}/link/${token}`);
  await page.getByLabel('The code that it shows now').fill(dashboard.code(token));
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Set and sign in' }).click();
  await shows(page.locator('h1'), 'recovery codes');
}

let owners = 0;

/** Signs a new owner in. */
async function signedIn(browser: Browser, dashboard: Dashboard, options: Parameters<typeof openPage>[2]) {
  const membership = { role: 'owner', storeId: dashboard.api.merchantId } as const;
  const { token } = await dashboard.invite(`Owner ${++owners}`, membership);
  const opened = await openPage(browser, dashboard.url, options);
  await join(dashboard, opened.page, token);
  await opened.page.getByRole('link', { name: 'I have saved them' }).click();
  await shows(opened.page.locator('h1'), 'Test overview');
  return { ...opened, token };
}

/** Checks what no address leads to, in light and dark, and keeps pictures of it. Axe itself needs scripts. */
async function look(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    assert.equal(await barriers(page), [], `${name} in ${colorScheme}`);
    await page.screenshot({ path: `${PICTURES}/${name.replaceAll(' ', '-')}-${colorScheme}.png`, fullPage: true });
  }
  assert.ok(Number(await widerThanScreen(page)) <= 0, `${name} fits the screen`);
}

const widerThanScreen = (page: Page) =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

test('recovery codes are accessible, and can be copied', async ({ browser, dashboard }) => {
  const { token } = await dashboard.invite('Nell', { role: 'owner', storeId: dashboard.api.merchantId });
  const { page } = await openPage(browser, dashboard.url);
  await join(dashboard, page, token);
  assert.is(await page.getByRole('button', { name: 'Copy' }).count(), 1);
  await look(page, 'recovery codes');
});

test('a hash and a link are copied by a button that says so in its place', async ({ browser, dashboard }) => {
  const { api } = dashboard;
  const sale = await paidSale(api);
  const tx = (await api.database().sessions.find(sale.id))?.payments[0]?.tx ?? '';
  const permissions = ['clipboard-read', 'clipboard-write'];
  const { page, complaints } = await signedIn(browser, dashboard, { permissions });
  await page.goto(`${dashboard.url}/s/${api.merchantId}/test/payments/${sale.id}`);
  const hash = page.getByRole('button', { name: `Copy: ${tx}` }).first();
  // It is said for two seconds.
  await stopTimers(page);
  await copies(page, tx, async () => {
    await hash.click();
    await shows(page.locator('#copied'), 'Copied');
  });
  await page.clock.resume();
  await look(page, 'copied');
  const link = page.getByRole('button', { name: 'Copy', exact: true });
  // Afterwards the button has its name again.
  await copies(page, `${api.baseUrl}/pay/${sale.id}`, () => link.click());
  await link.waitFor();
  assert.equal(complaints, []);
  await page.context().close();
});

test('a key leads to the search box, and a page’s name from there to that page', async ({ browser, dashboard }) => {
  const { page, complaints } = await signedIn(browser, dashboard, {});
  const box = page.getByRole('combobox', { name: 'Find' });
  // The script says that it listens.
  await box.and(page.locator('[aria-keyshortcuts]')).waitFor();
  await page.keyboard.press('Control+k');
  assert.is(await box.evaluate((element) => element.ownerDocument.activeElement === element), true);
  await page.keyboard.type('refunds');
  await page.keyboard.press('Enter');
  await shows(page.locator('h1'), 'Test refunds');
  await look(page, 'palette');
  assert.equal(complaints, []);
  await page.context().close();
});

test('before a session ends it says so, and whoever stays keeps what was typed', async ({ browser, dashboard }) => {
  const { api } = dashboard;
  const { page, complaints } = await signedIn(browser, dashboard, {});
  await page.clock.install();
  await page.goto(`${dashboard.url}/s/${api.merchantId}/test/developers`);
  const sleep = async (minutes: number) => {
    api.clock.advance(minutes * 60_000);
    await page.clock.runFor(minutes * 60_000);
  };
  await page.getByLabel('Name').fill('Half typed');
  const notice = page.locator('#session-end');
  await sleep(25);
  assert.is(await notice.isVisible(), false);
  await sleep(2);
  await shows(notice, 'signed out within three minutes');
  await look(page, 'session-ends');
  await page.getByRole('button', { name: 'Stay signed in' }).click();
  await until('it is gone', async () => !(await notice.isVisible()));
  await sleep(10);
  assert.is(await page.getByLabel('Name').inputValue(), 'Half typed');
  await page.getByRole('button', { name: 'Create the key' }).click();
  await shows(page.locator('main'), 'Half typed');
  assert.equal(complaints, []);

  await sleep(31);
  await shows(page.locator('#session-end [data-when=over]'), 'Copy what you have typed');
  assert.is(await page.getByRole('button', { name: 'Stay signed in' }).isVisible(), false);
  await page.context().close();
});

test('without scripts one click selects a whole hash, and there is no button that does nothing', async ({
  browser,
  dashboard,
}) => {
  const { api } = dashboard;
  const sale = await paidSale(api);
  const { page } = await signedIn(browser, dashboard, { javaScriptEnabled: false });
  await page.goto(`${dashboard.url}/sign-in?change=yes`);
  for (const [name, isVisible] of [
    ['Sign in with a passkey', false],
    ['Continue', true],
  ] as const)
    assert.is(await page.getByRole('button', { name, exact: true }).isVisible(), isVisible, name);
  await page.goto(`${dashboard.url}/s/${api.merchantId}/test/payments/${sale.id}`);
  assert.is(await page.locator('.copy').count(), 0);
  const whole = page.locator('td .on-chain code[data-copy]').first();
  await whole.click();
  const selected = String(await page.evaluate('getSelection().toString()'));
  assert.is(selected.trim(), await whole.getAttribute('title'));
  await page.context().close();
});

/** Gives a page an authenticator that verifies its user. */
async function addAuthenticator(page: Page): Promise<{ cdp: CDPSession; authenticatorId: string }> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable', { enableUI: false });
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { cdp, authenticatorId };
}

test('a passkey is added, signs in alone, is asked for again, and a removed one is refused', async ({
  browser,
  dashboard,
}) => {
  const membership = { role: 'owner', storeId: dashboard.api.merchantId } as const;
  const { token } = await dashboard.invite('Ada', membership);
  const { page, complaints } = await openPage(browser, dashboard.url);
  const { cdp, authenticatorId } = await addAuthenticator(page);
  await join(dashboard, page, token);
  await page.getByRole('link', { name: 'I have saved them' }).click();
  await page.getByRole('link', { name: 'My account' }).click();
  await page.getByLabel('Name of the new one').fill('Laptop');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByRole('heading', { name: 'Add the passkey “Laptop”?' }).waitFor();
  await page.getByRole('button', { name: 'Add the passkey' }).click();
  await page.getByText('The passkey “Laptop” is added.').waitFor();
  assert.equal(await barriers(page), []);
  await page.screenshot({ path: `${PICTURES}/passkeys.png`, fullPage: true });
  const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId });
  have(credentials, [{ rpId: 'localhost', isResidentCredential: true }]);

  await page.getByRole('button', { name: 'Sign out' }).click();
  await shows(page.locator('h1'), 'Sign in');
  assert.equal(await barriers(page), []);
  await page.screenshot({ path: `${PICTURES}/sign-in-passkey.png`, fullPage: true });
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();

  dashboard.api.clock.advance(600_000);
  await page.getByRole('link', { name: 'My account' }).click();
  await page.getByRole('button', { name: 'Remove' }).click();
  await shows(page.locator('h1'), 'Remove the passkey');
  assert.equal(await barriers(page), []);
  await page.screenshot({ path: `${PICTURES}/passkey-again.png`, fullPage: true });
  await page.getByRole('button', { name: 'Use a passkey instead' }).click();
  await page.getByText('The passkey “Laptop” is removed.').waitFor();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByRole('alert').getByText('That passkey was refused').waitFor();
  assert.equal(
    complaints.filter((one) => !one.includes('403')),
    [],
  );
  await page.context().close();
});

test.run();
