/** Looking up a transaction in a real browser: by keyboard, live, without scripts, without losing what is typed. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { TransactionReport } from '../../src/core/lookup.ts';
import type { ApiServer } from '../support/api-server.ts';
import { barriers, openPage, phone, shows } from '../support/browser.ts';
import { openSale } from '../support/payment-scenes.ts';
import { until } from '../support/until.ts';
import { browserSuite } from './browser-suite.ts';

const PICTURES = '.tmp/pages';
const HASH = `0x${'5e'.repeat(32)}`;

const test = browserSuite('asking after a transaction in a browser');

const answered = (page: Page, words: RegExp) =>
  until(`the page answers ${words}`, async () => words.test((await page.textContent('#look-up-answer')) ?? ''));

/** Lets every network's indexer answer the same. */
async function sight(api: ApiServer, report: TransactionReport): Promise<void> {
  const nowMs = api.clock.nowMs();
  for (const network of ['test:ethereum', 'test:bsc', 'live:ethereum'] as const) {
    for (const due of await api.database().lookups.claim(network, nowMs, 10)) {
      await api.database().lookups.answer({ ...due, report, nowMs });
    }
  }
}

test('by keyboard; the answer appears without a reload and is announced', async ({ api, browser }) => {
  const sale = await openSale(api);
  const { page, complaints } = await openPage(browser, api.baseUrl);
  await page.goto(`${api.baseUrl}${sale.path}?pay=ethereum-USDT`);
  await page.focus('#look-up summary');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.type(`https://etherscan.io/tx/${HASH}`);
  await page.keyboard.press('Enter');
  await answered(page, /Looking on Ethereum \(ERC20\), BNB Smart Chain \(BEP20\)/);
  assert.match(page.url(), /pay=ethereum-USDT.*#look-up/);
  assert.equal(await barriers(page), []);
  await page.evaluate('window.isSamePage = true');
  await sight(api, { kind: 'waiting' });
  await answered(page, /no block includes it yet/);
  await shows(page.locator('#announcer'), /no block includes it yet/);
  assert.is(await page.evaluate('window.isSamePage'), true);
  assert.equal(complaints, []);
  await page.context().close();
});

const looks = [
  ['unreadable', null],
  ['looking', null],
  ['unknown', { kind: 'unknown' }],
  ['failed', { kind: 'mined', number: 1, succeeded: false, transfers: [] }],
] as const;

for (const [name, report] of looks) {
  test(`${name}: accessible in light and dark mode, on desktop and narrow phones`, async ({ api, browser }) => {
    const sale = await openSale(api);
    const pasted = name === 'unreadable' ? 'order-1001' : HASH;
    for (const [device, options] of [
      ['desktop-light', { viewport: { width: 1200, height: 900 }, colorScheme: 'light' }],
      ['phone-dark', { ...phone, colorScheme: 'dark' }],
      ['narrow-ar', { ...phone, viewport: { width: 320, height: 640 }, locale: 'ar' }],
    ] as const) {
      const { page } = await openPage(browser, api.baseUrl, options);
      await page.goto(`${api.baseUrl}${sale.path}`);
      await page.click('#look-up summary');
      await page.fill('#transaction', pasted);
      await page.click('#look-up-ask');
      if (report) await sight(api, report);
      await until('there is an answer', async () => (await page.locator('#look-up-answer .notice').count()) === 1);
      await page.reload();
      const wide = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
      assert.is(await page.evaluate(wide), 0, device);
      assert.equal(await barriers(page), [], device);
      await page.screenshot({ path: `${PICTURES}/look-up-${name}-${device}.png`, fullPage: true });
      await page.context().close();
    }
  });
}

test('the rest can be paid in another way: the payer chooses, and can go back', async ({ api, browser }) => {
  const sale = await openSale(api);
  const { page } = await openPage(browser, api.baseUrl, phone);
  await page.goto(`${api.baseUrl}${sale.path}?pay=ethereum-USDT`);
  await sale.send('4.00');
  await until('the rest is due', async () => /6\.50 USDT still due/.test((await page.textContent('h1')) ?? ''));
  await shows(page.locator('main'), /rest to the same address/);
  await page.tap('#change');
  await shows(page.locator('main'), /Everything received for this order is added up/);
  assert.equal(await barriers(page), []);
  await page.screenshot({ path: `${PICTURES}/underpaid-choose.png`, fullPage: true });
  await page.tap('#token-USDC');
  await page.tap('#network-bsc-USDC');
  await shows(page.locator('h1'), /6\.50 USDC still due/);
  await shows(page.locator('main'), /received for this order is added up/);
  await sale.send('6.50', { network: 'bsc', currency: 'USDC' });
  await until('all is there', async () => /Payment seen/.test((await page.textContent('h1')) ?? ''));
  await page.context().close();
});

test.run();
