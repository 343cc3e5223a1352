/**
 * Every page of the dashboard in a real browser: accessible in light and dark and from right to left, and as wide as a
 * desktop and a phone. Screenshots are written to `.tmp/dashboard/`. Some are the pictures of `docs/dashboard/`:
 * `PICTURES_FOLDER=docs/dashboard npm test -- dashboard/pages` makes them again. Look at them before the commit.
 */
import { mkdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { dashboardPages } from '../../src/dashboard/pages.ts';
import { barriers, openBrowser, openPage, phone } from '../support/browser.ts';
import { type Dashboard, withDashboard } from '../support/dashboard.ts';
import { mailSettings } from '../support/mail-server.ts';
import { everyPage, openIn } from './every-page.ts';

const PICTURES = '.tmp/dashboard';
const DOCS_PICTURES = process.env.PICTURES_FOLDER ?? `${PICTURES}/pictures`;
const PICTURE_BYTES_MAX = 150_000;

const devices = [
  ['desktop-light', { viewport: { width: 1280, height: 860 }, colorScheme: 'light' }],
  ['phone-light', { viewport: { width: 390, height: 844 }, colorScheme: 'light' }],
  ['phone-dark', { ...phone, colorScheme: 'dark' }],
  ['phone-arabic', { ...phone, colorScheme: 'dark', locale: 'ar' }],
] as const;

/** The pages that the documentation shows, on each device. A phone in light colours is for its pictures alone. */
const pictured: Readonly<Record<string, readonly string[]>> = {
  'desktop-light': ['store-overview', 'payment', 'refund-approval'],
  'phone-light': ['payment'],
};

/** Pictures a page as the documentation shows it: small enough. */
async function picture(page: Page, file: string): Promise<void> {
  const { length } = await page.screenshot({ path: `${DOCS_PICTURES}/${file}.png` });
  assert.ok(length < PICTURE_BYTES_MAX, `${file} has ${length} bytes`);
}

const widerThanScreen = (page: Page) =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

test('every page is accessible, fits the screen, and needs nothing that its policy blocks', async () => {
  for (const folder of [PICTURES, DOCS_PICTURES]) mkdirSync(folder, { recursive: true });
  const browser = await openBrowser();
  try {
    await withDashboard((dashboard) => visitAll(browser, dashboard), { pages: true, mail: mailSettings({ port: 1 }) });
  } finally {
    await browser.close();
  }
});

/** Answers that are no page to look at: a redirect and a file. */
const noDocuments = ['/', '/s/:store/:mode/books.csv'];

async function visitAll(browser: Browser, dashboard: Dashboard): Promise<void> {
  const pages = await everyPage(dashboard);
  const isShown = (path: string) => {
    const pattern = new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`);
    return pages.some((page) => !page.form && pattern.test(page.path.replace(/\?.*/, '')));
  };
  const paths = dashboardPages({ config: { networks: [] } } as never).filter(({ method }) => method === 'get');
  const missing = paths.map(({ path }) => path).filter((path) => !noDocuments.includes(path) && !isShown(path));
  assert.equal(missing, [], 'each page is visited');
  for (const [device, options] of devices) {
    const { page, complaints } = await openPage(browser, dashboard.url, options);
    const own = pictured[device] ?? [];
    for (const shown of device === 'phone-light' ? pages.filter(({ name }) => own.includes(name)) : pages) {
      const { name, status = 200 } = shown;
      const before = complaints.length;
      const response = await openIn(page, dashboard, shown);
      assert.is(response?.status(), status, name);
      // Light and dark, desktop and phone, both directions: two of the three have all of it.
      if (device !== 'phone-dark') assert.equal(await barriers(page), [], `${name} on ${device}`);
      assert.ok(Number(await widerThanScreen(page)) <= 0, `${name} fits ${device}`);
      if (own.includes(name)) await picture(page, device === 'phone-light' ? `${name}-phone` : name);
      await page.screenshot({ path: `${PICTURES}/${name}-${device}.png`, fullPage: true });
      if (name === 'store-overview' && device !== 'desktop-light') {
        await page.locator('.bar button').click();
        assert.is(await page.locator('#menu a[aria-current=page]').isVisible(), true, 'the menu is open');
        assert.equal(await barriers(page), [], `the menu on ${device}`);
      }
      if (status === 200) assert.equal(complaints.slice(before), [], name);
    }
    await page.context().close();
  }
}

test.run();
