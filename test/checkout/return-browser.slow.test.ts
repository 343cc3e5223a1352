/** The return to the shop in a real browser, with and without scripts. Screenshots are written to `.tmp/pages/`. */
import type { BrowserContextOptions } from 'playwright-core';
import * as assert from 'uvu/assert';
import { openPage, phone } from '../support/browser.ts';
import { confirmTip, openSale } from '../support/payment-scenes.ts';
import { until } from '../support/until.ts';
import { type BrowserWorld, browserSuite } from './browser-suite.ts';

const PICTURES = '.tmp/pages';
const SHOP = 'https://shop.example/thanks';

const test = browserSuite('the return to the shop in a browser');

/** Opens the page of a new sale, in a browser where the shop's own page answers. */
async function openAt({ browser, api }: BrowserWorld, options: BrowserContextOptions) {
  const sale = await openSale(api, { success_url: SHOP });
  const { page } = await openPage(browser, api.baseUrl, options);
  await page.route(`${SHOP}**`, (route) => route.fulfill({ contentType: 'text/html', body: '<h1>Thank you</h1>' }));
  await page.goto(api.baseUrl + sale.path);
  const pay = async () => {
    await sale.send('10.50');
    await confirmTip(api);
  };
  const isAtShop = async () => page.url() === `${SHOP}?session_id=${sale.id}`;
  return { sale, page, pay, isAtShop };
}

test('an open page returns to the shop by itself, and leaves no step back to it', async (world) => {
  const { page, pay, isAtShop } = await openAt(world, phone);
  const steps = await page.evaluate('history.length');
  await pay();
  await page.waitForSelector('#return');
  await page.screenshot({ path: `${PICTURES}/return-phone.png`, fullPage: true });
  await until('the shop is shown', isAtShop);
  assert.is(await page.evaluate('history.length'), steps);
  await page.context().close();
});

for (const [name, act] of [
  ['says so', '#stay'],
  ['does something else', '#print'],
] as const) {
  test(`a payer who ${name} stays`, async (world) => {
    const { page, pay, sale } = await openAt(world, {});
    await page.clock.install();
    await page.evaluate('window.print = () => undefined');
    await pay();
    await page.reload();
    await page.evaluate('window.print = () => undefined');
    await page.waitForSelector('#return');
    await page.click(act);
    await page.locator('#return').waitFor({ state: 'detached' });
    await page.clock.runFor(20_000);
    assert.ok(page.url().endsWith(sale.path), 'nothing was loaded again, and nothing else');
    await page.screenshot({ path: `${PICTURES}/return-stayed.png`, fullPage: true });
    await page.context().close();
  });
}

test('without scripts', async (world) => {
  const { page, pay, isAtShop, sale } = await openAt(world, { javaScriptEnabled: false });
  await pay();
  await page.reload();
  await page.screenshot({ path: `${PICTURES}/return-without-scripts.png`, fullPage: true });
  await until('the shop is shown', isAtShop);
  await page.goto(`${world.api.baseUrl}${sale.path}?stay=1`);
  assert.is((await page.content()).includes('http-equiv="refresh"'), false);
  await page.context().close();
});

test.run();
