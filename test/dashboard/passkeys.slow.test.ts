/**
 * Passkeys in a real browser, with the authenticator that Chromium plays: added, used to sign in and to go on where the
 * second factor is asked for again. Screenshots are written to `.tmp/dashboard/`.
 */
import { mkdirSync } from 'node:fs';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { script } from '../../src/dashboard/assets.ts';
import { barriers, openBrowser, openPage } from '../support/browser.ts';
import { type Dashboard, PASSWORD, startDashboard } from '../support/dashboard.ts';

const PICTURES = '.tmp/dashboard';
mkdirSync(PICTURES, { recursive: true });

type World = { browser: Browser; dashboard: Dashboard };
const test = suite<World>('passkeys in a browser');

test.before(async (world) => {
  world.browser = await openBrowser();
  world.dashboard = await startDashboard();
});
test.after(async ({ browser, dashboard }) => {
  await browser.close();
  await dashboard.close();
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

async function join({ url, code }: Dashboard, page: Page, token: string): Promise<void> {
  await page.goto(`${url}/link/${token}`);
  await page.getByLabel('The code that it shows now').fill(code(token));
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Set and sign in' }).click();
  await page.getByRole('link', { name: 'I have saved them' }).click();
}

const heading = async (page: Page): Promise<string> => (await page.locator('h1').textContent()) ?? '';

test('a passkey is added, signs in alone, is asked for again, and a removed one is refused', async ({
  browser,
  dashboard,
}) => {
  const membership = { role: 'owner', storeId: dashboard.api.merchantId } as const;
  const { token } = await dashboard.invite('Ada', membership);
  const { page, complaints } = await openPage(browser, dashboard.url);
  const { cdp, authenticatorId } = await addAuthenticator(page);
  await join(dashboard, page, token);
  await page.getByRole('link', { name: 'My account' }).click();
  await page.getByLabel('Name of the new one').fill('Laptop');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByRole('heading', { name: 'Add the passkey “Laptop”?' }).waitFor();
  await page.getByRole('button', { name: 'Add the passkey' }).click();
  await page.getByText('The passkey “Laptop” is added.').waitFor();
  assert.equal(await barriers(page), []);
  await page.screenshot({ path: `${PICTURES}/passkeys.png`, fullPage: true });
  const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId });
  assert.equal(
    credentials.map(({ rpId, isResidentCredential }) => [rpId, isResidentCredential]),
    [['localhost', true]],
  );

  await page.getByRole('button', { name: 'Sign out' }).click();
  assert.equal(await barriers(page), []);
  await page.screenshot({ path: `${PICTURES}/sign-in-passkey.png`, fullPage: true });
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();

  dashboard.api.clock.advance(600_000);
  await page.getByRole('link', { name: 'My account' }).click();
  await page.getByRole('button', { name: 'Remove' }).click();
  assert.match(await heading(page), 'Remove the passkey');
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

test('a user who is not verified makes no passkey, and is told how to go on', async ({ browser, dashboard }) => {
  const { token } = await dashboard.invite('Grace', { role: 'operator', storeId: null });
  const { page } = await openPage(browser, dashboard.url);
  const { cdp, authenticatorId } = await addAuthenticator(page);
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
  await join(dashboard, page, token);
  await page.getByRole('link', { name: 'My account' }).click();
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByText('No passkey was used. Try again, or go on without one.').waitFor();
  assert.is(await page.getByRole('button', { name: 'Add a passkey' }).isEnabled(), true);
  await page.context().close();
});

test('without scripts there is no button that does nothing', async ({ browser, dashboard }) => {
  const { page } = await openPage(browser, dashboard.url, { javaScriptEnabled: false });
  await page.goto(`${dashboard.url}/sign-in`);
  assert.is(await page.getByRole('button', { name: 'Sign in with a passkey' }).isVisible(), false);
  assert.is(await page.getByRole('button', { name: 'Sign in', exact: true }).isVisible(), true);
  await page.context().close();
});

test('all scripts together are at most 15 KB', () => {
  assert.ok(Buffer.byteLength(script) <= 15_000, `${Buffer.byteLength(script)} bytes`);
});

test.run();
