/**
 * The page of a claim link, and the refund address on the payment page: over HTTP, and in a real browser without
 * scripts. Screenshots are written to `.tmp/pages/`.
 */
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import type { ApiServer } from '../support/api-server.ts';
import { barriers, openPage, phone, shows } from '../support/browser.ts';
import {
  advanceRefunds,
  askRefund,
  leaveAddress,
  openSale,
  paidSale,
  paidTo,
  pass,
  type Sale,
} from '../support/payment-scenes.ts';
import { browserSuite } from './browser-suite.ts';

const PICTURES = '.tmp/pages';

const payer = chains.evm.address.format('c0ffee'.padStart(40, '1'));
const other = chains.evm.address.format('decade'.padStart(40, '2'));

const test = browserSuite('refund pages');

let refunds = 0;

/** Creates a refund without an address. @returns its claim link, and a function that reads its state */
async function openRefund(api: ApiServer, sale: Sale, amount = '4.50') {
  const refund_id = `refund-${++refunds}`;
  const answer = await askRefund(api, sale, refund_id, { amount });
  assert.is(answer.status, 201, answer.text);
  const { metadata } = answer.json as { metadata: { claim_url: string } };
  const read = async () =>
    (await api.send('GET', `/api/v1/refunds/${refund_id}`)).json as { status: string; failure_reason?: string };
  return { url: metadata.claim_url, refund_id, read };
}

const devices = [
  ['desktop-light', { viewport: { width: 1200, height: 900 }, colorScheme: 'light' }],
  ['phone-dark', { ...phone, colorScheme: 'dark' }],
] as const;

