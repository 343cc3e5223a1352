/**
 * A suite of tests in one browser, on one shop whose networks real wallets know.
 */
import type { Browser } from 'playwright-core';
import { suite, type Test } from 'uvu';
import type { ApiServer } from '../support/api-server.ts';
import { openBrowser } from '../support/browser.ts';
import { openWalletShop, SOLANA_USDT } from '../support/wallet-shop.ts';

export type WalletWorld = { browser: Browser; api: ApiServer };

/** @param mint the token on Solana */
export function walletSuite(name: string, mint = SOLANA_USDT): Test<WalletWorld> {
  const test = suite<WalletWorld>(name);
  test.before(async (world) => {
    world.browser = await openBrowser();
    world.api = await openWalletShop(mint);
  });
  test.after(async ({ browser, api }) => {
    await browser.close();
    await api.close();
  });
  return test;
}
