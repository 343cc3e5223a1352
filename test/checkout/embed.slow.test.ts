/**
 * The payment page in a dialog on a merchant's page of another origin, in a real browser. The merchant's page is the
 * example of the documentation.
 */
import { readFileSync } from 'node:fs';
import type { BrowserContextOptions, Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { ApiServer } from '../support/api-server.ts';
import { barriers, openPage, shows } from '../support/browser.ts';
import { type MerchantServer, startMerchantServer } from '../support/merchant-server.ts';
import { confirmTip, openSale, pass, type Sale } from '../support/payment-scenes.ts';
import { exchange } from '../support/signed-client.ts';
import { until } from '../support/until.ts';
import { type BrowserWorld, browserSuite } from './browser-suite.ts';

const PICTURES = '.tmp/pages';

type World = BrowserWorld & { shop: MerchantServer; stranger: MerchantServer };
const test = browserSuite<World>('the payment page in a merchant’s page');

/** A policy as strict as a careful merchant's, plus what the tests need. */
const policyOf = (base: string) =>
  `default-src 'none'; script-src ${base} 'unsafe-inline'; style-src 'none'; frame-src ${base}; img-src data:`;

test.before(async (world) => {
  const { baseUrl } = world.api;
  const example = readFileSync('docs/embed.html', 'utf8')
    .replaceAll('http://127.0.0.1:8420', baseUrl)
    // The policy allows no styles except the dialog's own.
    .replace(/<style>[\s\S]*<\/style>/, '');
  const open = () =>
    startMerchantServer((response) => {
      response
        .writeHead(200, { 'content-type': 'text/html', 'content-security-policy': policyOf(baseUrl) })
        .end(example);
    });
  world.shop = await open();
  world.stranger = await open();
  await world.api.database().stores.update(world.api.merchantId, { embedOrigins: [world.shop.origin] });
});
test.after(async ({ shop, stranger }) => {
  await shop.close();
  await stranger.close();
});

const frameOf = (page: Page) => page.frameLocator('iframe');
const result = async (page: Page) => (await page.textContent('#result')) ?? '';
/** Waits until the payment's own script has told the page around it something like this. */
const isHeard = (page: Page, what: string) =>
  until(`${what} is heard`, async () => (await page.evaluate(`received.some(({ ${what} }) => ${what})`)) === true);
const isTold = (page: Page, words: RegExp) => shows(page.locator('#result'), words);

/** Opens the merchant's page and the payment in it. All messages to the page are kept in `window.received`. */
async function openPayment(world: World, sale: Sale, options: BrowserContextOptions = {}, at = world.shop) {
  const { page, complaints } = await openPage(world.browser, '', options);
  await page.addInitScript(
    `window.received = []; window.addEventListener('message', ({ data, origin }) => received.push({ origin, ...data }))`,
  );
  const url = encodeURIComponent(`${world.api.baseUrl}${sale.path}`);
  await page.goto(`${at.origin}/#${url}`);
  await page.click('#pay');
  return { page, complaints };
}

const says = (page: Page, words: RegExp) => shows(frameOf(page).locator('h1'), words);

test('a payer pays in the dialog, and the merchant’s page gets the result once', async (world) => {
  const sale = await openSale(world.api);
  const { page, complaints } = await openPayment(world, sale);
  await says(page, /How do you want to pay/);
  const dialog = page.getByRole('dialog', { name: 'Payment' });
  await dialog.waitFor();
  assert.equal(await barriers(page), []);
  await frameOf(page).locator('#network-ethereum-USDT').click();
  await says(page, /Send 10\.50 USDT/);
  await page.screenshot({ path: `${PICTURES}/embedded-desktop.png` });
  await sale.send('10.50');
  await says(page, /Payment seen/);
  assert.is(await result(page), '', 'nothing is certain yet');
  await confirmTip(world.api);
  await isTold(page, /Thank you/);
  assert.is(await dialog.count(), 1, 'the receipt stays until it is closed');
  await page.getByRole('button', { name: 'Close the payment' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.match(await result(page), /Thank you/, 'closing afterwards is no other result');
  const received = (await page.evaluate('received')) as { origin: string; session: string; status: string }[];
  assert.ok(received.every(({ origin, session }) => origin === world.api.baseUrl && session === sale.id));
  assert.is(received.at(-1)?.status, 'paid');
  assert.equal(complaints, []);
});

for (const [end, words, make] of [
  ['expired', /time to pay has run out/, (api: ApiServer) => pass(api, 1801)],
  [
    'canceled',
    /was canceled/,
    async (api: ApiServer, sale: Sale) => {
      await api.send('POST', `/api/v1/checkout/sessions/${sale.id}/cancel`);
    },
  ],
  [
    'failed',
    /not complete in time/,
    async (api: ApiServer, sale: Sale) => {
      await sale.send('1.00');
      await pass(api, 3602);
    },
  ],
] as const) {
  test(`a payment that ends as ${end} is reported`, async (world) => {
    const sale = await openSale(world.api);
    const { page } = await openPayment(world, sale);
    await says(page, /How do you want to pay/);
    await make(world.api, sale);
    await isTold(page, words);
  });
}

test('a dialog closed before the end reports `closed`, and whether a payment was seen', async (world) => {
  const sale = await openSale(world.api);
  const { page } = await openPayment(world, sale);
  await says(page, /How do you want to pay/);
  await page.getByRole('button', { name: 'Close the payment' }).click();
  await isTold(page, /You have not paid yet/);
  await page.click('#pay');
  await says(page, /How do you want to pay/);
  await sale.send('10.50');
  await says(page, /Payment seen/);
  await isHeard(page, 'seen');
  await page.getByRole('button', { name: 'Close the payment' }).click();
  await isTold(page, /on its way/);
});

test('by keyboard: focus stays in the dialog, Escape closes it inside and outside the frame, focus returns', async (world) => {
  const sale = await openSale(world.api);
  const { page } = await openPayment(world, sale);
  await says(page, /How do you want to pay/);
  await isHeard(page, 'session');
  const focused = () => page.evaluate('document.activeElement.id || document.activeElement.tagName') as Promise<string>;
  for (let presses = 0; presses < 30; presses++) {
    await page.keyboard.press('Tab');
    assert.is.not(await focused(), 'pay', `after ${presses + 1} presses`);
  }
  await frameOf(page).locator('#network-bsc-USDT').focus();
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  assert.is(await focused(), 'pay');
  await page.keyboard.press('Enter');
  await says(page, /How do you want to pay/);
  await page.getByRole('button', { name: 'Close the payment' }).focus();
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  assert.is(await page.evaluate('document.documentElement.style.overflow'), '');
});

test('a page of another origin is refused, says so, and gets no messages', async (world) => {
  const sale = await openSale(world.api);
  const { page, complaints } = await openPayment(world, sale, {}, world.stranger);
  await until('the dialog says that it cannot be shown', async () => (await page.locator('.note a').count()) === 1);
  const link = page.locator('.note a');
  assert.is(await link.getAttribute('href'), `${world.api.baseUrl}${sale.path}`);
  assert.is(await page.locator('iframe').isVisible(), false);
  assert.ok(
    complaints.some((text) => /frame-ancestors/.test(text)),
    complaints.join(),
  );
  assert.equal(await page.evaluate('received'), []);
  await page.keyboard.press('Escape');
  await isTold(page, /You have not paid yet/);
});

test('messages go only to the origin that was named and is allowed', async (world) => {
  const { api, shop, stranger, browser } = world;
  await api.database().stores.update(api.merchantId, { embedOrigins: [shop.origin, stranger.origin] });
  const sale = await openSale(api);
  const { page } = await openPage(browser, '');
  await page.addInitScript(
    `window.received = []; window.addEventListener('message', ({ data }) => received.push(data))`,
  );
  await page.goto(stranger.origin);
  // One allowed site frames the page and names the other site, nobody, and a site that is not allowed.
  const sources = [shop.origin, '', 'https://elsewhere.example', `${stranger.origin}/`].map(
    (parent) => `${api.baseUrl}${sale.path}?parent=${encodeURIComponent(parent)}`,
  );
  await page.evaluate(
    `for (const src of ${JSON.stringify(sources)}) document.body.append(Object.assign(document.createElement('iframe'), { src }))`,
  );
  await until('all frames are there', async () => {
    const texts = await Promise.all(
      page
        .frames()
        .slice(1)
        .map((frame) => frame.locator('h1').count()),
    );
    return texts.length === 4 && texts.every((count) => count === 1);
  });
  await sale.send('10.50');
  for (const frame of page.frames().slice(1)) {
    await shows(frame.locator('h1'), /seen/);
  }
  assert.equal(await page.evaluate('received'), []);
  await api.database().stores.update(api.merchantId, { embedOrigins: [shop.origin] });
});

test('messages that only look like the payment’s are ignored', async (world) => {
  const sale = await openSale(world.api);
  const { page } = await openPayment(world, sale);
  await says(page, /How do you want to pay/);
  await page.evaluate(`window.postMessage({ from: 'quayside', status: 'paid', seen: true, session: 'x' }, '*')`);
  await until('the message has come', async () =>
    ((await page.evaluate('received')) as { session: string }[]).some(({ session }) => session === 'x'),
  );
  assert.is(await result(page), '');
});

test('the link back to the shop leaves the frame', async (world) => {
  const sale = await openSale(world.api, { cancel_url: `${world.shop.origin}/cart` });
  const { page } = await openPayment(world, sale);
  await says(page, /How do you want to pay/);
  await frameOf(page).locator('.languages a[lang=es]').click();
  await says(page, /¿Cómo quieres pagar\?/);
  await frameOf(page).locator('#cancel').click();
  await page.waitForURL(`${world.shop.origin}/cart`);
});

test('the headers say who may frame the page: nobody unless a store allows it', async ({ api, shop }) => {
  const sale = await openSale(api);
  const { headers } = await exchange('GET', `${api.baseUrl}${sale.path}`);
  assert.match(String(headers['content-security-policy']), `frame-ancestors ${shop.origin}`);
  assert.is(headers['x-frame-options'], undefined);
  const missing = await exchange('GET', `${api.baseUrl}/pay/cs_1`);
  assert.match(String(missing.headers['content-security-policy']), "frame-ancestors 'none'");
  await api.database().stores.update(api.merchantId, { embedOrigins: [] });
  const closed = await exchange('GET', `${api.baseUrl}${sale.path}?parent=${shop.origin}`);
  assert.match(String(closed.headers['content-security-policy']), "frame-ancestors 'none'");
  assert.is(closed.headers['x-frame-options'], 'DENY');
  assert.match(closed.text, 'data-parent=""');
  await api.database().stores.update(api.merchantId, { embedOrigins: [shop.origin] });
  const script = await exchange('GET', `${api.baseUrl}/embed.js`);
  assert.is(script.headers['cross-origin-resource-policy'], 'cross-origin');
  assert.match(String(script.headers['content-type']), 'javascript');
});

test.run();
