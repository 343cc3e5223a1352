/**
 * The page of a claim link, and the refund address on the payment page: over HTTP, and in a real browser without
 * scripts. Screenshots are written to `.tmp/pages/`.
 */
import { mkdirSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { type ApiServer, startApi } from '../support/api-server.ts';
import { barriers, openBrowser, openPage, phone } from '../support/browser.ts';
import { confirmTip, openSale, pass, type Sale } from '../support/payment-scenes.ts';

const PICTURES = '.tmp/pages';
mkdirSync(PICTURES, { recursive: true });

const payer = chains.evm.address.format('c0ffee'.padStart(40, '1'));
const other = chains.evm.address.format('decade'.padStart(40, '2'));

const test = suite<{ api: ApiServer }>('refund pages');
test.before(async (world) => {
  world.api = await startApi({ pages: true });
});
test.after(({ api }) => api.close());

let refunds = 0;

async function paidSale(api: ApiServer): Promise<Sale> {
  const sale = await openSale(api);
  await sale.send('10.50');
  await confirmTip(api);
  return sale;
}

/** Creates a refund without an address. @returns its claim link, and a function that reads its state */
async function openRefund(api: ApiServer, sale: Sale, amount = '4.50') {
  const refund_id = `refund-${++refunds}`;
  const body = { order_id: sale.id, refund_id, amount, currency: 'USDT' };
  const answer = await api.send('POST', '/api/v1/refunds/create', body);
  assert.is(answer.status, 201, answer.text);
  const { metadata } = answer.json as { metadata: { claim_url: string } };
  const read = async () =>
    (await api.send('GET', `/api/v1/refunds/${refund_id}`)).json as { status: string; failure_reason?: string };
  return { url: metadata.claim_url, refund_id, read };
}

const post = (url: string, fields: Record<string, string>) =>
  fetch(url, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' });

test('a payer gives an address, confirms it, and the refund starts', async ({ api }) => {
  const { url, read, refund_id } = await openRefund(api, await paidSale(api));
  const browser = await openBrowser();
  try {
    for (const [device, options] of [
      ['desktop-light', { viewport: { width: 1200, height: 900 }, colorScheme: 'light' }],
      ['phone-dark', { ...phone, colorScheme: 'dark' }],
    ] as const) {
      const { page, complaints } = await openPage(browser, api.baseUrl, { ...options, javaScriptEnabled: true });
      await page.goto(url);
      assert.match((await page.locator('h1').textContent()) ?? '', 'Where should your refund go?');
      assert.match((await page.locator('main').textContent()) ?? '', '4.50 USDT');
      assert.equal(await barriers(page), [], device);
      await page.screenshot({ path: `${PICTURES}/refund-ask-${device}.png`, fullPage: true });

      await page.fill('#address', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t');
      await page.click('form .button.main');
      assert.match((await page.locator('#address-error').textContent()) ?? '', 'This is not an address on');
      assert.equal(await barriers(page), [], device);
      await page.screenshot({ path: `${PICTURES}/refund-wrong-${device}.png`, fullPage: true });

      await page.fill('#address', ` ${payer.toLowerCase()} `);
      await page.click('form .button.main');
      assert.match((await page.locator('h1').textContent()) ?? '', 'Is this your address?');
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
        assert.match((await page.locator('h1').textContent()) ?? '', 'Thank you, we have your address');
        assert.equal(await barriers(page), []);
        await page.screenshot({ path: `${PICTURES}/refund-named-${device}.png`, fullPage: true });
      }
      await page.context().close();
    }
  } finally {
    await browser.close();
  }
  await api.database().advanceRefunds(api.clock.nowMs(), 10);
  assert.is((await read()).status, 'processing');
  const [refund] = await api.database().listRefunds({ limit: 1 });
  assert.is(refund?.refundId, refund_id);
  assert.equal(refund?.destination && [refund.destination.key, refund.destination.from], [
    chains.evm.address.parse(payer),
    'payer',
  ]);
  assert.match(await (await fetch(url)).text(), 'Your refund is on its way');
});

test('no address is stored before it is confirmed, and none after the first', async ({ api }) => {
  const { url, read } = await openRefund(api, await paidSale(api));
  assert.is((await post(url, { address: payer })).status, 200);
  await api.database().advanceRefunds(api.clock.nowMs(), 10);
  assert.is((await read()).status, 'pending');
  const answers = await Promise.all([payer, other].map((address) => post(url, { address, confirmed: 'yes' })));
  assert.ok(answers.some(({ status }) => status === 303));
  const [refund] = await api.database().listRefunds({ limit: 1 });
  const first = refund?.destination?.key;
  await post(url, { address: other, confirmed: 'yes' });
  await post(url, { address: payer, confirmed: 'yes' });
  assert.is((await api.database().listRefunds({ limit: 1 }))[0]?.destination?.key, first);
});

test('addresses that must not be paid are refused with an explanation', async ({ api }) => {
  const sale = await paidSale(api);
  const { url } = await openRefund(api, sale);
  const own = (await api.database().findSession(sale.id))?.addresses.evm ?? '';
  const rows: [string, string][] = [
    ['', 'This is not an address on'],
    ['<script>alert(1)</script>', 'This is not an address on'],
    [`0x${'1'.repeat(40)}`, 'address of the token itself'],
    [`0x${'0'.repeat(40)}`, 'Nobody holds the key'],
    [chains.evm.address.format(own), 'deposit address of the shop'],
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
  await api.database().advanceRefunds(api.clock.nowMs(), 100);
  assert.is((await read()).failure_reason, 'claim_expired');
  assert.match(await (await fetch(url)).text(), 'This link has expired');
});

test('the page cannot be framed or indexed, and is in the payer’s language', async ({ api }) => {
  const { url } = await openRefund(api, await paidSale(api));
  const answer = await fetch(url, { headers: { 'Accept-Language': 'ar' } });
  assert.match(answer.headers.get('content-security-policy') ?? '', "frame-ancestors 'none'");
  assert.is(answer.headers.get('referrer-policy'), 'no-referrer');
  assert.match(answer.headers.get('x-robots-tag') ?? '', 'noindex');
  assert.match(await answer.text(), '<html lang="ar" dir="rtl">');
});

test('a payer can give an address on the payment page once; later refunds go there', async ({ api }) => {
  const sale = await paidSale(api);
  const page = `${api.baseUrl}${sale.path}`;
  assert.match(await (await fetch(page)).text(), 'Your refund address (optional)');
  const wrong = await fetch(`${page}/refund-address`, {
    method: 'POST',
    body: new URLSearchParams({ address: '0x12' }),
  });
  assert.match(await wrong.text(), 'This is not an address on');
  await post(`${page}/refund-address`, { address: payer });
  await post(`${page}/refund-address`, { address: other });
  assert.equal(await api.database().refundAddresses(sale.id), { 'test:ethereum': chains.evm.address.parse(payer) });
  assert.match(await (await fetch(page)).text(), 'it goes to this address:');
  const body = { order_id: sale.id, refund_id: 'to-left', amount: '1.00', currency: 'USDT' };
  const answer = await api.send('POST', '/api/v1/refunds/create', body);
  assert.is((answer.json as { metadata?: object }).metadata, undefined, 'nobody has to be asked');
  await api.database().advanceRefunds(api.clock.nowMs(), 10);
  assert.is(((await api.send('GET', '/api/v1/refunds/to-left')).json as { status: string }).status, 'processing');
});

test('a refund with an open claim link goes to the address that is given on the payment page', async ({ api }) => {
  const sale = await paidSale(api);
  const { url, read, refund_id } = await openRefund(api, sale);
  await post(`${api.baseUrl}${sale.path}/refund-address`, { address: payer });
  await api.database().advanceRefunds(api.clock.nowMs(), 10);
  assert.is((await read()).status, 'processing');
  const { pathname } = new URL(url);
  await post(`${api.baseUrl}${pathname}`, { address: other, confirmed: 'yes' });
  const refund = (await api.database().listRefunds({ sessionId: sale.id, limit: 10 })).find(
    ({ refundId }) => refundId === refund_id,
  );
  assert.is(refund?.destination?.key, chains.evm.address.parse(payer), 'it is named once');
  const payout = await api.database().findPayout(refund?.id ?? '');
  assert.is(payout?.intent.kind === 'refund' && payout.intent.to, chains.evm.address.parse(payer));
});

test('before a payment was seen, the payment page asks for no refund address', async ({ api }) => {
  const sale = await openSale(api);
  assert.not.match(await (await fetch(`${api.baseUrl}${sale.path}`)).text(), 'refund-address');
  assert.is((await post(`${api.baseUrl}${sale.path}/refund-address`, { address: payer })).status, 404);
});

test.run();
