/**
 * The page in a real browser: every state is accessible in light and dark mode, a whole payment works with and without
 * scripts, the shop is returned to, and a store's own look is readable. Screenshots are written to `.tmp/pages/`.
 */
import { mkdirSync } from 'node:fs';
import type { BrowserContextOptions, Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { allWords } from '../../src/checkout/texts.ts';
import { barriers, copies, misfits, openPage, phone, shows, stopTimers, type WatchedPage } from '../support/browser.ts';
import { confirmTip, openSale, paidSale, pass } from '../support/payment-scenes.ts';
import { exchange } from '../support/signed-client.ts';
import { until } from '../support/until.ts';
import { type BrowserWorld, browserSuite } from './browser-suite.ts';
import { scenes } from './scenes.ts';

const PICTURES = '.tmp/pages';
mkdirSync(PICTURES, { recursive: true });

const test = browserSuite('the payment page in a browser');
/** A page on each device, used for one scene after the other: to open one takes as long as to check it. */
let views: readonly (WatchedPage & Readonly<{ device: string }>)[] = [];

const devices: readonly (readonly [string, BrowserContextOptions])[] = [
  ['desktop-light', { viewport: { width: 1200, height: 900 }, colorScheme: 'light' }],
  ['phone-dark', { ...phone, colorScheme: 'dark' }],
  ['narrow', { ...phone, viewport: { width: 320, height: 640 } }],
];

test.before(async ({ browser, api }) => {
  const open = async ([device, options]: (typeof devices)[number]) => ({
    device,
    ...(await openPage(browser, api.baseUrl, options)),
  });
  views = await Promise.all(devices.map(open));
});

const headline = (page: Page) => page.locator('h1');
const says = (page: Page, words: RegExp) => shows(headline(page), words);

const CONTROLS = '.button, .network, .tokens a, summary, .languages > *';

for (const [name, scene] of Object.entries(scenes)) {
  test(`${name}: accessible in light and dark mode, on desktop and phones`, async ({ api }) => {
    const path = await scene.play(api);
    for (const { device, page, complaints } of views) {
      const before = complaints.length;
      await page.goto(api.baseUrl + path);
      await shows(headline(page), scene.headline);
      assert.not.match((await page.textContent('body')) ?? '', /\{\w+\}|undefined|\[object|NaN/);
      assert.equal(await misfits(page, CONTROLS), [], device);
      if (device !== 'narrow') {
        assert.equal(await barriers(page), [], device);
        await page.screenshot({ path: `${PICTURES}/${name}-${device}.png`, fullPage: true });
      }
      // The browser logs a 404 page as an error.
      if (name !== 'not_found') assert.equal(complaints.slice(before), []);
    }
  });
}

for (const { code, direction } of allWords) {
  test(`${code}: every state of a payment fits a narrow phone and is accessible`, async ({ browser, api }) => {
    const sale = await openSale(api);
    const options = { ...phone, viewport: { width: 320, height: 640 }, locale: code };
    const { page, complaints } = await openPage(browser, api.baseUrl, options);
    await page.goto(api.baseUrl + sale.path);
    assert.equal([await page.getAttribute('html', 'lang'), await page.getAttribute('html', 'dir')], [code, direction]);
    assert.equal(await misfits(page, CONTROLS), []);
    await page.tap('#network-bsc-USDT');
    await page.waitForSelector('#address');
    assert.equal(await misfits(page, CONTROLS), []);
    assert.equal(await barriers(page), []);
    await page.screenshot({ path: `${PICTURES}/waiting-${code}.png`, fullPage: true });
    await sale.send('1.00');
    await until('the page shows it', async () => (await page.locator('.transfers').count()) === 1);
    assert.equal(await misfits(page, CONTROLS), []);
    await page.screenshot({ path: `${PICTURES}/underpaid-${code}.png`, fullPage: true });
    assert.equal(complaints, []);
  });
}

test('a button prints the receipt, and is there only with scripts', async ({ browser, api }) => {
  const sale = await paidSale(api);
  const { page } = await openPage(browser, api.baseUrl);
  await page.goto(api.baseUrl + sale.path);
  await page.evaluate('window.print = () => { window.printed = (window.printed ?? 0) + 1; }');
  await page.click('#print');
  assert.is(await page.evaluate('window.printed'), 1);
  const { page: plain } = await openPage(browser, api.baseUrl, { javaScriptEnabled: false });
  await plain.goto(api.baseUrl + sale.path);
  assert.is(await plain.isVisible('#print'), false);
});

test('the language is chosen by a link, and stays', async ({ browser, api }) => {
  const sale = await openSale(api);
  const { page } = await openPage(browser, api.baseUrl, { locale: 'de-DE' });
  await page.goto(api.baseUrl + sale.path);
  assert.is(await page.getAttribute('html', 'lang'), 'en');
  await page.click('.languages a[lang=es]');
  await says(page, /¿Cómo quieres pagar\?/);
  await page.click('#network-ethereum-USDT');
  await says(page, /Envía 10\.50 USDT/);
  await sale.send('10.50');
  await says(page, /Pago visto/);
});

test('a payer on a phone, from the choice to the receipt, without reloading the page', async ({ browser, api }) => {
  const sale = await openSale(api, { success_url: 'https://shop.example/thanks' });
  const { page, complaints } = await openPage(browser, api.baseUrl, phone);
  await page.goto(`${api.baseUrl}${sale.path}?stay=1`);
  await page.tap('text=BNB Smart Chain (BEP20)');
  await says(page, /Send 10\.50 USDT/);
  await page.evaluate('window.isSamePage = true');
  await page.tap('#help summary');
  await page.tap('#copy-address');
  await until('the button says how the address ends', async () =>
    ((await page.textContent('#copy-address')) ?? '').endsWith(((await page.textContent('#address')) ?? '').slice(-6)),
  );

  await sale.send('4.00', { network: 'bsc' });
  await says(page, /6\.50 USDT still due/);
  assert.is(await page.textContent('#amount'), '6.50');
  assert.is(await page.getAttribute('#help', 'open'), '', 'what was opened stays open');
  await shows(page.locator('#announcer'), /6\.50 USDT still due/);
  await confirmTip(api, 'bsc');
  await sale.send('6.50', { network: 'bsc' });
  await says(page, /Payment seen/);
  assert.is(await page.locator('#timer').count(), 0, 'the timer has stopped');
  await api.chain('bsc').mine();
  await until('the confirmations are counted', async () => (await page.getAttribute('progress', 'value')) === '2');
  const [paidIn] = await api.database().blocks.tail('test:bsc', 2);
  assert.ok(paidIn);
  await api.chain('bsc').confirm(paidIn);
  await says(page, /^Paid$/);
  assert.is(await page.getAttribute('#back', 'href'), `https://shop.example/thanks?session_id=${sale.id}`);
  assert.is(await page.evaluate('window.isSamePage'), true);
  assert.equal(complaints, []);
});

test('with the keyboard alone', async ({ browser, api }) => {
  const sale = await openSale(api);
  const { page } = await openPage(browser, api.baseUrl, { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.goto(api.baseUrl + sale.path);
  const focused = () =>
    page.evaluate('document.activeElement.id || document.activeElement.className') as Promise<string>;
  const order: string[] = [];
  for (let presses = 0; presses < 6; presses++) {
    await page.keyboard.press('Tab');
    order.push(await focused());
  }
  assert.equal(order, ['skip', 'token-USDT', 'token-USDC', 'network-ethereum-USDT', 'network-bsc-USDT', 'cancel']);
  await page.focus('#network-ethereum-USDT');
  await page.keyboard.press('Enter');
  await says(page, /Send 10\.50 USDT/);
  // The script shows the button, and leaves the focus on it when it has copied.
  await page.waitForSelector('#copy-amount');
  await page.focus('#copy-amount');
  await copies(page, '10.50', async () => {
    await page.keyboard.press('Enter');
    await shows(page.locator('#announcer'), 'Copied 10.50');
  });
  await page.keyboard.press('Tab');
  assert.is(await focused(), 'copy-address');
  await copies(page, (await page.textContent('#address')) ?? '', async () => {
    await page.keyboard.press('Space');
    await shows(page.locator('#announcer'), /Copied, ends in/);
  });
  await api.chain('ethereum').report('fault');
  await until('the page has changed', async () => (await page.locator('#copy-address').count()) === 0);
  assert.is(await focused(), 'main', 'focus is not lost when what had it goes');
});

test('without scripts', async ({ browser, api }) => {
  const sale = await openSale(api);
  const { page } = await openPage(browser, api.baseUrl, { ...phone, javaScriptEnabled: false });
  await page.goto(api.baseUrl + sale.path);
  await page.tap('#token-USDC');
  await page.tap('#network-ethereum-USDC');
  await shows(headline(page), 'Send 10.50 USDC');
  assert.is(await page.locator('.qr').count(), 1);
  assert.is(await page.isVisible('#copy-address'), false, 'nothing to press that does nothing');
  assert.match((await page.textContent('.waiting')) ?? '', /reloads every 15 seconds/);
  await page.tap('#qr-kind');
  await shows(page.locator('.warning'), /10\.50 USDC/);
  await page.tap('#qr-kind');
  await page.tap('#change');
  await shows(headline(page), /How do you want to pay/);
  await sale.send('10.50');
  await page.reload();
  assert.is(await headline(page).textContent(), 'Payment seen');
  await page.screenshot({ path: `${PICTURES}/without-scripts.png`, fullPage: true });
});

test('on a device whose clock is wrong by an hour', async ({ browser, api }) => {
  const sale = await openSale(api);
  for (const hours of [-1, 1]) {
    const { page } = await openPage(browser, api.baseUrl);
    await page.addInitScript(`{
      const Real = Date;
      const shift = ${hours * 3_600_000};
      globalThis.Date = class extends Real {
        constructor(...given) { super(...(given.length ? given : [Real.now() + shift])); }
        static now() { return Real.now() + shift; }
      };
    }`);
    await page.goto(`${api.baseUrl}${sale.path}?pay=ethereum-USDT`);
    await until('the timer runs', async () => (await page.textContent('#timer')) !== '30:00');
    const [minutes = 0, seconds = 0] = ((await page.textContent('#timer')) ?? '').split(':').map(Number);
    const left = minutes * 60 + seconds;
    assert.ok(left < 1800 && left > 1700, `${left} s are left by the server's clock`);
  }
});

test('with two tabs, one of which gets no stream', async ({ browser, api }) => {
  const sale = await openSale(api);
  const { page: first } = await openPage(browser, api.baseUrl);
  const second = await first.context().newPage();
  await second.route('**/events?*', (route) => route.abort());
  for (const tab of [first, second]) await tab.goto(`${api.baseUrl}${sale.path}?pay=ethereum-USDC`);
  await sale.send('11.00', { currency: 'USDC' });
  for (const tab of [first, second]) {
    await says(tab, /Payment seen/);
    await shows(tab.locator('.notice'), /0\.50 USDC more than was due/);
  }
});

test('a tab that slept past the end says so as soon as it is visible', async ({ browser, api }) => {
  const sale = await openSale(api);
  const { page } = await openPage(browser, api.baseUrl);
  await page.goto(`${api.baseUrl}${sale.path}?pay=ethereum-USDT`);
  await page.evaluate(`Object.defineProperty(document, 'hidden', { value: true, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'))`);
  await pass(api, 1801);
  await shows(headline(page), /Send 10\.50 USDT/);
  await page.evaluate(`Object.defineProperty(document, 'hidden', { value: false, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'))`);
  await says(page, /has expired/);
});

test('while the server is down the page stays, and continues afterwards', async ({ browser, api }) => {
  const sale = await openSale(api);
  const { page } = await openPage(browser, api.baseUrl);
  await page.goto(`${api.baseUrl}${sale.path}?pay=ethereum-USDT`);
  await page.context().setOffline(true);
  await sale.send('10.50');
  await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
  await shows(headline(page), /Send 10\.50 USDT/);
  await page.context().setOffline(false);
  await says(page, /Payment seen/);
});

// ── The return to the shop ──────────────────────────────────────────────────────────────────────────────────────────

const SHOP = 'https://shop.example/thanks';

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
});

for (const [name, act] of [
  ['says so', '#stay'],
  ['does something else', '#print'],
] as const) {
  test(`a payer who ${name} stays`, async (world) => {
    const { page, pay, sale } = await openAt(world, {});
    // The countdown does not run before the payer has acted.
    await stopTimers(page);
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
  });
}

// ── A store's own look, which is the last: it changes the store ──────────────────────────────────────────────────────

const picture = {
  hash: 'cd'.repeat(32),
  bytes: Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
    'base64',
  ),
};

for (const [name, accent] of [
  ['yellow', '#ffff00'],
  ['white', '#ffffff'],
  ['black', '#000000'],
  ['red', '#ff0000'],
  ['green', '#00ff00'],
] as const) {
  test(`an accent of pure ${name} is accessible in light and dark mode, before and after the payment`, async (world) => {
    const { api, browser } = world;
    await api.database().stores.update(api.merchantId, { accent, logo: picture });
    const sale = await openSale(api);
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, complaints } = await openPage(browser, api.baseUrl, { ...phone, colorScheme });
      for (const path of [sale.path, `${sale.path}?pay=ethereum-USDT`]) {
        await page.goto(api.baseUrl + path);
        assert.equal(await barriers(page), [], `${path} in ${colorScheme}`);
      }
      await page.screenshot({ path: `${PICTURES}/accent-${name}-${colorScheme}.png`, fullPage: true });
      await page.hover('.button:visible');
      assert.equal(await barriers(page), [], `a button that is pointed at, in ${colorScheme}`);
      assert.is(await page.evaluate(`document.querySelector('.logo').naturalWidth > 0`), true);
      assert.equal(complaints, []);
    }
    await sale.send('10.50');
    const { page } = await openPage(browser, api.baseUrl, { colorScheme: 'light' });
    await page.goto(api.baseUrl + sale.path);
    assert.equal(await barriers(page), [], 'seen');
    await confirmTip(api);
    await page.goto(api.baseUrl + sale.path);
    assert.equal(await barriers(page), [], 'paid');
  });
}

