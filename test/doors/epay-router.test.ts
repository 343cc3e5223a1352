/**
 * EPay over real HTTP: orders, look-ups, returns, and notices that a real server of a panel receives.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { invariant } from '../../src/core/fault.ts';
import type { NewDoor } from '../../src/database/doors.ts';
import { doorFormats } from '../../src/doors/notices.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { openLog } from '../../src/lib/log.ts';
import { startDispatcher } from '../../src/webhooks/dispatcher.ts';
import { startApi } from '../support/api-server.ts';
import { have } from '../support/fields.ts';
import { startMerchantServer } from '../support/merchant-server.ts';
import { until } from '../support/until.ts';
import { webhookConfig } from '../support/webhook-shop.ts';
import { addDoor as addDoorTo, md5Of } from './requests.ts';

const guard = createUrlGuard(['127.0.0.0/8']);
const api = await startApi({ pages: true, checkWebhookUrl: guard.check });
const clock = { nowMs: api.clock.nowMs, sleep: systemClock.sleep };
/** The panel's answers to the notices of an order, one after the other; the last for ever. */
const answers = new Map<string, readonly string[]>();
const panel = await startMerchantServer((response, { path }) => {
  const orderNo = new URL(path, 'http://panel').searchParams.get('out_trade_no') ?? '';
  const given = answers.get(orderNo) ?? ['success'];
  const earlier = noticesOf(orderNo).length - 1;
  response.end(given[Math.min(earlier, given.length - 1)]);
});
const dispatcher = startDispatcher({
  database: api.database(),
  config: webhookConfig,
  doors: doorFormats,
  holder: 'webhooks of a test',
  clock,
  log: openLog('test', 'silent'),
  guard,
  dice: () => 0.5,
});

type Fields = Readonly<Record<string, string>>;

const signed = (fields: Fields, key: string): Fields => ({ ...fields, sign: md5Of(fields, key), sign_type: 'MD5' });

const paramsOf = (address: string): Fields => Object.fromEntries(new URL(address, 'http://panel').searchParams);
const noticesOf = (orderNo: string): Fields[] =>
  panel.received.map(({ path }) => paramsOf(path)).filter(({ out_trade_no }) => out_trade_no === orderNo);

const addDoor = (more: Partial<NewDoor> = {}) =>
  addDoorTo(api.database(), { storeId: api.merchantId, dialect: 'epay', ...more });

const order = (pid: number, orderNo: string, more: Fields = {}): Fields => ({
  pid: String(pid),
  type: 'alipay',
  out_trade_no: orderNo,
  name: 'VIP',
  money: '10.00',
  device: 'pc',
  notify_url: `${panel.origin}/notify?a=1`,
  return_url: 'https://panel.example/#/order/7',
  ...more,
});

const send = (path: string, fields: Fields, method = 'POST'): Promise<Response> => {
  const body = new URLSearchParams(fields);
  const url = `${api.baseUrl}${path}`;
  return method === 'GET'
    ? fetch(`${url}?${body}`, { redirect: 'manual' })
    : fetch(url, { method, body, redirect: 'manual' });
};
const ask = async (path: string, fields: Fields, method = 'POST') => {
  const response = await send(path, fields, method);
  assert.is(response.status, 200);
  assert.match(response.headers.get('Content-Type') ?? '', /^application\/json/);
  return (await response.json()) as Readonly<Record<string, unknown>>;
};
/** Returns where a browser that submits an order is sent. */
const submit = async (fields: Fields, path = '/submit.php', method = 'POST'): Promise<string> => {
  const response = await send(path, fields, method);
  assert.is(response.status, 302, await response.text());
  return response.headers.get('Location') ?? '';
};

const sessionOf = async (pageUrl: unknown) => {
  const session = await api.database().sessions.find(/\/pay\/(cs_\w+)/.exec(String(pageUrl))?.[1] ?? '');
  invariant(session, `${pageUrl} is a payment page`);
  return session;
};
async function pay(pageUrl: unknown, share = 1n): Promise<void> {
  const { options, addresses } = await sessionOf(pageUrl);
  const [option] = options;
  invariant(option, 'there is a way to pay');
  const chain = api.chain(option.network);
  const units = option.units / share;
  await chain.confirm(await chain.mine([{ to: addresses.evm ?? '', currency: option.currency, units }]));
  dispatcher.wake();
}

test('without a door, nothing is made', async () => {
  const fields = signed(order(1001, 'OFF'), 'Key');
  const page = await send('/submit.php', fields);
  assert.is(page.status, 400);
  assert.match(await page.text(), /pid belongs to no key/);
  assert.is((await ask('/mapi.php', fields)).code, -4);
  const paging = { orderId: null, status: null, fromId: '', beforeId: '~', first: 'newest', limit: 1 } as const;
  assert.equal(await api.database().sessions.page({ storeId: api.merchantId, mode: 'test', ...paging }), []);
});

