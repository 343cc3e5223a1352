/**
 * A suite of tests in one browser, on one shop with its payment page.
 */
import type { Browser } from 'playwright-core';
import { suite, type Test } from 'uvu';
import { type ApiServer, startApi } from '../support/api-server.ts';
import { openBrowser } from '../support/browser.ts';

export type BrowserWorld = { browser: Browser; api: ApiServer };

/** @param open the shop, if not the usual one */
export function browserSuite(name: string, open = () => startApi({ pages: true })): Test<BrowserWorld> {
  const test = suite<BrowserWorld>(name);
  test.before(async (world) => {
    world.browser = await openBrowser();
    world.api = await open();
  });
  test.after(async ({ browser, api }) => {
    await browser.close();
    await api.close();
  });
  return test;
}