test('the logo is served as an inert image, to those who know a session', async ({ api }) => {
  await api.database().stores.update(api.merchantId, { logo: picture });
  const sale = await openSale(api);
  const path = `${api.baseUrl}${sale.path}/logo/${picture.hash}`;
  const { status, headers } = await exchange('GET', path);
  assert.equal([status, headers['content-type']], [200, 'image/png']);
  assert.is(headers['x-content-type-options'], 'nosniff');
  assert.match(String(headers['content-security-policy']), /^default-src 'none'; .*sandbox/);
  assert.match(String(headers['cache-control']), 'immutable');
  for (const other of ['0'.repeat(64), '..%2f', '%00']) {
    assert.is((await exchange('GET', `${api.baseUrl}${sale.path}/logo/${other}`)).status, 404);
  }
  assert.is((await exchange('GET', path.replace(sale.id, 'cs_00000000000000000000000000'))).status, 404);
});

test('an accent’s style sheet depends only on its name', async ({ api }) => {
  const good = await exchange('GET', `${api.baseUrl}/pay/assets/accent/ff8800.css`);
  assert.is(good.status, 200);
  assert.match(String(good.headers['content-type']), 'text/css');
  assert.is(good.headers['cache-control'], 'public, max-age=3600');
  assert.match(good.text, /:root\{--accent:oklch\(from #ff8800 /);
  for (const name of ['FF8800.css', 'ff88.css', 'ff8800', 'ff8800.css.css', 'red.css', '%7D.css']) {
    assert.is((await exchange('GET', `${api.baseUrl}/pay/assets/accent/${name}`)).status, 404, name);
  }
});

test.run();
