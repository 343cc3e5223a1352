/**
 * The dashboard in a real browser, without scripts: from the first link to a payment seen on its page, and every page's
 * accessibility in light and dark, on a desktop and a phone. Screenshots are written to `.tmp/dashboard/`.
 */
import { mkdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { issueEndpoint } from '../../src/app/new-credentials.ts';
import { chains } from '../../src/chains/index.ts';
import type { ApiServer } from '../support/api-server.ts';
import { barriers, openBrowser, openPage, phone } from '../support/browser.ts';
import { type Dashboard, PASSWORD, startDashboard } from '../support/dashboard.ts';
import { confirmTip, openSale, pass, type Sale } from '../support/payment-scenes.ts';

const PICTURES = '.tmp/dashboard';
mkdirSync(PICTURES, { recursive: true });

type World = { browser: Browser; dashboard: Dashboard };
const test = suite<World>('the dashboard in a browser');

test.before(async (world) => {
  world.browser = await openBrowser();
  world.dashboard = await startDashboard({ pages: true });
});
test.after(async ({ browser, dashboard }) => {
  await browser.close();
  await dashboard.close();
});

const devices = [
  ['desktop-light', { viewport: { width: 1280, height: 900 }, colorScheme: 'light' }],
  ['phone-dark', { ...phone, colorScheme: 'dark' }],
] as const;

/** Follows a link and signs in by hand, as a person does. */
async function join(dashboard: Dashboard, page: Page, token: string): Promise<void> {
  await page.goto(`${dashboard.url}/link/${token}`);
  await page.getByLabel('The code that it shows now').fill(dashboard.code(token));
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Set and sign in' }).click();
  assert.match((await page.locator('h1').textContent()) ?? '', 'recovery codes');
}

const PAYEE = chains.evm.address.format(`c0ffee${'1'.repeat(34)}`);
let owners = 0;

/** Signs a new owner in. */
async function signedIn(browser: Browser, dashboard: Dashboard, options: Parameters<typeof openPage>[2]) {
  const membership = { role: 'owner', storeId: dashboard.api.merchantId } as const;
  const { token } = await dashboard.invite(`Owner ${++owners}`, membership);
  const opened = await openPage(browser, dashboard.url, options);
  await join(dashboard, opened.page, token);
  await opened.page.getByRole('link', { name: 'I have saved them' }).click();
  return { ...opened, token };
}

/** Checks what no address leads to, in light and dark, and keeps pictures of it. Axe itself needs scripts. */
async function look(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    if (!name.includes('without')) assert.equal(await barriers(page), [], `${name} in ${colorScheme}`);
    await page.screenshot({ path: `${PICTURES}/${name.replaceAll(' ', '-')}-${colorScheme}.png`, fullPage: true });
  }
  assert.ok(Number(await widerThanScreen(page)) <= 0, `${name} fits the screen`);
}

const widerThanScreen = (page: Page) =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

test('from the first link to a payment on its page, without scripts', async ({ browser, dashboard }) => {
  const { api } = dashboard;
  const { token } = await dashboard.invite('Ada', { role: 'owner', storeId: api.merchantId });
  const { page, complaints } = await openPage(browser, dashboard.url, { javaScriptEnabled: false });
  await join(dashboard, page, token);
  await page.getByRole('link', { name: 'I have saved them' }).click();
  await page.getByRole('link', { name: 'Test payments' }).click();
  assert.match((await page.locator('main').textContent()) ?? '', 'There are no test payments yet');

  const sale = await openSale(api);
  await sale.send('10.50');
  await confirmTip(api);
  await page.reload();
  const order = page.locator('table a').first();
  assert.match((await page.locator('table').textContent()) ?? '', /10\.50 USD.*10\.50.*paid/s);
  const name = (await order.textContent()) ?? '';
  await page.getByLabel('Find').fill(name.slice(0, -1));
  await page.getByRole('button', { name: 'Find' }).click();
  assert.is(await page.locator('h1').textContent(), `Order ${name}`, 'the only match is opened');
  const history = (await page.locator('.history').textContent()) ?? '';
  assert.match(history, /Created for order.*Block with 10\.50 USDT.*payment\.completed/s);

  await page.getByRole('button', { name: 'Sign out' }).click();
  assert.is(await page.locator('h1').textContent(), 'Sign in');
  pass(api, 60);
  await page.getByLabel('Name').fill('Ada');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByLabel('Code from your app').fill(dashboard.code(token));
  await page.getByRole('button', { name: 'Sign in' }).click();
  assert.is(await page.locator('h1').textContent(), 'Overview');
  assert.equal(complaints, []);
});

