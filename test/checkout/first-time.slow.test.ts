/**
 * Five things that somebody does for the first time, in a real browser and by what can be read on the page: pay from a
 * wallet, pay from an exchange, notice the wrong network, pay too little, ask for a refund. Screenshots of each step
 * are written to `.tmp/pages/first-time/`.
 */
import { mkdirSync } from 'node:fs';
import type { BrowserContextOptions, Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import type { ApiServer } from '../support/api-server.ts';
import { openPage, phone } from '../support/browser.ts';
import { addEvmWallet, type WalletMind, walletError } from '../support/browser-wallets.ts';
import { confirmTip, type Sale } from '../support/payment-scenes.ts';
import { until } from '../support/until.ts';
import { openWalletSale } from '../support/wallet-shop.ts';
import { type WalletWorld, walletSuite } from '../support/wallet-suite.ts';

const PICTURES = '.tmp/pages/first-time';
mkdirSync(PICTURES, { recursive: true });
const payer = chains.evm.address.format('c0ffee'.padStart(40, '1'));

const test = walletSuite('the payment page for the first time');

const says = (page: Page, words: RegExp) =>
  until(`the page says ${words}`, async () => words.test((await page.textContent('h1')) ?? ''));

/** Opens a sale as the shop sends a payer to it. `step` takes the next screenshot. */
async function arrive({ browser, api }: WalletWorld, task: string, options: BrowserContextOptions = {}) {
  const sale: Sale = await openWalletSale(api);
  const { page, complaints } = await openPage(browser, api.baseUrl, options);
  let steps = 0;
  const step = (name: string) => page.screenshot({ path: `${PICTURES}/${task}-${++steps}-${name}.png` });
  const leave = async () => {
    assert.equal(complaints, []);
    await page.context().close();
  };
  const link = (words: RegExp | string) => page.getByRole('link', { name: words });
  const button = (words: RegExp | string) => page.getByRole('button', { name: words });
  return { sale, page, step, leave, link, button, url: api.baseUrl + sale.payerPath };
}

/** Confirms the transfer in the newest block, and waits for the receipt. */
async function receipt(api: ApiServer, page: Page, network: 'ethereum' | 'bsc') {
  await confirmTip(api, network);
  await says(page, /^Paid$/);
}

test('pay from a wallet: choose the network, confirm in the wallet, read the receipt', async (world) => {
  const { sale, page, step, leave, link, button, url } = await arrive(world, 'wallet');
  const agree: WalletMind = ({ method }) => {
    if (method === 'eth_requestAccounts') return [payer];
    if (method === 'eth_chainId') return '0x1';
    if (method === 'eth_sendTransaction') return `0x${'7e'.repeat(32)}`;
    throw walletError(4200, method);
  };
  const wallet = await addEvmWallet(page.context(), { name: 'MetaMask', rdns: 'io.metamask' }, agree);
  await addEvmWallet(page.context(), { name: 'Rabby', rdns: 'io.rabby' }, agree);
  await page.goto(url);
  await step('choose');
  await link(/Ethereum \(ERC20\)/).click();
  await button('Pay with Rabby').waitFor();
  assert.is(await page.locator('.button.main:visible').count(), 1, 'of two wallets, one button is filled');
  await step('send');
  await button('Pay with MetaMask').click();
  await page.getByText('Sent with MetaMask').first().waitFor();
  assert.is(wallet.methods().filter((method) => method === 'eth_sendTransaction').length, 1);
  await step('sent');
  await sale.send('10.50');
  await says(page, /Payment seen/);
  assert.match((await page.textContent('#confirmed-in')) ?? '', /^(Confirmed|Final) in under a minute$/);
  await step('seen');
  await receipt(world.api, page, 'ethereum');
  assert.ok(await button('Print or save').isVisible());
  await step('paid');
  await leave();
});

test('pay from an exchange: the help says how, and what is copied is confirmed where it stands', async (world) => {
  const permissions = ['clipboard-read', 'clipboard-write'];
  const { sale, page, step, leave, link, button, url } = await arrive(world, 'exchange', { ...phone, permissions });
  await page.goto(url);
  await link(/BNB Smart Chain/).tap();
  await says(page, /Send 10\.50 USDT/);
  await step('send');
  const help = page.getByText('Many exchanges deduct their fee');
  assert.is(await help.isVisible(), false);
  await page.getByText('Help with paying').tap();
  assert.match(
    (await help.textContent()) ?? '',
    /withdrawal network BNB Smart Chain \(BEP20\).*enough for 10\.50 USDT/,
  );
  await step('help');
  await page.getByText('Help with paying').tap();
  const places = () => Promise.all(['#amount', '#address', '.qr'].map((at) => page.locator(at).boundingBox()));
  const before = await places();
  for (const [name, said] of [
    ['Copy amount', /Copied 10\.50$/],
    ['Copy address', /Copied, ends in \w{6}$/],
  ] as const) {
    const value = name === 'Copy amount' ? '10.50' : await page.textContent('#address');
    await button(name).tap();
    await button(said).waitFor();
    assert.equal(await places(), before, 'nothing moves');
    assert.is(await page.evaluate('navigator.clipboard.readText()'), value);
  }
  await step('copied');
  await sale.send('10.50', { network: 'bsc' });
  await says(page, /Payment seen/);
  await receipt(world.api, page, 'bsc');
  await step('paid');
  await leave();
});

test('notice the wrong network: change it before sending; what was sent on another one counts too', async (world) => {
  const { sale, page, step, leave, link, url } = await arrive(world, 'network', phone);
  await page.goto(url);
  await link(/Ethereum/).tap();
  await page.getByText('Wrong token or network: money at risk.').waitFor();
  await page.locator('.on', { hasText: 'on Ethereum (ERC20)' }).waitFor();
  await step('wrong');
  await link('Change').tap();
  await link(/BNB Smart Chain/).tap();
  await page.locator('.on', { hasText: 'on BNB Smart Chain (BEP20)' }).waitFor();
  await step('right');
  await sale.send('10.50', { network: 'ethereum' });
  await says(page, /Payment seen/);
  assert.match((await page.textContent('.transfers')) ?? '', /10\.50 USDT on Ethereum \(ERC20\)/);
  await step('seen');
  await leave();
});

test('pay too little: the page says what is missing, and the rest completes it', async (world) => {
  const { sale, page, step, leave, link, url } = await arrive(world, 'too-little', phone);
  await page.goto(url);
  await link(/Ethereum/).tap();
  const address = await page.textContent('#address');
  // An exchange took its fee from the amount.
  await sale.send('9.50');
  await says(page, /1\.00 USDT still due/);
  assert.is(await page.textContent('#amount'), '1.00');
  assert.is(await page.textContent('#address'), address, 'the same address');
  assert.ok(await page.getByText('9.50 USDT of 10.50 received').isVisible());
  await step('due');
  await confirmTip(world.api);
  await sale.send('1.00');
  await says(page, /Payment seen/);
  await receipt(world.api, page, 'ethereum');
  await step('paid');
  await leave();
});

test('ask for a refund: say where it should go, and the shop’s refund goes there', async (world) => {
  const { api } = world;
  const { sale, page, step, leave, button, url } = await arrive(world, 'refund', phone);
  await page.goto(url);
  await sale.send('12.50');
  await says(page, /Payment seen/);
  await receipt(api, page, 'ethereum');
  assert.ok(await page.getByText('You sent 2.00 USDT more than was due').isVisible());
  await page.getByText('Your refund address').tap();
  await page.getByLabel(/Your USDT address on Ethereum/).fill(payer);
  await step('address');
  await button('Continue').tap();
  await says(page, /Is this your address\?/);
  await step('confirm');
  await button('Save address').tap();
  await page.getByText('Refunds on Ethereum (ERC20) go to this address').waitFor();
  assert.is(await page.locator('.refund-address code.address').textContent(), payer);
  await step('saved');
  // The shop was written to, and returns what was too much.
  const body = { order_id: sale.id, refund_id: 'too-much', amount: '2.00', currency: 'USDT' };
  const { status, text } = await api.send('POST', '/api/v1/refunds/create', body);
  assert.is(status, 201, text);
  await api.database().refunds.advance(api.clock.nowMs(), 10);
  const [refund] = await api.database().refunds.list({ sessionId: sale.id, limit: 1 });
  assert.equal([refund?.status, refund?.destination?.address], ['processing', payer], 'no claim link is needed');
  await leave();
});

test.run();
