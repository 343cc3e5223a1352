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

/** How a page is pictured, with what its file's name ends in. */
const looks = {
  '': { colorScheme: 'light', viewport: { width: 1280, height: 860 } },
  '-phone': { colorScheme: 'light', viewport: { width: 390, height: 844 } },
} as const;

const shown: Readonly<Record<string, readonly (keyof typeof looks)[]>> = {
  'store-overview': [''],
  payment: ['', '-phone'],
  'refund-approval': [''],
};

test('pages are pictured on a desktop and on a phone, each small enough for the documentation', async () => {
  mkdirSync(PICTURES, { recursive: true });
  const browser = await openBrowser();
  try {
    await withDashboard(
      async (dashboard) => {
        const pages = (await everyPage(dashboard)).filter(({ name }) => name in shown);
        assert.is(pages.length, Object.keys(shown).length);
        for (const { name, path, cookie } of pages) {
          for (const ending of shown[name] ?? []) {
            const file = `${name}${ending}.png`;
            const context = await browser.newContext(looks[ending]);
            const [cookieName = '', value = ''] = cookie.split('=', 2);
            await context.addCookies([{ name: cookieName, value, url: dashboard.url }]);
            const page = await context.newPage();
            await page.goto(dashboard.url + path);
            assert.ok((await page.locator('main h1').count()) === 1, file);
            const picture = await page.screenshot({ path: `${PICTURES}/${file}` });
            assert.ok(picture.length < BYTES_MAX, `${file} has ${picture.length} bytes`);
            await context.close();
          }
        }
      },
      { pages: true },
    );
  } finally {
    await browser.close();
  }
});

test.run();
