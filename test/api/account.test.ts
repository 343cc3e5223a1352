/** A plugin's reads before it asks for a payment: the account, and what an amount would cost. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { network, startApi, token, usualNetworks, withApi } from '../support/api-server.ts';
import { have } from '../support/fields.ts';

const ACCOUNT = '/api/v1/account';
const QUOTES = '/api/v1/checkout/quotes';
const SESSIONS = '/api/v1/checkout/sessions';

const api = await startApi();
test.after(() => api.close());

type Option = Readonly<{ network: string; currency: string; amount: string; confirmations_required: number }>;
type Priced = Readonly<{ exchange_rate?: string; target_currency?: string; target_amount_total?: number }>;
type Quote = Priced & Readonly<{ options: readonly Option[] }>;

test('the account shows the store, the mode of the key, currencies, networks and limits', async () => {
  const { json } = await api.send('GET', ACCOUNT);
  const taken = { currencies: ['USDT', 'USDC'], available: true };
  assert.equal(json, {
    object: 'account',
    merchant_id: api.merchantId,
    name: 'A shop',
    mode: 'test',
    scopes: ['sessions:read', 'sessions:write', 'refunds:read', 'refunds:write', 'webhooks:write'],
    settlement_currency: 'USDT',
    currencies: ['USD', 'USDT', 'USDC', 'BTN', 'EUR', 'JPY', 'KWD'],
    networks: usualNetworks
      .filter(({ mode }) => mode === 'test')
      .map(({ name, title }) => ({ network: name, title, ...taken })),
    limits: {
      requests_per_second: 100_000,
      refund_daily: '10000.00',
      refund_automatic: '1000.00',
      refund_window: 180 * 86_400,
      webhook_endpoints: 20,
    },
  });
  const live = (await api.client(api.liveKey).send('GET', ACCOUNT)).json as {
    mode: string;
    networks: { network: string; currencies: string[] }[];
  };
  assert.is(live.mode, 'live');
  assert.equal(
    live.networks.map(({ network: name, currencies }) => [name, currencies]),
    [['ethereum', ['USDT']]],
  );
});

test('the account shows what the store and its operator have set', async () => {
  const id = await api.addMerchant('approved', { settlementCurrency: 'USDC' });
  await api.database().stores.update(id, { refundDailyMinor: 500_00, refundAutoMinor: 5_00, refundWindowS: 3600 });
  const { json } = await api.client(await api.addKey(id, 'test', ['sessions:read'])).send('GET', ACCOUNT);
  const { scopes, settlement_currency, limits } = json as Record<string, Record<string, unknown>>;
  assert.equal(scopes, ['sessions:read']);
  assert.is(settlement_currency as unknown, 'USDC');
  assert.equal([limits?.refund_daily, limits?.refund_automatic, limits?.refund_window], ['500.00', '5.00', 3600]);
});

test('a network that is not read is shown as not available, and takes part in no quote', async () => {
  const bsc = network('test', 'bsc', '8456', [token('3', 'USDT', 18)]);
  const networks = [network('test', 'ethereum', '8401', [token('1', 'USDT', 6)]), bsc];
  await withApi({ networks, ready: false }, async (own) => {
    await own.chain('bsc').mine();
    const account = (await own.send('GET', ACCOUNT)).json as { networks: Record<string, unknown>[] };
    have(account.networks, [
      { network: 'ethereum', available: false },
      { network: 'bsc', available: true },
    ]);
    const quote = (await own.send('POST', QUOTES, { amount: 1000, currency: 'USD' })).json as Quote;
    assert.equal(
      quote.options.map((option) => option.network),
      ['bsc'],
    );
  });
});

for (const price of [
  { amount: 1050, currency: 'EUR' },
  { amount: 1050, currency: 'USD' },
  { amount: 700, currency: 'USDC' },
]) {
  test(`a quote for ${price.currency} is what a session asks for, and makes none`, async () => {
    const answer = await api.send('POST', QUOTES, price);
    assert.is(answer.status, 200, answer.text);
    const { options, ...quote } = answer.json as Quote;
    const made = await api.send('POST', `${SESSIONS}/create`, { ...price, order_id: `quoted-${price.currency}` });
    const session = made.json as Priced & Readonly<{ payment_options: readonly Option[] }>;
    const { exchange_rate, target_currency, target_amount_total } = session;
    const rate = exchange_rate === undefined ? {} : { exchange_rate, target_currency, target_amount_total };
    assert.equal(quote, {
      object: 'quote',
      amount_total: price.amount,
      currency: price.currency,
      ...rate,
      quoted_at: api.clock.nowS(),
    });
    const offered = session.payment_options.map(({ network: name, currency, amount, confirmations_required }) => ({
      network: name,
      currency,
      amount,
      confirmations_required,
    }));
    assert.equal(options, offered);
    assert.ok(options.length > 1);
    const { data } = (await api.send('GET', SESSIONS)).json as { data: { currency: string }[] };
    assert.is(data.filter(({ currency }) => currency === price.currency).length, 1);
  });
}

test.run();
