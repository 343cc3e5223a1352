/**
 * A suite of tests in one browser, on one shop with its payment page.
 */
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core';
import { suite, type Test } from 'uvu';
import { type ApiServer, startApi } from '../support/api-server.ts';
import { openBrowser, openPage, shows } from '../support/browser.ts';
import { openWalletSale } from './wallet-shop.ts';

export type BrowserWorld = { browser: Browser; api: ApiServer };

/**
 * Returns a suite whose tests close the pages that they open, even if they fail.
 * @param open the shop, if not the usual one
 */
export function browserSuite<World extends BrowserWorld = BrowserWorld>(
  name: string,
  open = () => startApi({ pages: true }),
): Test<World> {
  const test = suite<World>(name);
  let shared: readonly BrowserContext[] = [];
  test.before(async (world) => {
    world.browser = await openBrowser();
    world.api = await open();
  });
  test.before.each(({ browser }) => {
    shared = browser.contexts();
  });
  test.after.each(async ({ browser }) => {
    for (const own of browser.contexts()) if (!shared.includes(own)) await own.close();
  });
  test.after(async ({ browser, api }) => {
    await browser.close();
    await api.close();
  });
  return test;
}

/** Opens a sale on networks that wallets know, and a page that does not show it yet. */
export async function openWalletPage({ browser, api }: BrowserWorld, options: BrowserContextOptions = {}) {
  const sale = await openWalletSale(api);
  const { page, complaints } = await openPage(browser, api.baseUrl, options);
  const { json } = await api.send('GET', `/api/v1/checkout/sessions/${sale.id}`);
  const { payment_options: offered } = json as { payment_options: { network: string; address: string }[] };
  return {
    sale,
    page,
    context: page.context(),
    complaints,
    /** Returns the sale's address on a network. */
    addressOn: (name: string): string => offered.find(({ network }) => network === name)?.address ?? '',
    show: (pay: string, tab = page) => tab.goto(`${api.baseUrl}${sale.path}?pay=${pay}`),
    /** Waits until the wallet's part has these words. */
    says: (words: RegExp, tab = page) => shows(tab.locator('#wallet-status'), words),
  };
}
