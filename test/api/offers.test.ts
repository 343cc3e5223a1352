/**
 * Networks and coins that a session offers: those that have an address left, take its amount, and are worth their peg.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PaymentSession } from '../../src/api/session-view.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { RateSource } from '../../src/rates/source.ts';
import { staticRates } from '../../src/rates/static.ts';
import { type ApiServer, network, withApi } from '../support/api-server.ts';
import { exchange } from '../support/signed-client.ts';
import { accountKeyOf, SOLANA_CHAIN_ID, solanaTokens } from '../support/simulated-node.ts';
import { expectError } from './expect-error.ts';

const CREATE = '/api/v1/checkout/sessions/create';
const [usdt, usdc] = solanaTokens;
const ethereum = network('test', 'ethereum', '8401', [{ ...usdt, address: `0x${'1'.repeat(40)}` }]);
const solana: NetworkConfig = {
  ...network('test', 'solana', SOLANA_CHAIN_ID, [usdt, usdc]),
  family: 'solana',
  xpub: null,
};

/** A server with both networks, many addresses on Ethereum and one on Solana. */
const withOneAddress = (use: (api: ApiServer) => Promise<void>) =>
  withApi({ networks: [ethereum, solana], pages: true }, async (api) => {
    await addSolana(api, 0);
    for (const { name } of [ethereum, solana]) await api.chain(name as 'ethereum').report('following');
    await use(api);
  });

const addSolana = (api: ApiServer, index: number) =>
  api.database().addresses.add({
    family: 'solana',
    mode: 'test',
    source: 'list',
    firstIndex: index,
    keys: [accountKeyOf('solana', `payee ${index}`)],
  });

async function create(api: ApiServer, orderId: string, more: object = {}): Promise<PaymentSession> {
  const answer = await api.send('POST', CREATE, { amount: 500, currency: 'USD', order_id: orderId, ...more });
  assert.is(answer.status, 200, answer.text);
  return answer.json as PaymentSession;
}

const offered = ({ payment_options }: PaymentSession) =>
  payment_options?.map((option) => `${option.network}-${option.currency}`);
const pageOf = async (api: ApiServer, { id }: PaymentSession, query = '') =>
  (await exchange('GET', `${api.baseUrl}/pay/${id}${query}`)).text;

test('a network without an address is neither in the answer nor on the page; earlier sessions keep theirs', () =>
  withOneAddress(async (api) => {
    const first = await create(api, 'first');
    assert.equal(offered(first), ['ethereum-USDT', 'solana-USDT', 'solana-USDC']);
    assert.match(await pageOf(api, first), /id="network-solana-USDT"/);

    const second = await create(api, 'second');
    assert.equal(offered(second), ['ethereum-USDT']);
    for (const query of ['', '?pay=solana-USDT', '?token=USDC']) {
      const page = await pageOf(api, second, query);
      // Links to the other languages repeat the query.
      assert.not.match(page.replace(/<[^>]+>/g, ' '), /solana/i, `the page ${query}`);
      assert.match(page, /Send 5\.00 USDT/);
    }
    const read = await api.send('GET', `/api/v1/checkout/sessions/${second.id}`);
    assert.equal(offered(read.json as PaymentSession), ['ethereum-USDT']);

    await addSolana(api, 1);
    const replayed = await api.send('POST', CREATE, { amount: 500, currency: 'USD', order_id: 'second' });
    assert.is(replayed.headers['idempotent-replayed'], 'true');
    assert.equal(replayed.json, second, 'the first session as it was');
    assert.equal(await create(api, 'first'), first);
    assert.equal(offered(await create(api, 'third')), ['ethereum-USDT', 'solana-USDT', 'solana-USDC']);
  }));

test('the answer is 503 only if no network is left that takes the session’s currency', () =>
  withOneAddress(async (api) => {
    await create(api, 'last', { currency: 'USDC' });
    const body = { amount: 500, order_id: 'none left' };
    const refused = await api.send('POST', CREATE, { ...body, currency: 'USDC' });
    expectError(refused, { status: 503, code: 'address_pool_empty' });
    assert.equal(offered(await create(api, 'none left', { currency: 'USDT' })), ['ethereum-USDT']);
  }));

test('a quick-start request for a network without addresses is refused and gets no other network', () =>
  withOneAddress(async (api) => {
    await create(api, 'last');
    const wish = (name: string) => ({
      mode: 'payment',
      amount: '5.00',
      currency: 'USDT',
      order_id: `on ${name}`,
      payment_method_types: ['crypto'],
      payment_method_options: { crypto: { network: name, currency: 'USDT' } },
    });
    expectError(await api.send('POST', CREATE, wish('solana')), { status: 503, code: 'address_pool_empty' });
    assert.is((await api.send('POST', CREATE, wish('ethereum'))).status, 200);
  }));

// ── Coins that lost their peg ────────────────────────────────────────────────────────────────────────────────────────

/** A coin of which a dollar buys 1.05 is worth 95 cents. */
const depegged = staticRates({ EUR: '1.13', USD: '1.05' });

test('a coin worth less than the bound is not offered in other currencies, and may still be priced in', () =>
  withApi({ rateSource: depegged }, async (api) => {
    for (const currency of ['USD', 'EUR']) {
      const refused = await api.send('POST', CREATE, { amount: 1000, currency, order_id: `off-${currency}` });
      expectError(refused, { status: 503, code: 'no_payment_option', param: null }, currency);
      assert.is(refused.headers['retry-after'], '30');
    }
    for (const currency of ['USDT', 'USDC']) {
      const { payment_options = [] } = await create(api, `own-${currency}`, { currency });
      assert.equal([...new Set(payment_options.map((option) => option.currency))], [currency]);
    }
  }));

test('while only the settlement currency is off, another coin is offered, at its own rate', () => {
  const rateSource: RateSource = {
    ...staticRates({ EUR: '1.08' }),
    fetch: async () => ({
      quotes: new Map([
        ['USD/USDT', { num: 125n, den: 100n }],
        ['USD/USDC', { num: 1n, den: 1n }],
        ['EUR/USDT', { num: 135n, den: 100n }],
        ['EUR/USDC', { num: 108n, den: 100n }],
      ]),
      asOfMs: null,
    }),
  };
  return withApi({ rateSource }, async (api) => {
    const session = await create(api, 'other coin', { amount: 1000, currency: 'EUR' });
    const { target_currency, exchange_rate, payment_options = [] } = session;
    assert.equal({ target_currency, exchange_rate }, { target_currency: 'USDC', exchange_rate: '1.08000' });
    assert.equal(
      payment_options.map(({ currency, amount }) => `${amount} ${currency}`),
      ['10.80 USDC', '10.80 USDC'],
    );
  });
});

test('without any price of the coins, dollars are taken at par', () =>
  withApi({ rateSource: staticRates({ EUR: '1.08' }) }, async (api) => {
    assert.is((await create(api, 'par')).payment_options?.length, 4);
  }));

test.run();