for (const javaScriptEnabled of [false, true]) {
  const how = javaScriptEnabled ? 'with scripts' : 'without scripts';

  test(`a key is created and shown once, ${how}`, async ({ browser, dashboard }) => {
    const { page, complaints } = await signedIn(browser, dashboard, { javaScriptEnabled });
    await page.getByRole('link', { name: 'Test payments' }).click();
    await page.getByRole('link', { name: 'Developers' }).click();
    await page.getByLabel('Name').fill('Shop server');
    await page.getByRole('button', { name: 'Create the key' }).click();
    await look(page, `key-review-${how}`);
    assert.match((await page.locator('main').textContent()) ?? '', 'refunds:read, refunds:write');
    await page.getByRole('button', { name: 'Create the key' }).click();
    await look(page, `key-shown-${how}`);
    const text = (await page.locator('main').textContent()) ?? '';
    assert.match(text, /sk_test_\w{32}/);
    assert.match(text, /ss_\w{40}/);
    await page.getByRole('link', { name: 'I have saved them' }).click();
    const after = (await page.locator('main').textContent()) ?? '';
    assert.match(after, 'Shop server');
    assert.not.match(after, /ss_\w{40}/);
    assert.equal(complaints, []);
    await page.context().close();
  });

  test(`a refund is reviewed with its whole address and made, ${how}`, async ({ browser, dashboard }) => {
    const { api } = dashboard;
    const sale = await openSale(api);
    await sale.send('10.50');
    await confirmTip(api);
    const { page, complaints, token } = await signedIn(browser, dashboard, { javaScriptEnabled });
    await page.goto(`${dashboard.url}/s/${api.merchantId}/test/payments/${sale.id}`);
    await page.getByRole('link', { name: 'Refund', exact: true }).click();
    await page.getByLabel('Amount').fill('4.50');
    await page.getByLabel('Address').fill(PAYEE);
    await page.getByRole('button', { name: 'Go on' }).click();
    await look(page, `refund-review-${how}`);
    const shown = ((await page.locator('.grouped').textContent()) ?? '').replaceAll(/\s/g, '');
    assert.is(shown, PAYEE, 'whole, in groups');
    // Ten minutes of reading later the second factor is asked for.
    api.clock.advance(600_000);
    await page.getByRole('button', { name: 'Refund 4.50 USDT' }).click();
    await look(page, `refund-code-${how}`);
    await page.getByLabel('Code from your app').fill(dashboard.code(token));
    await page.getByRole('button', { name: 'Refund 4.50 USDT' }).click();
    assert.is(await page.locator('h1').textContent(), 'Refund of 4.50 USDT');
    assert.match((await page.getByRole('status').textContent()) ?? '', 'The refund is made.');
    await look(page, `refund-made-${how}`);
    assert.is((await api.database().listRefunds({ sessionId: sale.id, limit: 9 })).length, 1);
    assert.equal(
      complaints.filter((one) => !one.includes('403')),
      [],
    );
    await page.context().close();
  });
}

/** Makes one of everything that a store's pages show, for a paid sale. @returns the ids */
async function fillStore(api: ApiServer, sale: Sale) {
  await sale.send('3.25');
  await confirmTip(api);
  const [held] = await api.database().listHeldMoney({ sessionId: sale.id, limit: 1 });
  await api.database().setRefundPolicy(api.merchantId, { refundAutoMinor: 100 });
  const refund = async (refund_id: string, amount: string, metadata: object) => {
    const asked = { order_id: sale.id, refund_id, amount, currency: 'USDT', metadata };
    assert.is((await api.send('POST', '/api/v1/refunds/create', asked)).status, 201);
    return (await api.database().listRefunds({ sessionId: sale.id, limit: 1 }))[0]?.id;
  };
  const approved = await refund('r-1', '4.50', { refund_address: PAYEE });
  api.clock.advance(1);
  const asked = await refund('r-2', '0.50', {});
  const endpoint = issueEndpoint(api.merchantId, 'test', 'https://shop.example/hook', [], api.clock.nowMs());
  await api.database().addEndpoint(endpoint);
  const late = await openSale(api);
  await late.send('10.50');
  await confirmTip(api);
  const [delivery] = await api.database().listDeliveries({ sessionId: late.id, limit: 1 });
  await api.database().setPageSettings(api.merchantId, { accent: '#ffcc00' });
  return { held: held?.id, approved, asked, endpoint: endpoint.id, delivery: delivery?.id };
}

