/** A store's name, logo and colour on the page: served strictly, and readable with any colour. */
import * as assert from 'uvu/assert';
import { barriers, openPage, phone } from '../support/browser.ts';
import { confirmTip, openSale } from '../support/payment-scenes.ts';
import { exchange } from '../support/signed-client.ts';
import { browserSuite } from './browser-suite.ts';

const PICTURES = '.tmp/pages';

const test = browserSuite('a store’s own look');

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
      await page.context().close();
    }
    await sale.send('10.50');
    const { page } = await openPage(browser, api.baseUrl, { colorScheme: 'light' });
    await page.goto(api.baseUrl + sale.path);
    assert.equal(await barriers(page), [], 'seen');
    await confirmTip(api);
    await page.goto(api.baseUrl + sale.path);
    assert.equal(await barriers(page), [], 'paid');
    await page.context().close();
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

test('a new name shows on the page at once', async ({ api }) => {
  const sale = await openSale(api);
  const url = `${api.baseUrl}${sale.path}`;
  const { headers } = await exchange('GET', url);
  const rename = (name: string) => {
    const act = { atMs: 0, operator: 'ops', command: 'store set', reason: null };
    return api.database().stores.update(api.merchantId, { name }, act);
  };
  await rename('Käse & Söhne');
  const { status, text } = await exchange('GET', url, { 'If-None-Match': String(headers.etag) });
  assert.is(status, 200);
  assert.match(text, '<span>Käse &amp; Söhne</span>');
  await rename('A shop');
});

test.run();
