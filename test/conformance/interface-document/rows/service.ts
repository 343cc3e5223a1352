/** General facts of the service. */
import * as assert from 'uvu/assert';
import { has } from '../../../support/fields.ts';
import type { Json } from '../installation.ts';
import {
  coins,
  converted,
  create,
  full,
  liveMerchant,
  networks,
  otherMerchant,
  paidIn,
  readSession,
  refundedIn,
  refundedTwice,
  SESSIONS,
} from '../journeys.ts';
import { row, section } from '../row.ts';
import { accepted, refused } from '../shop.ts';
import { throughTls } from '../tls-proxy.ts';

const NETWORK_NAMES = { tron: 'TRON', ethereum: 'Ethereum', bsc: 'BSC', solana: 'Solana' } as const;

const cells = networks.flatMap((network) =>
  coins.map((coin) =>
    row(`Payments in ${coin} on ${NETWORK_NAMES[network]}`, async (shop) => {
      const { created, paid, hook } = await paidIn(shop, network, coin);
      const option = created.payment_options.find(
        (one: Record<string, unknown>) => one.network === network && one.currency === coin,
      );
      assert.is(option.amount, '10.50');
      assert.is(paid.payment_status, 'paid');
      const [{ amount, currency, network: on }] = paid.payments;
      assert.equal({ amount, currency, on }, { amount: '10.50', currency: coin, on: network });
      has(hook.event.data.object, { currency: coin, amount: 1050 });
    }),
  ),
);

const refundCells = networks.flatMap((network) =>
  coins.map((coin) =>
    row(`Refunds in ${coin} on ${NETWORK_NAMES[network]}`, async (shop) => {
      const { completed, hook } = await refundedIn(shop, network, coin);
      has(completed, { status: 'completed', currency: coin });
      assert.ok(completed.transaction_hash);
      assert.ok(completed.receipt_number);
      assert.is(hook.event.data.object.refund_currency, coin);
    }),
  ),
);

export const serviceSections = [
  section(
    'What the service does',
    row('The service returns a hosted payment page URL', async (shop) => {
      const { url } = await create(shop);
      const page = await fetch(url);
      assert.is(page.status, 200);
      assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
      assert.match(await page.text(), /10\.50/);
    }),
    row('it also provides an address, a QR code and wallet deep link', async (shop) => {
      const { payment_options: options } = await create(shop);
      assert.is(options.length, networks.length * coins.length);
      for (const { address, qr_code_data, deep_link } of options) {
        assert.ok(address);
        assert.is(qr_code_data, address);
        assert.match(deep_link, /^[a-z]+:/);
      }
    }),
    row('converts it to a crypto settlement currency and locks the rate', async (shop) => {
      const { created, paid } = await converted(shop);
      assert.is(created.target_currency, 'USDT');
      for (const field of ['exchange_rate', 'target_amount_total', 'rate_locked_at']) {
        assert.is(paid[field], created[field], field);
      }
    }),
    row('The merchant can refund a paid session in part or in full, several times', async (shop) => {
      const { parts } = await refundedTwice(shop);
      assert.equal(
        parts.map(({ completed }) => [completed.amount, completed.status]),
        [
          ['5.25', 'completed'],
          ['5.25', 'completed'],
        ],
      );
    }),
  ),
  section(
    'General transport facts',
    row('Base address (production)', async (shop) => {
      const live = await liveMerchant(shop);
      refused(await live.call('GET', `${SESSIONS}/cs_${'0'.repeat(26)}`), 404, 'session_not_found');
    }),
    row('Test base address', async (shop) => {
      const { id } = await create(shop);
      assert.is((await readSession(shop, id)).id, id);
    }),
    row('API path prefix: /api/v1', async (shop) => {
      accepted(
        await shop.call('POST', '/api/v1/checkout/sessions/create', {
          amount: 1,
          currency: 'USD',
          order_id: shop.orderId(),
        }),
      );
      refused(await shop.call('POST', '/api/v9/checkout/sessions/create', {}), 404);
    }),
    row('Protocol: HTTPS', async (shop) => {
      const { id } = await create(shop);
      const { status, body } = await throughTls(shop, `${SESSIONS}/${id}`);
      assert.is(status, 200);
      assert.is(body.id, id);
    }),
    row('Data format: JSON', async (shop) => {
      const answer = await shop.call('GET', `${SESSIONS}/${(await create(shop)).id}`);
      assert.match(String(answer.headers['content-type']), /^application\/json/);
      assert.equal(JSON.parse(answer.text), answer.body);
    }),
    row('Character encoding: UTF-8', async (shop) => {
      const { body, created } = await full(shop);
      const { text } = await shop.call('GET', `${SESSIONS}/${created.id}`);
      assert.ok(body.description.includes('süß'));
      const metadata = { greeting: 'Zürich – 東京 – 🍰' };
      const answer = await shop.call('POST', `${SESSIONS}/create`, {
        amount: 1,
        currency: 'USD',
        order_id: shop.orderId(),
        metadata,
      });
      assert.is(accepted(answer).metadata.greeting, metadata.greeting);
      assert.match(String(answer.headers['content-type']), /charset=utf-8/i);
      assert.ok(text.length > 0);
    }),
    row('Supported stablecoins: USDT, USDC; Supported networks: TRON, Ethereum, BSC, Solana', async (shop) => {
      const { payment_options: options } = await create(shop);
      const of = (field: 'currency' | 'network') => [...new Set(options.map((one: Json) => one[field]))].sort();
      assert.equal(of('currency'), ['USDC', 'USDT']);
      assert.equal(of('network'), [...networks].sort());
    }),
    cells,
    refundCells,
  ),
  section(
    'Quick-start facts',
    row(
      ['TRON requires 19 block confirmations by default', 'After confirmation the payment is complete'],
      async (shop) => {
        const { created, paid } = await paidIn(shop, 'tron', 'USDT');
        const [option] = created.payment_options.filter((one: { network: string }) => one.network === 'tron');
        assert.is(option.confirmations_required, 19);
        assert.ok(paid.payments[0].confirmations >= 19);
        assert.is(paid.payments[0].status, 'confirmed');
      },
    ),
    row(
      'A merchant account and an API key (plus a paired secret): create a store with channel type API',
      async (shop) => {
        const { store, key, merchant } = await otherMerchant(shop);
        assert.ok(store.id && key.api_key && key.api_secret);
        accepted(
          await merchant.call('POST', `${SESSIONS}/create`, { amount: 1, currency: 'USD', order_id: shop.orderId() }),
        );
      },
    ),
    row('The key is shown once', async (shop) => {
      const { store, key } = await otherMerchant(shop);
      const listed = JSON.stringify(await shop.installation.tool('key', 'list', '--store', store.id));
      assert.ok(listed.includes(key.id));
      assert.not.ok(listed.includes(key.api_key));
      assert.not.ok(listed.includes(key.api_secret));
    }),
  ),
];
