import { createHmac } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { invariant } from '../../src/core/fault.ts';
import type { NewDoor } from '../../src/database/doors.ts';
import { network, startApi, token, usualNetworks } from '../support/api-server.ts';
import { addDoor as addDoorTo, md5Of, signedText, type Values } from './requests.ts';

const BLOCKED = 'https://blocked.example/notify';
const api = await startApi({
  networks: [network('test', 'tron', '8500', [token('6', 'USDT', 6), token('7', 'USDC', 6)]), ...usualNetworks],
  checkWebhookUrl: async (url) => (url === BLOCKED ? 'is private' : null),
});
const NOTIFY = 'https://panel.example/notify';
const act = { atMs: 0, operator: 'test', command: 'door add', reason: null };

const addDoor = (dialect: NewDoor['dialect'], more: Partial<NewDoor> = {}) =>
  addDoorTo(api.database(), { storeId: api.merchantId, dialect, ...more });

type Answer = Readonly<{
  status: number;
  status_code: number;
  message: string;
  data: Readonly<Record<string, unknown>>;
}> &
  Readonly<Record<string, unknown>>;

const signed = (values: Values, key: string): Values => ({ ...values, signature: md5Of(values, key) });

async function answerOf(response: Response): Promise<Answer> {
  assert.match(response.headers.get('Content-Type') ?? '', /^application\/json/);
  const body = (await response.json()) as Answer;
  return { ...body, status: response.status };
}
const post = async (path: string, values: Values): Promise<Answer> =>
  answerOf(await fetch(`${api.baseUrl}${path}`, { method: 'POST', body: JSON.stringify(values) }));
const get = async (path: string): Promise<Answer> => answerOf(await fetch(`${api.baseUrl}${path}`));

const GMPAY = '/payments/gmpay/v1/order/create-transaction';
const CREATE = '/api/v1/order/create-transaction';

/** Pays the session of an order, whose payment page is named. */
async function pay(pageUrl: unknown, name: string): Promise<void> {
  const id = /\/pay\/(cs_\w+)/.exec(String(pageUrl))?.[1] ?? '';
  const session = await api.database().sessions.find(id);
  const option = session?.options.find((one) => one.network === name);
  invariant(session && option, `${pageUrl} can be paid on ${name}`);
  const { units, currency } = option;
  const chain = api.chain(name);
  const block = await chain.mine([{ to: session.addresses.evm ?? '', currency, units }]);
  await chain.confirm(block);
}

test('a GMPay order is made once, shown open, with an address once a network is picked, and as paid', async () => {
  const door = await addDoor('gmpay');
  const asked = { pid: String(door.pid), order_id: 'G1', currency: 'usd', amount: 10.5, notify_url: NOTIFY };
  const made = await post(GMPAY, signed(asked, door.key));
  assert.is(made.status_code, 200, JSON.stringify(made));
  assert.is(made.message, 'success');
  const { trade_id, payment_url, ...shown } = made.data;
  assert.match(String(trade_id), /^\d{32}$/);
  const expiration_time = api.clock.nowS() + 1800;
  assert.equal(shown, {
    order_id: 'G1',
    amount: 10.5,
    actual_amount: 0,
    currency: 'USD',
    receive_address: '',
    token: '',
    status: 4,
    expiration_time,
  });
  assert.equal((await post(GMPAY, signed(asked, door.key))).data, made.data);

  const changed = await post(GMPAY, signed({ ...asked, amount: 0.5 }, door.key));
  assert.equal({ status: changed.status, status_code: changed.status_code }, { status: 400, status_code: 10002 });
  assert.match(changed.message, /^amount differs .* new order number$/);
  const forged = await post(GMPAY, signed(asked, `${door.key}x`));
  assert.equal({ status: forged.status, status_code: forged.status_code }, { status: 401, status_code: 401 });
  assert.match(api.logged(), /"field":"signature","code":"signature"/);
  assert.not(api.logged().includes(door.key));

  const choice = { trade_id: String(trade_id), token: 'usdt', network: 'binance' };
  const switched = await post('/pay/switch-network', choice);
  assert.match(String(switched.data.receive_address), /^0x[0-9a-fA-F]{40}$/);
  assert.equal(
    [switched.data.network, switched.data.token, switched.data.actual_amount, switched.data.is_selected],
    ['binance', 'USDT', 10.5, true],
  );
  assert.match(String(switched.data.payment_url), /\?pay=bsc-USDT$/);
  assert.is((await post('/pay/switch-network', { ...choice, network: 'solana' })).status_code, 10016);

  const counter = await fetch(`${api.baseUrl}/pay/checkout-counter/${trade_id}`, { redirect: 'manual' });
  assert.equal([counter.status, counter.headers.get('Location')], [302, payment_url]);
  assert.is((await get(`/pay/check-status/${trade_id}`)).data.status, 4);
  await pay(payment_url, 'bsc');
  assert.is((await get(`/pay/check-status/${trade_id}`)).data.status, 2);
  assert.is((await get(`/pay/checkout-counter-resp/${trade_id}`)).data.status, 2);
  const again = await post(GMPAY, signed(asked, door.key));
  assert.equal([again.data.trade_id, again.data.payment_url, again.data.status], [trade_id, payment_url, 2]);
});

