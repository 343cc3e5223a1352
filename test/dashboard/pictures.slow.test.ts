/**
 * The pictures of the dashboard in `docs/dashboard/`: each fits its size. `QUAYSIDE_PICTURES=docs/dashboard npm test --
 * dashboard/pictures` makes them again; look at them before you commit them.
 */
import { mkdirSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openBrowser } from '../support/browser.ts';
import { withDashboard } from '../support/dashboard.ts';
import { everyPage } from '../support/dashboard-pages.ts';

const PICTURES = process.env.QUAYSIDE_PICTURES ?? '.tmp/dashboard/pictures';
const BYTES_MAX = 150_000;
const shown = [
  'store-overview',
  'payments',
  'payment',
  'refund-approval',
  'held-one',
  'endpoint',
  'developers',
  'network',
];

test('eight pages are pictured, each small enough for the documentation', async () => {
  mkdirSync(PICTURES, { recursive: true });
  const browser = await openBrowser();
  try {
    await withDashboard(
      async (dashboard) => {
        const pages = (await everyPage(dashboard)).filter(({ name }) => shown.includes(name));
        assert.is(pages.length, shown.length);
        for (const { name, path, cookie } of pages) {
          const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, colorScheme: 'light' });
          const [cookieName = '', value = ''] = cookie.split('=', 2);
          await context.addCookies([{ name: cookieName, value, url: dashboard.url }]);
          const page = await context.newPage();
          await page.goto(dashboard.url + path);
          assert.ok((await page.locator('main h1').count()) === 1, name);
          const picture = await page.screenshot({ path: `${PICTURES}/${name}.png` });
          assert.ok(picture.length < BYTES_MAX, `${name} has ${picture.length} bytes`);
          await context.close();
        }
      },
      { pages: true },
    );
  } finally {
    await browser.close();
  }
});

test.run();
