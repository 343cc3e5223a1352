/**
 * The receipt by mail in a real browser, with and without scripts: asked for on the payment page, seen whole,
 * confirmed, and at a real mail server. Each step is accessible in light and dark, from right to left, and fits a
 * phone. Screenshots are written to `.tmp/pages/`.
 */
import { mkdirSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openLog } from '../../src/lib/log.ts';
import { sendDueMails } from '../../src/notifications/mails.ts';
import { startApi } from '../support/api-server.ts';
import { barriers, openBrowser, openPage, phone } from '../support/browser.ts';
import { mailSettings, startMailServer, subjectOf } from '../support/mail-server.ts';
import { confirmTip, openSale } from '../support/payment-scenes.ts';

const PICTURES = '.tmp/pages';
mkdirSync(PICTURES, { recursive: true });

const devices = [
  ['desktop', { viewport: { width: 1200, height: 900 } }, 'en', /^Receipt from /],
  ['phone', phone, 'en', /^Receipt from /],
  ['phone-arabic', phone, 'ar', /^إيصال /],
] as const;

const widerThanScreen = (page: Page) =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

/** Checks a step in light and dark. Axe itself needs scripts. */
async function look(page: Page, name: string, hasScripts: boolean): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    if (hasScripts) assert.equal(await barriers(page), [], `${name} in ${colorScheme}`);
    await page.screenshot({ path: `${PICTURES}/${name}-${colorScheme}.png`, fullPage: true });
  }
  assert.ok(Number(await widerThanScreen(page)) <= 0, `${name} fits the screen`);
}

test('a payer has the receipt sent, step by step, with and without scripts', async () => {
  const server = await startMailServer();
  const mail = mailSettings(server);
  const api = await startApi({ pages: true, addresses: 20, mail });
  const browser = await openBrowser();
  try {
    await api.database().stores.setPageSettings(api.merchantId, { receiptsReplyTo: 'help@shop.example' });
    for (const [device, options, language, subject] of devices) {
      for (const javaScriptEnabled of [true, false]) {
        // So that no caller has too many tries.
        api.clock.advance(600_000);
        const sale = await openSale(api);
        await sale.send('10.50');
        await confirmTip(api);
        const { page, complaints } = await openPage(browser, api.baseUrl, { ...options, javaScriptEnabled });
        const name = (step: string) => `receipt-${step}-${device}${javaScriptEnabled ? '' : '-without-scripts'}`;
        await page.goto(`${api.baseUrl}${sale.payerPath}&lang=${language}`);
        await page.locator('#receipt-mail summary').click();
        await look(page, name('ask'), javaScriptEnabled);
        const address = `payer-${device}-${javaScriptEnabled}@payer.example`;
        // Browsers refuse less than servers do.
        await page.locator('#mail-to').fill('ann@payer');
        await page.locator('#receipt-mail button').click();
        await page.locator('#mail-error').waitFor();
        await look(page, name('bad'), javaScriptEnabled);
        await page.locator('#mail-to').fill(address);
        await page.locator('#receipt-mail button').click();
        await page.locator('form .button.main').waitFor();
        assert.match((await page.locator('main').textContent()) ?? '', address);
        await look(page, name('confirm'), javaScriptEnabled);
        await page.locator('form .button.main').click();
        await page.locator('p#receipt-mail').waitFor();
        await look(page, name('sent'), javaScriptEnabled);
        const parts = { database: api.database(), mail, clock: api.clock, log: openLog('mail', 'silent'), sender: 'x' };
        await sendDueMails({ ...parts, signal: new AbortController().signal });
        const arrived = server.received.at(-1);
        assert.equal(arrived?.to, [address]);
        assert.match(subjectOf(arrived ?? { text: '' }), subject);
        assert.equal(complaints, []);
        await page.context().close();
      }
    }
    assert.is(server.received.length, 2 * devices.length);
  } finally {
    await browser.close();
    await api.close();
    await server.close();
  }
});

test.run();
