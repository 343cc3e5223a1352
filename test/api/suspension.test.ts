/** A suspended store: nothing new by its keys, and nothing that it has is lost. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { type ApiServer, withApi } from '../support/api-server.ts';
import {
  advanceRefunds,
  askRefund,
  confirmTip,
  decideStore,
  openSale,
  paidSale,
  paidTo,
  refundAddress,
} from '../support/payment-scenes.ts';
import { exchange, type HttpAnswer } from '../support/signed-client.ts';
import { expectError } from './expect-error.ts';

const CREATE = '/api/v1/checkout/sessions/create';
const suspended = { status: 403, code: 'store_suspended', param: null };
const forbidden = { status: 403, code: 'FORBIDDEN', param: null };

let orders = 0;
const order = () => ({ amount: 100, currency: 'USD', order_id: `suspended-${++orders}` });
const fields = (answer: HttpAnswer) => answer.json as Readonly<Record<string, unknown>>;

const statusOf = async (api: ApiServer, id: string) =>
  fields(await api.send('GET', `/api/v1/checkout/sessions/${id}`)).payment_status;

test('its keys create no session, and repeat, read and cancel those that it has', () =>
  withApi({}, async (api) => {
    const body = order();
    const made = await api.send('POST', CREATE, body);
    const keyed = { headers: { 'Idempotency-Key': 'once' } };
    const other = order();
    assert.is((await api.send('POST', CREATE, other, keyed)).status, 200);
    await decideStore(api, 'suspend');
    expectError(await api.send('POST', CREATE, order()), suspended);
    const quick = { ...order(), amount: { value: '10.50', currency: 'USD' } };
    expectError(await api.send('POST', '/v1/payment/sessions', quick), suspended, 'the quick-start call');
    expectError(await api.send('POST', CREATE, order(), keyed), { status: 400, code: 'idempotency_key_conflict' });
    for (const again of [await api.send('POST', CREATE, body), await api.send('POST', CREATE, other, keyed)]) {
      assert.equal([again.status, again.headers['idempotent-replayed']], [200, 'true'], again.text);
    }
    const path = `/api/v1/checkout/sessions/${fields(made).id}`;
    assert.is((await api.send('GET', path)).status, 200);
    assert.is(fields(await api.send('POST', `${path}/cancel`)).payment_status, 'canceled');
    const neighbour = await api.addKey(await api.addMerchant(), 'test');
    assert.is(
      (await api.client(neighbour).send('POST', CREATE, order())).status,
      200,
      'another store is not concerned',
    );
    await decideStore(api, 'approve');
    assert.is((await api.send('POST', CREATE, order())).status, 200);
  }));

test('its keys create and redirect no refund, and read and cancel those that it has', () =>
  withApi({}, async (api) => {
    const sale = await paidSale(api);
    assert.is(await statusOf(api, sale.id), 'paid');
    const first = await askRefund(api, sale, 'r-1', paidTo());
    assert.is(first.status, 201, first.text);
    await decideStore(api, 'suspend');
    const refused = await askRefund(api, sale, 'r-2', paidTo());
    expectError(refused, forbidden);
    assert.match(
      refused.text,
      /suspended this store.*its refunds that are not signed yet are held until it is resumed/,
    );
    const elsewhere = { address: chains.evm.address.format('c0ffee'.padStart(40, '2')) };
    expectError(await api.send('POST', '/api/v1/refunds/r-1/destination', elsewhere), forbidden);
    assert.is((await askRefund(api, sale, 'r-1', paidTo())).headers['idempotent-replayed'], 'true');
    const read = fields(await api.send('GET', '/api/v1/refunds/r-1'));
    assert.equal((read.destination as { address: string }).address, refundAddress);
    await advanceRefunds(api);
    assert.is(fields(await api.send('POST', '/api/v1/refunds/r-1/cancel')).status, 'canceled');
    await decideStore(api, 'approve');
    assert.is((await askRefund(api, sale, 'r-2', paidTo())).status, 201);
  }));

test('money that comes while it is suspended is credited, shown and reported', () =>
  withApi({ pages: true }, async (api) => {
    const hook = { id: 'we_1', storeId: api.merchantId, mode: 'test', url: 'https://shop.example/hook' } as const;
    await api.database().endpoints.add({ ...hook, extendedEvents: [], createdAtMs: api.clock.nowMs() });
    const sale = await openSale(api);
    await decideStore(api, 'suspend');
    await sale.send('10.50', { network: 'bsc' });
    await confirmTip(api, 'bsc');
    assert.is(await statusOf(api, sale.id), 'paid');
    const sent = await api.database().deliveries.list({ sessionId: sale.id, limit: 9 });
    assert.equal(
      sent.map(({ eventType, state }) => [eventType, state]).filter(([type]) => type === 'payment.completed'),
      [['payment.completed', 'waiting']],
    );
    assert.ok((await api.send('GET', '/api/v1/events')).text.includes('payment.completed'));
  }));

test('the page tells a payer who can still pay, and another version is announced', () =>
  withApi({ pages: true }, async (api) => {
    const [open, paid] = [await openSale(api), await paidSale(api)];
    const pageOf = async (path: string) => (await exchange('GET', `${api.baseUrl}${path}`)).text;
    const notice = /class="warning">A shop is taking no new orders at the moment\. If you have not paid yet, ask/;
    const versionOf = (text: string) => /data-version="([^"]+)"/.exec(text)?.[1];
    const before = await pageOf(open.path);
    assert.not.match(before, notice);
    await decideStore(api, 'suspend');
    const during = await pageOf(open.path);
    assert.match(during, notice);
    assert.match(during, /How do you want to pay/, 'it can still be paid');
    assert.is.not(versionOf(during), versionOf(before));
    assert.not.match(await pageOf(paid.path), notice, 'who has paid need not ask');
    await decideStore(api, 'approve');
    assert.is(versionOf(await pageOf(open.path)), versionOf(before));
  }));

test.run();
