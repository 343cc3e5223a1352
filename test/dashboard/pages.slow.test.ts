/**
 * Every page of the dashboard in a real browser: accessible in light and dark and from right to left, and as wide as a
 * desktop and a phone. Screenshots are written to `.tmp/dashboard/`.
 */
import { mkdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { barriers, openBrowser, openPage, phone } from '../support/browser.ts';
import { type Dashboard, withDashboard } from '../support/dashboard.ts';
import { everyPage, openIn } from '../support/dashboard-pages.ts';
import { mailSettings } from '../support/mail-server.ts';

const PICTURES = '.tmp/dashboard';

const devices = [
  ['desktop-light', { viewport: { width: 1280, height: 900 }, colorScheme: 'light' }],
  ['phone-dark', { ...phone, colorScheme: 'dark' }],
  ['phone-arabic', { ...phone, colorScheme: 'dark', locale: 'ar' }],
] as const;

/** Counts badges of more than a line: what stands beside such a one is a column of letters. */
const TALL_BADGES = `[...document.querySelectorAll('.badge')].filter((one) => one.offsetHeight > 40).length`;

const widerThanScreen = (page: Page) =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

test('every page is accessible, fits the screen, and needs nothing that its policy blocks', async () => {
  mkdirSync(PICTURES, { recursive: true });
  const browser = await openBrowser();
  try {
    await withDashboard((dashboard) => visitAll(browser, dashboard), { pages: true, mail: mailSettings({ port: 1 }) });
  } finally {
    await browser.close();
  }
});

async function visitAll(browser: Browser, dashboard: Dashboard): Promise<void> {
  const pages = await everyPage(dashboard);
  for (const [device, options] of devices) {
    const { page, complaints } = await openPage(browser, dashboard.url, options);
    for (const shown of pages) {
      const { name, status = 200 } = shown;
      const before = complaints.length;
      const response = await openIn(page, dashboard, shown);
      assert.is(response?.status(), status, name);
      // Light and dark, desktop and phone, both directions: two of the three have all of it.
      if (device !== 'phone-dark') assert.equal(await barriers(page), [], `${name} on ${device}`);
      assert.ok(Number(await widerThanScreen(page)) <= 0, `${name} fits ${device}`);
      assert.is(await page.evaluate(TALL_BADGES), 0, `${name} on ${device} keeps the words of a cell together`);
      assert.ok(((await response?.body())?.length ?? 0) <= 60_000, `${name} is at most 60 KB`);
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
