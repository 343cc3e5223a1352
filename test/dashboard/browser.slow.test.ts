/**
 * The dashboard in a real browser, without scripts: from the first link to a payment seen on its page, and every page's
 * accessibility in light and dark, on a desktop and a phone. Screenshots are written to `.tmp/dashboard/`.
 */
import { mkdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { barriers, openBrowser, openPage, phone } from '../support/browser.ts';
import { type Dashboard, PASSWORD, startDashboard } from '../support/dashboard.ts';
import { confirmTip, openSale, pass } from '../support/payment-scenes.ts';

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

const devices = [
  ['desktop-light', { viewport: { width: 1280, height: 900 }, colorScheme: 'light' }],
  ['phone-dark', { ...phone, colorScheme: 'dark' }],
] as const;

/** Follows a link and signs in by hand, as a person does. */
async function join(dashboard: Dashboard, page: Page, token: string): Promise<void> {
  await page.goto(`${dashboard.url}/link/${token}`);
  await page.getByLabel('The code that it shows now').fill(dashboard.code(token));
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Set and sign in' }).click();
  assert.match((await page.locator('h1').textContent()) ?? '', 'recovery codes');
}

const widerThanScreen = (page: Page) =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

test('from the first link to a payment on its page, without scripts', async ({ browser, dashboard }) => {
  const { api } = dashboard;
  const { token } = await dashboard.invite('Ada', { role: 'owner', storeId: api.merchantId });
  const { page, complaints } = await openPage(browser, dashboard.url, { javaScriptEnabled: false });
  await join(dashboard, page, token);
  await page.getByRole('link', { name: 'I have saved them' }).click();
  await page.getByRole('link', { name: 'Test payments' }).click();
  assert.match((await page.locator('main').textContent()) ?? '', 'There are no test payments yet');

  const sale = await openSale(api);
  await sale.send('10.50');
  await confirmTip(api);
  await page.reload();
  const order = page.locator('table a').first();
  assert.match((await page.locator('table').textContent()) ?? '', /10\.50 USD.*10\.50.*paid/s);
  const name = (await order.textContent()) ?? '';
  await page.getByLabel('Find').fill(name.slice(0, -1));
  await page.getByRole('button', { name: 'Show' }).click();
  assert.is(await page.locator('h1').textContent(), `Order ${name}`, 'the only match is opened');
  const history = (await page.locator('.history').textContent()) ?? '';
  assert.match(history, /Created for order.*Block with 10\.50 USDT.*payment\.completed/s);

  await page.getByRole('button', { name: 'Sign out' }).click();
  assert.is(await page.locator('h1').textContent(), 'Sign in');
  pass(api, 60);
  await page.getByLabel('Name').fill('Ada');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByLabel('Code from your app').fill(dashboard.code(token));
  await page.getByRole('button', { name: 'Sign in' }).click();
  assert.is(await page.locator('h1').textContent(), 'Payments');
  assert.equal(complaints, []);
});

test('every page is accessible, fits the screen, and needs nothing that its policy blocks', async ({
  browser,
  dashboard,
}) => {
  const { api } = dashboard;
  const owner = await dashboard.person('Grace', { role: 'owner', storeId: api.merchantId });
  const operator = await dashboard.person('Mary', { role: 'operator', storeId: null });
  const { token } = await dashboard.invite('Joan', { role: 'operator', storeId: null });
  const sale = await openSale(api, { metadata: { customer: 'c-17', note: 'gift' } });
  await sale.send('10.50');
  await confirmTip(api);
  await openSale(api);
  await api.database().keepAlarm({
    key: 'network:test:bsc',
    atMs: api.clock.nowMs(),
    code: 'network_behind',
    message: 'test:bsc is 40 blocks behind its node; look at it with `quayside networks show test:bsc`.',
    network: 'test:bsc',
    sessionId: null,
  });
  const act = { atMs: api.clock.nowMs(), operator: 'root', command: 'notify add', reason: null };
  for (const id of ['nt_1', 'nt_2']) {
    const hours = { quiet: null, digestMinute: null, zone: 'UTC', createdAtMs: act.atMs } as const;
    const wanted = { severities: ['page'], storeId: null, showsDetails: false, ...hours } as const;
    const target = { id, kind: 'slack', name: `team ${id}`, address: '{}', code: '918273', ...wanted } as const;
    await api.database().addNoticeTarget(target, act);
  }
  await api.database().proveNoticeTarget('nt_2', '918273', act);
  const base = `/s/${api.merchantId}/test/payments`;
  const pages: readonly (readonly [string, string, string])[] = [
    ['sign-in', '/sign-in', ''],
    ['link', `/link/${token}`, ''],
    ['payments', base, owner.cookie()],
    ['payments-empty', `/s/${api.merchantId}/live/payments`, owner.cookie()],
    ['payment', `${base}/${sale.id}`, owner.cookie()],
    ['account', '/account', owner.cookie()],
    ['overview', '/operator', operator.cookie()],
    ['networks', '/operator/networks', operator.cookie()],
    ['alarms', '/operator/alarms', operator.cookie()],
    ['notices', '/operator/notices', operator.cookie()],
    ['audit', '/operator/audit', operator.cookie()],
    ['people', '/operator/people', operator.cookie()],
    ['missing', '/operator/nothing', operator.cookie()],
  ];
  for (const [device, options] of devices) {
    for (const [name, path, cookie] of pages) {
      const { page, complaints } = await openPage(browser, dashboard.url, options);
      const [key = '', value = ''] = cookie.split('=');
      if (cookie !== '') await page.context().addCookies([{ name: key, value, url: dashboard.url }]);
      const response = await page.goto(dashboard.url + path);
      assert.is(response?.status(), name === 'missing' ? 404 : 200, name);
      assert.equal(await barriers(page), [], `${name} on ${device}`);
      assert.ok(Number(await widerThanScreen(page)) <= 0, `${name} fits ${device}`);
      assert.ok(((await response?.body())?.length ?? 0) <= 60_000, `${name} is at most 60 KB`);
      await page.screenshot({ path: `${PICTURES}/${name}-${device}.png`, fullPage: true });
      assert.equal(name === 'missing' ? [] : complaints, [], name);
      await page.context().close();
    }
  }
});

test.run();
