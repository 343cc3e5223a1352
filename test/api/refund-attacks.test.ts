/**
 * Attempts of people inside to name where a store's money goes: each walked from its first step to the payout that is
 * not made. Over real HTTP, with the payment page.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { type ApiServer, type ApiServerOptions, withApi } from '../support/api-server.ts';
import { approve } from '../support/approve.ts';
import { confirmTip, openSale, paidSale, type Sale } from '../support/payment-scenes.ts';
import type { HttpAnswer, SignedClient } from '../support/signed-client.ts';

const address = (start: string): string => chains.evm.address.format(start.padEnd(40, '7'));
const [thief, payer] = [address('bad'), address('cafe')];
const keyOf = (text: string): string => chains.evm.address.parse(text) ?? '';

type Fields = Readonly<{
  status: string;
  destination?: { address: string };
  destination_source?: string;
  metadata?: { claim_url?: string };
  next_action?: { type: string; url: string };
}>;
const fields = (answer: HttpAnswer) => answer.json as Fields;

/** Runs with a paid sale whose receipts are final. */
const withSale = (work: (api: ApiServer, sale: Sale) => Promise<void>, options: ApiServerOptions = {}) =>
  withApi({ pages: true, ...options }, async (api) => {
    const sale = await paidSale(api);
    await work(api, sale);
  });

const create = ({ send }: Pick<SignedClient, 'send'>, sale: Sale, refund_id: string, amount: string, to?: string) =>
  send('POST', '/api/v1/refunds/create', {
    ...{ order_id: sale.id, refund_id, amount, currency: 'USDT' },
    ...(to !== undefined && { metadata: { refund_address: to } }),
  });
const read = (api: ApiServer, id: string) => api.send('GET', `/api/v1/refunds/${id}`);
const enter = (url: string, to: string) =>
  fetch(url, { method: 'POST', body: new URLSearchParams({ address: to, confirmed: 'yes' }), redirect: 'manual' });

async function findRefund(api: ApiServer, refundId: string) {
  const found = (await api.database().refunds.list({ limit: 100 })).find((one) => one.refundId === refundId);
  assert.ok(found);
  return found;
}

/** Starts what may start. @returns the addresses of the payouts that are planned, and the status of the refund */
async function bringOut(api: ApiServer, refundId: string) {
  const database = api.database();
  await database.refunds.advance(api.clock.nowMs(), 100);
  api.clock.advance(61_000);
  const due = await database.payouts.open('test:ethereum', api.clock.nowMs(), 100);
  const paid = due.flatMap(({ payout: { intent } }) => ('to' in intent ? [intent.to] : []));
  return [fields(await read(api, refundId)).status, ...paid];
}

test('a key cannot get a refund without an address approved, and then name its own', () =>
  withSale(async (api, sale) => {
    await api.database().stores.update(api.merchantId, { refundAutoMinor: 1_00 });
    await create(api, sale, 'r-1', '4.50');
    const { id } = await findRefund(api, 'r-1');
    assert.is(await approve(api.database(), id, api.clock.nowMs()), 'no_destination', 'there is nothing to approve');
    const named = await api.send('POST', '/api/v1/refunds/r-1/destination', { address: thief });
    assert.is(named.status, 200);
    assert.equal(await bringOut(api, 'r-1'), ['pending'], 'it waits for an approval of this address');
    assert.is(await approve(api.database(), id, api.clock.nowMs()), 'done');
    await api.send('POST', '/api/v1/refunds/r-1/destination', { address: address('bad2') });
    assert.equal(await bringOut(api, 'r-1'), ['pending'], 'and of the next');
  }));

test('a claim link does not turn an approval into one of another address', () =>
  withSale(async (api, sale) => {
    await api.database().stores.update(api.merchantId, { refundAutoMinor: 1_00 });
    const url = fields(await create(api, sale, 'r-1', '4.50')).metadata?.claim_url ?? '';
    assert.is((await enter(url, payer)).status, 303);
    const { id } = await findRefund(api, 'r-1');
    assert.is(await approve(api.database(), id, api.clock.nowMs()), 'done');
    assert.is((await enter(url, thief)).status, 303);
    assert.equal(await bringOut(api, 'r-1'), ['pending']);
    const { approvedDestination, approvedAtMs } = await findRefund(api, 'r-1');
    assert.equal({ approvedDestination, approvedAtMs }, { approvedDestination: null, approvedAtMs: null });
    assert.is(await approve(api.database(), id, api.clock.nowMs()), 'done');
    assert.equal(await bringOut(api, 'r-1'), ['processing', keyOf(thief)], 'whoever approved saw this address');
  }));