test('an order is made once by any of the paths, and noticed once when it is paid', async () => {
  const { pid, key } = await addDoor();
  const fields = signed(order(pid, 'A1'), key);
  const page = await submit(fields);
  assert.match(page, /\/pay\/cs_\w{26}$/);
  for (const path of ['//submit.php', '/epay/submit.php', `/${pid}/submit.php`, '/submit.php?'])
    assert.is(await submit(fields, path), page, path);
  assert.is(await submit(fields, '/submit.php', 'GET'), page);
  const made = await ask('/mapi.php', fields);
  assert.equal({ code: made.code, payurl: made.payurl, qrcode: made.qrcode }, { code: 1, payurl: page, qrcode: page });
  assert.match(String(made.trade_no), /^\d{32}$/);
  const { request } = await sessionOf(page);
  assert.equal([request.orderId, request.amountMinor, request.currency], [`epay/${pid}/A1`, 1000n, 'USD']);
  assert.is((await fetch(page)).status, 200);

  await pay(page, 2n);
  assert.equal(noticesOf('A1'), [], 'no notice of half the money');
  await pay(page, 2n);
  await until('the notice', () => noticesOf('A1').length > 0);
  const [notice] = noticesOf('A1');
  const expected = {
    a: '1',
    pid: String(pid),
    trade_no: made.trade_no,
    out_trade_no: 'A1',
    type: 'alipay',
    name: 'VIP',
    money: '10.00',
    trade_status: 'TRADE_SUCCESS',
    sign_type: 'MD5',
  };
  const { a: _, ...own } = notice ?? {};
  assert.equal(notice, { ...expected, sign: md5Of(own, key) });
  assert.is(await submit(fields), page, 'a repeat leads to the paid page');
  assert.is(noticesOf('A1').length, 1);
});

test('a repeat that changes what counts, a wrong key and a wrong way to pay are refused', async () => {
  const { pid, key } = await addDoor();
  await submit(signed(order(pid, 'B1'), key));
  const refused = await ask('/mapi.php', signed(order(pid, 'B1', { money: '0.01' }), key));
  assert.equal([refused.code, /use a new order number$/.test(String(refused.msg))], [-1, true], String(refused.msg));
  const free = { type: 'wxpay', device: 'mobile', return_url: 'https://panel.example/other' };
  assert.is((await ask('/mapi.php', signed(order(pid, 'B1', free), key))).code, 1);
  assert.is((await ask('/mapi.php', signed(order(pid, 'B2'), `${key}x`))).code, -3);
  const page = await send('/submit.php', signed(order(pid, 'B2', { name: '<b>' }), `${key}x`));
  assert.equal([page.status, (await page.text()).includes('<b>')], [400, false]);
  assert.is((await ask('/mapi.php', signed(order(pid, 'B2', { type: 'usdt.nowhere' }), key))).code, -1);
  assert.is((await ask(`/${pid + 1}/mapi.php`, signed(order(pid, 'B2'), key))).code, -4);
  assert.is((await ask('/mapi.php', signed(order(pid, 'B2', { currency: 'CNY' }), key))).code, -1);
  const taken = await ask('/mapi.php', signed(order(pid, 'B3', { type: 'usdt_bep20' }), key));
  const { options } = await sessionOf(taken.payurl);
  assert.equal(
    options.map(({ network, currency }) => `${network} ${currency}`),
    ['bsc USDT'],
  );
});

test('a notice is sent again until the panel acknowledges it, whatever its page contains', async () => {
  const { pid, key, id } = await addDoor();
  answers.set('D1', ['fail', '<p>no success yet</p>', '{"state":"success","msg":"支付成功"}']);
  await pay((await ask('/mapi.php', signed(order(pid, 'D1'), key))).payurl);
  const waits = [0, 60_000, 180_000];
  for (const [at, waitMs] of waits.entries()) {
    api.clock.advance(waitMs);
    dispatcher.wake();
    await until(`attempt ${at + 1}`, () => noticesOf('D1').length > at);
    await until('its record', async () => {
      const [delivery] = (await api.database().deliveries.list({ limit: 9 })).filter((one) => one.endpointId === id);
      return delivery?.attempts === at + 1;
    });
  }
  const [delivery] = (await api.database().deliveries.list({ limit: 9 })).filter((one) => one.endpointId === id);
  const attempts = await api.database().deliveries.attempts(delivery?.id ?? '');
  assert.equal(
    [delivery?.state, ...attempts.map(({ error }) => error)],
    ['delivered', 'not_acknowledged', 'not_acknowledged', null],
  );
  await api.follow();
});