const post = (url: string, fields: Record<string, string>) =>
  fetch(url, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' });

test('a payer gives an address, confirms it, and the refund starts', async ({ api, browser }) => {
  const { url, read, refund_id } = await openRefund(api, await paidSale(api));
  for (const [device, options] of devices) {
    const { page, complaints } = await openPage(browser, api.baseUrl, { ...options, javaScriptEnabled: true });
    await page.goto(url);
    await shows(page.locator('h1'), 'Where should your refund go?');
    await shows(page.locator('main'), '4.50 USDT');
    assert.equal(await barriers(page), [], device);
    await page.screenshot({ path: `${PICTURES}/refund-ask-${device}.png`, fullPage: true });

    await page.fill('#address', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t');
    await page.click('form .button.main');
    await shows(page.locator('#address-error'), 'This is not an address on');
    assert.equal(await barriers(page), [], device);
    await page.screenshot({ path: `${PICTURES}/refund-wrong-${device}.png`, fullPage: true });

    await page.fill('#address', ` ${payer.toLowerCase()} `);
    await page.click('form .button.main');
    await shows(page.locator('h1'), 'Is this your address?');
    assert.is((await page.locator('code.address').textContent()) ?? '', payer, 'with its checksum');
    assert.equal(await barriers(page), [], device);
    await page.screenshot({ path: `${PICTURES}/refund-confirm-${device}.png`, fullPage: true });
    // The browser logs the refused address as an error.
    assert.equal(
      complaints.filter((text) => !/400/.test(text)),
      [],
    );
    if (device === 'phone-dark') await page.click('form .button.main');
    if (device === 'phone-dark') {
      await shows(page.locator('h1'), 'Thank you, we have your address');
      assert.equal(await barriers(page), []);
      await page.screenshot({ path: `${PICTURES}/refund-named-${device}.png`, fullPage: true });
    }
  }
  await advanceRefunds(api);
  assert.is((await read()).status, 'processing');
  const [refund] = await api.database().refunds.list({ limit: 1 });
  assert.is(refund?.refundId, refund_id);
  assert.equal(refund?.destination && [refund.destination.key, refund.destination.from], [
    chains.evm.address.parse(payer),
    'claim_link',
  ]);
  assert.match(await (await fetch(url)).text(), 'Your refund is on its way');
});

test('no address is stored before it is confirmed; the payer may replace it until it is paid', async ({ api }) => {
  const sale = await paidSale(api);
  const { url, read } = await openRefund(api, sale);
  assert.is((await post(url, { address: payer })).status, 200);
  await advanceRefunds(api);
  assert.is((await read()).status, 'pending');
  assert.is((await post(url, { address: payer, confirmed: 'yes' })).status, 303);
  await advanceRefunds(api);
  assert.match(await (await fetch(url)).text(), 'Change the address');
  assert.match(await (await fetch(`${url}?change=1`)).text(), 'Where should your refund go?');
  assert.is((await post(url, { address: other, confirmed: 'yes' })).status, 303);
  const [refund] = await api.database().refunds.list({ sessionId: sale.id, limit: 1 });
  assert.is(refund?.destination?.address, other);
  const payout = await api.database().payouts.find(refund?.id ?? '');
  assert.is(payout?.intent.kind === 'refund' && payout.intent.to, chains.evm.address.parse(other));
  let refused = 0;
  for (let n = 0; n < 12; n++) {
    const answer = await post(url, { address: n % 2 ? other : payer, confirmed: 'yes' });
    if (answer.status === 429) refused++;
  }
  assert.is(refused, 4, 'ten entries an hour: each is kept for ever');
});

test('addresses that must not be paid are refused with an explanation', async ({ api }) => {
  const sale = await paidSale(api);
  const { url } = await openRefund(api, sale);
  const own = (await api.database().sessions.find(sale.id))?.addresses.evm ?? '';
  const rows: [string, string][] = [
    ['', 'This is not an address on'],
    ['<script>alert(1)</script>', 'This is not an address on'],
    [`0x${'1'.repeat(40)}`, 'address of the token itself'],
    [`0x${'0'.repeat(40)}`, 'Nobody holds the key'],
    [chains.evm.address.format(own), 'an address of the shop itself'],
  ];
  for (const [address, words] of rows) {
    const answer = await post(url, { address, confirmed: 'yes' });
    const text = await answer.text();
    assert.is(answer.status, 400, address);
    assert.match(text, words);
    assert.not.match(text, '<script>');
  }
});

test('an expired link, a wrong link and a canceled refund say so', async ({ api }) => {
  assert.is((await fetch(`${api.baseUrl}/refund/${'0'.repeat(32)}`)).status, 404);
  assert.is((await fetch(`${api.baseUrl}/refund/..%2f`)).status, 404);
  const { url, read } = await openRefund(api, await paidSale(api));
  await pass(api, 30 * 86_400 + 2);
  assert.not.match(
    await (await fetch(url)).text(),
    '<form',
    'no address is accepted any more, even before the refund has failed',
  );
  await advanceRefunds(api);
  assert.is((await read()).failure_reason, 'claim_expired');
  assert.match(await (await fetch(url)).text(), 'This link has expired');
});

test('who knows the session’s id and no token names no refund address, and sees none', async ({ api }) => {
  const sale = await paidSale(api);
  const token = new URLSearchParams(sale.payerPath.split('?')[1]).get('k') ?? '';
  const ofOther = new URLSearchParams((await paidSale(api)).payerPath.split('?')[1]).get('k') ?? '';
  assert.match(token, /^[0-9a-f]{32}$/);
  const wrongTokens = ['', ofOther, token.slice(1), `${token}0`, token.toUpperCase(), `é${token.slice(2)}`];
  for (const path of [sale.path, ...wrongTokens.map((k) => `${sale.path}?k=${k}`)]) {
    for (const confirmed of ['', 'yes'])
      assert.is((await leaveAddress(api, { payerPath: path }, other, confirmed)).status, 404, path);
    const shown = await (await fetch(`${api.baseUrl}${path}`)).text();
    assert.not.match(shown, 'refund-address', path);
    assert.not.match(shown, 'k=', 'a wrong token is carried on by no link');
  }
  assert.equal(await api.database().refunds.addresses(sale.id), {});
  await leaveAddress(api, sale, payer);
  assert.not.match(await (await fetch(`${api.baseUrl}${sale.path}`)).text(), payer.slice(-4), 'the payer’s address');
});

test('the payer’s token goes to no third party and into no log', async ({ api }) => {
  const sale = await openSale(api);
  const [path, token] = sale.payerPath.split('?k=');
  const headers = { 'User-Agent': 'Mozilla/5.0 (iPhone)' };
  for (const pay of ['ethereum-USDT', 'bsc-USDT']) {
    for (const qr of ['', '&qr=wallet']) {
      const answer = await fetch(`${api.baseUrl}${path}?k=${token}&pay=${pay}${qr}`, { headers });
      assert.is(answer.headers.get('referrer-policy'), 'no-referrer');
      const links = [...(await answer.text()).matchAll(/(?:href|action|data-[a-z]+)="([^"]*)"/g)].map(
        ([, link]) => link,
      );
      const withToken = links.filter((link) => link?.includes(token ?? ''));
      assert.ok(withToken.length > 0, 'the page’s own links carry it on');
      for (const link of withToken)
        assert.match(link ?? '', /^(\?|cs_[a-z0-9]+\/[a-z-]+\?)/, 'only links to this page');
    }
  }
  await leaveAddress(api, sale, payer);
  const session = (await api.send('GET', `/api/v1/checkout/sessions/${sale.id}`)).json as {
    url: string;
    payer_url: string;
    payment_options: { deep_link: string }[];
  };
  assert.is(session.url, `${api.baseUrl}${sale.path}`);
  assert.is(session.payer_url, `${session.url}?k=${token}`);
  for (const { deep_link } of session.payment_options) assert.not.match(deep_link, token ?? '');
  assert.ok(api.logged().includes('/pay/:id'), 'requests are logged');
  assert.not.match(api.logged(), token ?? '');
});

test('both steps on the payment page work in a browser without scripts, also in a frame', async ({ api, browser }) => {
  for (const [device, options] of devices) {
    const sale = await paidSale(api);
    const { page, complaints } = await openPage(browser, api.baseUrl, { ...options, javaScriptEnabled: false });
    await page.goto(`${api.baseUrl}${sale.payerPath}`);
    await page.click('#refund-address summary');
    await page.screenshot({ path: `${PICTURES}/refund-leave-${device}.png`, fullPage: true });
    await page.fill('#refund-to', payer);
    await page.click('#refund-address .button');
    await shows(page.locator('h1'), 'Is this your address?');
    assert.is(await page.locator('code.address').textContent(), payer);
    await page.screenshot({ path: `${PICTURES}/refund-leave-confirm-${device}.png`, fullPage: true });
    await page.click('a.button');
    await page.locator('#refund-to').waitFor({ state: 'attached' });
    assert.is(await page.locator('#refund-to').count(), 1, '“No, change it” leads back to the form');
    await page.click('#refund-address summary');
    await page.fill('#refund-to', payer);
    await page.click('#refund-address .button');
    await page.click('form .button.main');
    assert.is(await page.locator('.refund-address code.address').textContent(), payer);
    await page.screenshot({ path: `${PICTURES}/refund-left-${device}.png`, fullPage: true });
    assert.equal(complaints, []);
  }
});

test('the payment page shows its payer what becomes of refunds, as it happens, and nobody else', async ({
  api,
  browser,
}) => {
  const sale = await paidSale(api);
  const { refund_id } = await openRefund(api, sale);
  const read = async (path: string) => (await fetch(`${api.baseUrl}${path}`)).text();
  assert.match(await read(sale.payerPath), /is returning 4\.50 USDT to you[\s\S]*id="refund-address" open/);
  await leaveAddress(api, sale, payer);
  assert.match(await read(sale.payerPath), /The refund of 4\.50 USDT on [^<]* starts soon/);
  api.clock.advance(1);
  assert.is((await askRefund(api, sale, 'named', { ...paidTo(other), amount: '1.00' })).status, 201);
  await advanceRefunds(api);
  for (const [device, options] of devices) {
    const { page, complaints } = await openPage(browser, api.baseUrl, options);
    await page.goto(`${api.baseUrl}${sale.payerPath}`);
    const shown = (await page.locator('.transfers').last().textContent()) ?? '';
    assert.match(shown, /1\.00 USDT on .*Your refund is on its way.*4\.50 USDT on .*Your refund is on its way/s);
    const addresses = await page.locator('code.address').allTextContents();
    assert.equal(addresses, [other, payer], 'the one that the shop named, and the one that the payer left');
    assert.equal(await barriers(page), [], device);
    await page.screenshot({ path: `${PICTURES}/refund-state-${device}.png`, fullPage: true });
    if (device === 'phone-dark') {
      const { status } = await api.send('POST', `/api/v1/refunds/${refund_id}/cancel`);
      assert.is(status, 200);
      await page.getByText('The refund was canceled').waitFor();
    }
    assert.equal(complaints, []);
  }
  for (const path of [sale.path, `${sale.path}?k=${'0'.repeat(32)}`]) {
    assert.not.match(await read(path), /refund was canceled|4\.50/, path);
  }
});

test('before a payment was seen, the payment page asks for no refund address', async ({ api }) => {
  const sale = await openSale(api);
  assert.not.match(await (await fetch(`${api.baseUrl}${sale.payerPath}`)).text(), 'refund-address');
  assert.is((await leaveAddress(api, sale, payer)).status, 404);
});

test.run();