test('a key that only reads sees no link that names where money goes', () =>
  withSale(async (api, sale) => {
    const reader = api.client(await api.addKey(api.merchantId, 'test', ['sessions:read', 'refunds:read']));
    const asked = await create(api, sale, 'r-1', '4.50');
    const url = fields(asked).metadata?.claim_url ?? '';
    const token = api.database().sessions.payerToken(sale.id);
    assert.equal(fields(asked).next_action, { type: 'claim', url });
    const replayed = await create(api, sale, 'r-1', '4.50');
    assert.equal(fields(replayed).next_action, { type: 'claim', url }, 'the first answer again');
    for (const path of [
      `/api/v1/checkout/sessions/${sale.id}`,
      `/v1/payment/sessions/${sale.id}`,
      '/api/v1/refunds/r-1',
      '/api/v1/events',
    ]) {
      const { status, text } = await reader.send('GET', path);
      assert.is(status, 200, `${path}: ${text}`);
      for (const secret of [token, url.slice(url.lastIndexOf('/') + 1), 'payer_url', 'claim_url', 'next_action']) {
        assert.not.match(text, secret, path);
      }
    }
    assert.match((await api.send('GET', `/api/v1/checkout/sessions/${sale.id}`)).text, `?k=${token}`);
    assert.match((await api.send('GET', `/v1/payment/sessions/${sale.id}`)).text, `?k=${token}`);
    assert.equal(fields(await read(api, 'r-1')).next_action, { type: 'claim', url });
    // Without the token the page takes no address, so nothing is paid.
    await enter(`${api.baseUrl}/pay/${sale.id}/refund-address`, thief);
    assert.equal(await bringOut(api, 'r-1'), ['pending']);
    assert.is((await findRefund(api, 'r-1')).destination, null);
  }));

test('a key cannot split a refund to stay below the approval: by session, by address and by asker', () =>
  withSale(async (api, sale) => {
    await api.database().stores.update(api.merchantId, { refundAutoMinor: 4_00 });
    const [other, third] = [await paidSale(api), await paidSale(api)];
    const keys = await Promise.all([1, 2, 3].map(async () => api.client(await api.addKey(api.merchantId, 'test'))));
    const [one, two, three] = keys as [SignedClient, SignedClient, SignedClient];
    const isFree = async (refundId: string) => !(await findRefund(api, refundId)).needsApproval;
    await create(one, sale, 'r-1', '2.00', thief);
    assert.ok(await isFree('r-1'));
    await create(two, sale, 'by-session', '2.01', address('bad2'));
    assert.not(await isFree('by-session'));
    await create(two, other, 'by-address', '2.01', thief);
    assert.not(await isFree('by-address'));
    await create(one, third, 'by-asker', '2.01', address('bad3'));
    assert.not(await isFree('by-asker'));
    await create(three, third, 'another', '0.50', address('bad4'));
    assert.ok(await isFree('another'), 'nobody of these got more');
    assert.equal((await bringOut(api, 'r-1')).sort(), [keyOf(thief), keyOf(address('bad4')), 'processing'].sort());

    // The address is named afterwards, and it is one that got much already.
    await create(three, third, 'later', '0.40');
    assert.ok(await isFree('later'));
    await create(two, other, 'filler', '1.90', address('bad2'));
    await api.send('POST', '/api/v1/refunds/later/destination', { address: address('bad2') });
    assert.not(await isFree('later'), 'this address would get 4.31');
    assert.equal((await bringOut(api, 'later'))[0], 'pending');

    api.clock.advance(24 * 3_600_000 + 1);
    await create(one, sale, 'next-day', '2.01', thief);
    assert.ok(await isFree('next-day'));
  }));

test('a sender to which nothing can be sent back is not taken: the payer gets a claim link', () =>
  withApi({ pages: true }, async (api) => {
    await api.database().stores.update(api.merchantId, { refundToSender: true });
    const sale = await openSale(api);
    const deposit = (await api.database().sessions.find(sale.id))?.addresses.evm ?? '';
    const token = '1'.repeat(40);
    await api.chain('ethereum').mine([{ to: deposit, from: token, currency: 'USDT', units: 10_500_000n }]);
    await confirmTip(api);
    const answer = await create(api, sale, 'r-1', '4.50');
    assert.is(answer.status, 201, answer.text);
    assert.is(fields(answer).destination, undefined);
    assert.is(fields(answer).next_action?.type, 'claim');
    assert.equal(await bringOut(api, 'r-1'), ['pending']);
  }));

test.run();