test('the payer returns with success only once the order is paid', async () => {
  const { pid, key } = await addDoor();
  const page = await submit(signed(order(pid, 'E1', { param: 'u-1' }), key));
  const { successUrl, cancelUrl } = (await sessionOf(page)).request;
  assert.match(successUrl ?? '', new RegExp(`/${pid}/return/\\w{22}$`));
  assert.is(cancelUrl, successUrl);
  const back = async () => {
    const response = await fetch(successUrl ?? '', { redirect: 'manual' });
    assert.is(response.status, 302);
    assert.equal(
      ['Cache-Control', 'Referrer-Policy'].map((name) => response.headers.get(name)),
      ['no-store', 'no-referrer'],
    );
    return response.headers.get('Location') ?? '';
  };
  assert.is(await back(), 'https://panel.example/#/order/7');
  await pay(page);
  const returned = new URL(await back());
  assert.is(returned.hash, '#/order/7');
  const fields = paramsOf(returned.href);
  assert.is(fields.sign, md5Of(fields, key));
  assert.equal([fields.trade_status, fields.param, fields.money], ['TRADE_SUCCESS', 'u-1', '10.00']);
  const unknown = `${successUrl?.slice(0, -1)}${successUrl?.endsWith('a') ? 'b' : 'a'}`;
  assert.is((await fetch(unknown, { redirect: 'manual' })).status, 404);
});

test('a server looks up orders with the key or a signature, and is shown no key', async () => {
  const { pid, key } = await addDoor();
  const made = await ask('/mapi.php', signed(order(pid, 'F1'), key));
  const access = { pid: String(pid), key };
  const look = { act: 'order', ...access, out_trade_no: 'F1' };
  const unpaid = await ask('/api.php', look, 'GET');
  assert.equal([unpaid.code, unpaid.status, unpaid.trade_status], [1, '0', 'WAIT_BUYER_PAY']);
  assert.not(JSON.stringify(unpaid).includes('TRADE_SUCCESS'));
  await pay(made.payurl);
  const paid = await ask('/api.php', look, 'GET');
  assert.equal([paid.status, paid.trade_status, paid.money], ['1', 'TRADE_SUCCESS', '10.00']);
  assert.is((await ask('/api.php', look)).status, 1, 'a number by POST');
  const bySignature = signed({ act: 'order', pid: String(pid), trade_no: String(made.trade_no) }, key);
  assert.is((await ask('/api.php', bySignature, 'GET')).out_trade_no, 'F1');
  assert.is((await ask('/api.php', { ...look, key: `${key}x` })).code, -3);
  assert.is((await ask('/api.php', { ...look, out_trade_no: 'F9' })).code, -1);
  assert.is((await ask('/api.php', { act: 'pay', ...access })).code, -5);
  const account = await ask('/api.php', { act: 'query', ...access }, 'GET');
  assert.equal([account.code, account.key, account.orders, account.orders_today], [1, '', 1, 1]);
  const all = await ask('/api.php', { act: 'orders', ...access, limit: '5' });
  assert.equal([all.count, (await ask('/api.php', { act: 'orders', ...access, status: '0' })).count], [1, 0]);
  assert.equal((await ask('/api.php', { act: 'settle', ...access })).data, []);
  const refund = { ...access, money: '10.00', out_trade_no: 'F1' };
  assert.match(String((await ask('/api.php?act=refund', refund)).msg), /switched off/);
});

test('refunds that are switched on are made once, up to the price', async () => {
  const settings = { currency: 'USD', takesRefunds: true, algorithm: 'md5' } as const;
  const { pid, key } = await addDoor({ settings });
  const access = { pid: String(pid), key, out_trade_no: 'G1' };
  const made = await ask('/mapi.php', signed(order(pid, 'G1'), key));
  assert.match(String((await ask('/api.php?act=refund', { ...access, money: '4.00' })).msg), /not paid/);
  await pay(made.payurl);
  for (const _ of [1, 2]) assert.is((await ask('/api.php?act=refund', { ...access, money: '4.00' })).code, 1);
  const { id } = await sessionOf(made.payurl);
  const refunds = (await api.database().refunds.ofSession([id])).get(id) ?? [];
  have(refunds, [{ amountMinor: 400n, currency: 'USDT' }]);
  assert.is((await ask('/api.php?act=refund', { ...access, money: '10.01' })).code, -1);
  assert.is((await ask('/api.php?act=refund', { ...access, money: '6.01' })).code, -1);
});

test('a door that is off takes nothing, and the log has no key and no signature', async () => {
  const { pid, key, id } = await addDoor();
  await api.database().endpoints.enable(id, false, 'tried', clock.nowMs());
  const fields = signed(order(pid, 'H1'), key);
  assert.is((await ask('/mapi.php', fields)).code, -4);
  await api.database().endpoints.enable(id, true, null, clock.nowMs());
  assert.is((await ask('/mapi.php', fields, 'GET')).code, 1);
  const logged = api.logged();
  assert.match(logged, /"field":"pid","code":"unknown_door"/);
  assert.not(/Key0{20}/.test(logged));
  assert.not(logged.includes(fields.sign ?? ''));
});

test.after(async () => {
  await dispatcher.stop();
  await api.close();
  await panel.close();
});

test.run();
