/** The quick-start variants of the session endpoints. */
import * as assert from 'uvu/assert';
import { has } from '../../../support/fields.ts';
import type { Json } from '../installation.ts';
import { paidIn, SESSIONS } from '../journeys.ts';
import { row, section } from '../row.ts';
import { accepted, eventAt, quickStart, refused, type Shop } from '../shop.ts';

const PATH = '/v1/payment/sessions';

const modeBody = (shop: Shop, fields: object = {}) => ({
  mode: 'payment',
  order_id: shop.orderId(),
  amount: '10.50',
  payment_method_types: ['crypto'],
  payment_method_options: { crypto: { network: 'tron', currency: 'USDT' } },
  ...fields,
});

const createMode = async (shop: Shop, fields: object = {}): Promise<Json> =>
  accepted(await shop.call('POST', `${SESSIONS}/create`, modeBody(shop, fields)));

export const variantSections = [
  section(
    'Variant: /v1/payment/sessions',
    row(
      [
        'POST create; GET by id; order_id; amount as an object of value (string) and currency',
        'The response is wrapped in base (code, message); session: session_id, merchant_id, order_id, amount',
        'status in upper case: PENDING; payment_url; tron_address; qr_code_data; created_at, expires_at',
      ],
      async (shop) => {
        const body = quickStart.body(shop, { amount: { value: '12.34', currency: 'USDT' } });
        const { base, session } = await quickStart(shop, body);
        assert.equal(base, { code: 0, message: 'success' });
        has(session, { merchant_id: shop.merchantId, order_id: body.order_id, amount: body.amount, status: 'PENDING' });
        assert.is((await fetch(session.payment_url)).status, 200);
        assert.match(session.tron_address, /^T\w{33}$/);
        assert.ok(session.qr_code_data);
        assert.is(session.expires_at - session.created_at, 1800);
        const read = accepted(await shop.call('GET', `${PATH}/${session.session_id}`));
        assert.equal(read.session, session);
      },
    ),
    row('merchant_id', async (shop) => {
      const { session } = await quickStart(shop, { merchant_id: shop.merchantId });
      assert.is(session.merchant_id, shop.merchantId);
      refused(await shop.call('POST', PATH, quickStart.body(shop, { merchant_id: 'mer_other' })), 403);
    }),
    row('description, success_url, cancel_url', async (shop) => {
      const fields = {
        description: 'Two coffees',
        success_url: 'https://shop.example/thanks',
        cancel_url: 'https://shop.example/basket',
      };
      const { session } = await quickStart(shop, fields);
      assert.match(await (await fetch(session.payment_url)).text(), /shop\.example\/basket/);
    }),
    row('webhook_url', async (shop) => {
      const { session } = await quickStart(shop, { webhook_url: shop.receiver.url('/one-off') });
      accepted(await shop.call('POST', `${SESSIONS}/${session.session_id}/cancel`));
      await eventAt(shop.receiver, '/one-off', session.session_id);
    }),
    row('status in upper case: COMPLETED', async (shop) => {
      const { paid } = await paidIn(shop, 'bsc', 'USDT');
      assert.is(accepted(await shop.call('GET', `${PATH}/${paid.id}`)).session.status, 'COMPLETED');
    }),
  ),
  section(
    'Variant: create with mode',
    row(
      [
        'mode, payment_method_types (array), amount as a decimal string',
        'payment_method_options.crypto (network, currency)',
      ],
      async (shop) => {
        const { session } = await createMode(shop);
        const read = accepted(await shop.call('GET', `${SESSIONS}/${session.session_id}`));
        assert.is(read.amount_total, 1050);
        assert.equal(
          read.payment_options.map(({ network, currency }: Json) => `${currency} on ${network}`),
          ['USDT on tron'],
        );
      },
    ),
    row('a StablePay-Version-style version header', async (shop) => {
      const bend = { headers: { 'Service-Version': '2025-01-01' } };
      accepted(await shop.call('POST', `${SESSIONS}/create`, modeBody(shop), bend));
    }),
    row(
      ['returns base', 'session: session_id, order_id, payment_status, created, status, url, created_at, expires_at'],
      async (shop) => {
        const { base, session } = await createMode(shop);
        assert.equal(base, { code: 0, message: 'success' });
        has(session, { payment_status: 'pending', status: 'PENDING', created: session.created_at });
        assert.is(session.expires_at - session.created_at, 1800);
        assert.ok(session.session_id && session.order_id);
        assert.is((await fetch(session.url)).status, 200);
      },
    ),
  ),
];