/** Adds two targets of notices, one of them proved. */
async function addNotices(api: ApiServer): Promise<void> {
  const act = { atMs: api.clock.nowMs(), operator: 'root', command: 'notify add', reason: null };
  for (const id of ['nt_1', 'nt_2']) {
    const hours = { quiet: null, afterMinutes: 0, digestMinute: null, zone: 'UTC', createdAtMs: act.atMs } as const;
    const wanted = { severities: ['page'], storeId: null, showsDetails: false, ...hours } as const;
    const target = { id, kind: 'slack', name: `team ${id}`, address: '{}', code: '918273', ...wanted } as const;
    await api.database().addNoticeTarget(target, act);
  }
  await api.database().proveNoticeTarget('nt_2', '918273', act);
}

/** Adds what the operator's pages of money show: a stuck payout, wallets, and a plan that was made. */
async function addMoneyOut(api: ApiServer): Promise<void> {
  const database = api.database();
  const nowMs = api.clock.nowMs();
  const network = 'test:ethereum';
  const intent = { kind: 'gas', id: 'ga_1', network, form: 'transfer', index: 0, units: 10n ** 16n } as const;
  await database.planPayouts([{ intent, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs }]);
  const why = { code: 'payout_outcome_unclear', message: 'the nodes disagree; look with `quayside payouts show ga_1`' };
  await database.stickPayout({ id: 'ga_1', generation: 0, why, haltsPayer: null, nowMs });
  const wallet = { network, key: 'ab'.repeat(20), readAtMs: nowMs } as const;
  await database.recordBalance({
    ...wallet,
    role: 'gas',
    units: { native: 123_456_789_012_345_678n, USDT: 0n },
    low: ['native'],
  });
  await database.compareBooks({ network, heldUnits: { native: 123_456_789_012_345_678n }, nowMs });
  const level = { network, currency: 'USDT', owners: 3, units: 7_500_000n, openUnits: 0n, readAtMs: nowMs } as const;
  await database.recordUnswept(network, [level]);
  const act = { atMs: nowMs, operator: 'Mary (dashboard)', command: 'ask', reason: null };
  await database.askOperation({ id: 'op_1', network, wish: { kind: 'sweep_plan' } }, act);
  await database.claimOperation(network, 'r', nowMs);
  const address = `0x${'71'.repeat(20)}`;
  const columns = ['Amount', 'Addresses', 'Why', 'Likely cost', 'Share of the amount'];
  const rows = Array.from({ length: 60 }, () => [
    '25.00 USDT',
    address,
    'value',
    '0.000073987000888818 ETH',
    'unknown',
  ]);
  const ids = rows.map((_, at) => `sw_${String(at).padStart(26, '0')}`);
  const lines = [`1500.00 USDT in 60 sweeps to the treasury ${address}, for about 0.0044 ETH.`];
  const result = { lines, table: { columns, rows }, plan: { treasury: address, costUnits: '1', ids } };
  await database.endOperation({ id: 'op_1', runner: 'r', nowMs }, 'done', result);
}