test('a GMPay form that is signed by HMAC-SHA256 fixes the way to pay', async () => {
  const door = await addDoor('gmpay', { settings: { currency: 'EUR', takesRefunds: false, algorithm: 'hmac_sha256' } });
  const asked = {
    pid: String(door.pid),
    order_id: 'G2',
    currency: 'EUR',
    amount: '10.00',
    notify_url: NOTIFY,
    token: 'usdc',
    network: 'tron',
  };
  const signature = createHmac('sha256', door.key).update(signedText(asked)).digest('hex');
  const send = async (values: Readonly<Record<string, string>>) =>
    answerOf(await fetch(`${api.baseUrl}${GMPAY}`, { method: 'POST', body: new URLSearchParams(values) }));
  const { data } = await send({ ...asked, signature });
  assert.equal([data.status, data.token, data.amount, data.actual_amount], [1, 'USDC', 10, 10.84]);
  const md5 = Object.fromEntries(Object.entries(signed(asked, door.key)).map(([name, value]) => [name, String(value)]));
  assert.is((await send(md5)).status_code, 401);
});

test('BEpusdt’s key is found at the root, and its amounts are texts', async () => {
  await addDoor('bepusdt');
  const door = await addDoor('bepusdt');
  const asked = { order_id: 'B1', amount: 42, notify_url: NOTIFY, redirect_url: 'https://panel.example/r' };
  const made = await post(CREATE, signed(asked, door.key));
  assert.is(made.status_code, 200, JSON.stringify(made));
  assert.equal(
    [made.data.amount, made.data.actual_amount, made.data.expiration_time, made.data.fiat],
    ['42', '42', 1800, 'USD'],
  );
  assert.match(String(made.data.token), /^0x/);
  const open = await post('/api/v1/order/create-order', signed({ ...asked, order_id: 'B2' }, door.key));
  assert.equal({ token: open.data.token, status: open.data.status }, { token: undefined, status: 1 });
  const off = await post(CREATE, signed({ ...asked, order_id: 'B3', trade_type: 'usdt.solana' }, door.key));
  assert.equal({ status: off.status, status_code: off.status_code }, { status: 200, status_code: 10016 });
});