/** Names every page, with its path and the cookie of who sees it. */
function everyPage(
  storeId: string,
  saleId: string,
  made: Awaited<ReturnType<typeof fillStore>>,
  cookies: Readonly<{ owner: string; operator: string; token: string }>,
): readonly (readonly [string, string, string])[] {
  const store = `/s/${storeId}/test`;
  const base = `${store}/payments`;
  return [
    ['sign-in', '/sign-in', ''],
    ['link', `/link/${cookies.token}`, ''],
    ['store-overview', `${store}/overview`, cookies.owner],
    ['store-overview-new', `/s/${storeId}/live/overview`, cookies.owner],
    ['payments', base, cookies.owner],
    ['payments-filtered', `${base}?status=paid&network=ethereum`, cookies.owner],
    ['payments-empty', `/s/${storeId}/live/payments`, cookies.owner],
    ['payment', `${base}/${saleId}`, cookies.owner],
    ['refund-form', `${base}/${saleId}/refund`, cookies.owner],
    ['refunds', `${store}/refunds`, cookies.owner],
    ['refund-approval', `${store}/refunds/${made.approved}`, cookies.owner],
    ['refund-asked', `${store}/refunds/${made.asked}`, cookies.owner],
    ['held', `${store}/held`, cookies.owner],
    ['held-one', `${store}/held/${made.held}`, cookies.owner],
    ['webhooks', `${store}/webhooks`, cookies.owner],
    ['endpoint', `${store}/webhooks/${made.endpoint}`, cookies.owner],
    ['delivery', `${store}/webhooks/deliveries/${made.delivery}`, cookies.owner],
    ['developers', `${store}/developers`, cookies.owner],
    ['requests', `${store}/developers/requests`, cookies.owner],
    ['store', `${store}/store`, cookies.owner],
    ['team', `${store}/team`, cookies.owner],
    ['new-store', '/stores/new', cookies.owner],
    ['account', '/account', cookies.owner],
    ['overview', '/operator', cookies.operator],
    ['stores', '/operator/stores', cookies.operator],
    ['networks', '/operator/networks', cookies.operator],
    ['network', '/operator/networks/test:ethereum', cookies.operator],
    ['wallets', '/operator/wallets', cookies.operator],
    ['payouts', '/operator/payouts', cookies.operator],
    ['operator-payout', '/operator/payouts/ga_1', cookies.operator],
    ['operations', '/operator/operations', cookies.operator],
    ['operation', '/operator/operations/op_1', cookies.operator],
    ['sources', '/operator/sources', cookies.operator],
    ['alarms', '/operator/alarms', cookies.operator],
    ['notices', '/operator/notices', cookies.operator],
    ['audit', '/operator/audit', cookies.operator],
    ['people', '/operator/people', cookies.operator],
    ['missing', '/operator/nothing', cookies.operator],
  ];
}

test('every page is accessible, fits the screen, and needs nothing that its policy blocks', async ({
  browser,
  dashboard,
}) => {
  const { api } = dashboard;
  const owner = await dashboard.person('Grace', { role: 'owner', storeId: api.merchantId });
  const operator = await dashboard.person('Mary', { role: 'operator', storeId: null });
  const { token } = await dashboard.invite('Joan', { role: 'operator', storeId: null });
  const sale = await openSale(api, { metadata: { customer: 'c-17', note: 'gift' } });
  await sale.send('10.50');
  await confirmTip(api);
  await openSale(api);
  const made = await fillStore(api, sale);
  await dashboard.invite('Dorothy', { role: 'support', storeId: api.merchantId });
  await api.database().keepAlarm({
    key: 'network:test:bsc',
    atMs: api.clock.nowMs(),
    code: 'network_behind',
    message: 'test:bsc is 40 blocks behind its node; look at it with `quayside networks show test:bsc`.',
    network: 'test:bsc',
    sessionId: null,
  });
  await addNotices(api);
  await api.addMerchant('pending');
  await addMoneyOut(api);
  await api.send('GET', '/api/v1/checkout/sessions/cs_none');
  await api.requests.save();
  const pages = everyPage(api.merchantId, sale.id, made, { owner: owner.cookie(), operator: operator.cookie(), token });
  for (const [device, options] of devices) {
    for (const [name, path, cookie] of pages) {
      const { page, complaints } = await openPage(browser, dashboard.url, options);
      const [key = '', value = ''] = cookie.split('=');
      if (cookie !== '') await page.context().addCookies([{ name: key, value, url: dashboard.url }]);
      const response = await page.goto(dashboard.url + path);
      assert.is(response?.status(), name === 'missing' ? 404 : 200, name);
      assert.equal(await barriers(page), [], `${name} on ${device}`);
      assert.ok(Number(await widerThanScreen(page)) <= 0, `${name} fits ${device}`);
      assert.ok(((await response?.body())?.length ?? 0) <= 60_000, `${name} is at most 60 KB`);
      await page.screenshot({ path: `${PICTURES}/${name}-${device}.png`, fullPage: true });
      assert.equal(name === 'missing' ? [] : complaints, [], name);
      await page.context().close();
    }
  }
});

test.run();