test('BEpusdt’s unpaid order is cancelled, opens again under its number, and is not cancelled once paid', async () => {
  const door = await addDoor('bepusdt');
  const asked = signed({ order_id: 'B4', amount: 5, notify_url: NOTIFY, trade_type: 'usdt.bep20' }, door.key);
  const first = await post(CREATE, asked);
  const tradeId = String(first.data.trade_id);
  const cancel = () => post('/api/v1/order/cancel-transaction', signed({ trade_id: tradeId }, door.key));
  assert.equal((await cancel()).data, { trade_id: tradeId });
  const status = async () => (await get(`/pay/check-status/${tradeId}`)).status;
  const looked = await fetch(`${api.baseUrl}/pay/check-status/${tradeId}`);
  assert.is(((await looked.json()) as Answer).status, 4);
  assert.is(await status(), 200);

  const second = await post(CREATE, asked);
  assert.is(second.data.trade_id, tradeId);
  assert.is.not(second.data.payment_url, first.data.payment_url);
  await pay(second.data.payment_url, 'bsc');
  const refused = await cancel();
  assert.equal([refused.status_code, refused.message], [400, 'trade_id is paid, being paid or over']);
  const other = await post('/api/v1/order/cancel-transaction', signed({ trade_id: '1' }, door.key));
  assert.is(other.status_code, 10008);
});

test('Epusdt 0.x is served under its door’s number, with numbers and the time of expiry', async () => {
  const door = await addDoor('epusdt');
  const asked = { order_id: 'E1', amount: 9.9, notify_url: NOTIFY, redirect_url: 'https://panel.example/r' };
  const made = await post(`/${door.pid}${CREATE}`, signed(asked, door.key));
  assert.equal([made.data.amount, made.data.actual_amount], [9.9, 9.9], JSON.stringify(made));
  assert.is(made.data.expiration_time, api.clock.nowS() + 1800);
  assert.is((await post(CREATE, signed(asked, door.key))).data.trade_id, made.data.trade_id);
  const other = await addDoor('epusdt');
  assert.is((await post(`/${other.pid}${CREATE}`, signed(asked, door.key))).status_code, 401);
});

test('a session of a door has its name, its price and nothing else of the request', async () => {
  const door = await addDoor('epusdt');
  const asked = { order_id: 'E2', amount: 9.9, notify_url: NOTIFY, rate: '0.01', address: '0x1', timeout: 1 };
  const { data } = await post(CREATE, signed(asked, door.key));
  const session = await api.database().sessions.find(/cs_\w+/.exec(String(data.payment_url))?.[0] ?? '');
  const returns = new RegExp(`^https://[^/]+/${door.pid}/return/\\w+$`);
  assert.is(session?.request.orderId, `epusdt/${door.pid}/E2`);
  assert.equal([session?.request.amountMinor, session?.request.currency], [990n, 'USD']);
  assert.match(session?.request.successUrl ?? '', returns);
  assert.match(session?.request.cancelUrl ?? '', returns);
  assert.equal([session?.request.metadata, session?.request.webhookUrl], [null, null]);
});

test('a door that is removed, of another dialect or unknown is refused, and so is a target that gets no notices', async () => {
  const door = await addDoor('gmpay');
  const asked = { pid: String(door.pid), order_id: 'O1', amount: 5, notify_url: NOTIFY };
  const blocked = await post(GMPAY, signed({ ...asked, notify_url: BLOCKED }, door.key));
  assert.equal({ status: blocked.status, status_code: blocked.status_code }, { status: 400, status_code: 10041 });
  await api.database().endpoints.remove(door.id, act);
  assert.is((await post(GMPAY, signed(asked, door.key))).message.split(' ')[0], 'pid');
  const epusdt = await addDoor('epusdt');
  assert.is((await post(GMPAY, signed({ ...asked, pid: String(epusdt.pid) }, epusdt.key))).status, 401);
  assert.is((await post(GMPAY, signed({ ...asked, pid: 'x' }, door.key))).status, 401);
  assert.is((await get('/pay/check-status/1')).status_code, 10008);
});

test('the networks and coins of the doors’ mode are listed in Epusdt’s words', async () => {
  await addDoor('gmpay');
  const { data } = await get('/payments/gmpay/v1/config');
  const listed = data.supported_assets as readonly Readonly<{ network: string; tokens: readonly string[] }>[];
  assert.equal(
    listed.map((one) => `${one.network}:${one.tokens}`),
    ['tron:USDT,USDC', 'ethereum:USDT,USDC', 'binance:USDT,USDC'],
  );
});

test.after(() => api.close());
test.run();
