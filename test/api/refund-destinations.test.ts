/**
 * Where refunds go: the order of destinations, who may replace whose, that answers and events show what is paid, and
 * attempts of people inside to name where a store's money goes. Over real HTTP, with the payment page.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { destinationSources, mayReplace } from '../../src/core/refund.ts';
import { type ApiServer, withApi } from '../support/api-server.ts';
import { approve } from '../support/approve.ts';
import {
  advanceRefunds,
  allotRefund,
  askRefund,
  confirmTip,
  finalSale,
  findRefund,
  leaveAddress,
  openSale,
  paidSale,
  paidTo,
} from '../support/payment-scenes.ts';
import { raw } from '../support/raw.ts';
import type { HttpAnswer, SignedClient } from '../support/signed-client.ts';

const address = (start: string): string => chains.evm.address.format(start.padEnd(40, '7'));
const [named, left, claimed, chosen] = ['aa', 'bb', 'cc', 'dd'].map(address) as [string, string, string, string];
const keyOf = (text: string) => chains.evm.address.parse(text) ?? '';
const network = 'test:ethereum';

type Fields = Readonly<{
  status: string;
  destination?: { network: string; address: string };
  destination_source?: string;
  metadata?: { claim_url?: string };
  next_action?: { type: string; url: string };
}>;
const fields = (answer: HttpAnswer) => answer.json as Fields;
const shown = (answer: HttpAnswer) => [fields(answer).destination?.address, fields(answer).destination_source];
const codeOf = ({ status, json }: HttpAnswer) => [status, (json as { error?: { code: string } }).error?.code];

const claim = (url: string, to: string) =>
  fetch(url, { method: 'POST', body: new URLSearchParams({ address: to, confirmed: 'yes' }), redirect: 'manual' });
const read = (api: ApiServer, refund_id: string) => api.send('GET', `/api/v1/refunds/${refund_id}`);
const redirect = (api: ApiServer, refund_id: string, to: unknown, headers: Record<string, string> = {}) =>
  api.send('POST', `/api/v1/refunds/${refund_id}/destination`, { address: to }, { headers });
async function allotLater(api: ApiServer, refund_id: string) {
  api.clock.advance(61_000);
  return allotRefund(api, refund_id);
}

test('the merchant’s address comes before the payer’s, the payer’s before a claim link', () =>
  withApi({ pages: true }, async (api) => {
    const sale = await finalSale(api);
    const asked = await askRefund(api, sale, 'r-asked', { amount: '1.00' });
    assert.equal(shown(asked), [undefined, undefined]);
    assert.ok(fields(asked).metadata?.claim_url);
    await leaveAddress(api, sale, left);
    assert.equal(shown(await read(api, 'r-asked')), [left, 'payer'], 'one that waits gets the payer’s address');
    assert.equal(shown(await askRefund(api, sale, 'r-left', { amount: '1.00' })), [left, 'payer']);
    const both = await askRefund(api, sale, 'r-named', { ...paidTo(named), amount: '1.00' });
    assert.equal(fields(both).destination, { network: 'ethereum', address: named });
    assert.is(fields(both).destination_source, 'merchant');
    await advanceRefunds(api);
    assert.equal(
      await Promise.all(['r-asked', 'r-left', 'r-named'].map(async (id) => (await allotLater(api, id)).to)),
      [left, left, named].map(keyOf),
      'what is shown is what is paid',
    );
  }));

test('no refund goes to a wallet of ours, whoever names it', () =>
  withApi({ pages: true }, async (api) => {
    const roles = ['refund', 'gas', 'treasury'] as const;
    const wallets = roles.map((role, at) => ({ role, key: keyOf(address(`e${at}`)) }));
    const sale = await finalSale(api);
    await api.database().wallets.recordOwn(network, Object.fromEntries(wallets.map(({ role, key }) => [role, key])));
    await askRefund(api, sale, 'r-open', { amount: '1.00' });
    for (const { role, key } of wallets) {
      const own = chains.evm.address.format(key);
      const refused = await askRefund(api, sale, `r-${role}`, { ...paidTo(own), amount: '1.00' });
      assert.equal(codeOf(refused), [400, 'INVALID_JSON'], role);
      assert.match(refused.text, /is an address of this installation/);
      assert.equal(codeOf(await redirect(api, 'r-open', own)), [400, 'INVALID_JSON'], role);
      await leaveAddress(api, sale, own);
    }
    assert.equal(shown(await read(api, 'r-open')), [undefined, undefined]);
  }));

test('the sending address is used only where the store turned it on', () =>
  withApi({ pages: true }, async (api) => {
    const sale = await finalSale(api);
    assert.equal(shown(await askRefund(api, sale, 'r-off', { amount: '1.00' })), [undefined, undefined]);
    await api.database().stores.update(api.merchantId, { refundToSender: true });
    const sender = chains.evm.address.format('ab'.repeat(20));
    assert.equal(shown(await askRefund(api, sale, 'r-on', { amount: '1.00' })), [sender, 'sender']);
    await leaveAddress(api, sale, left);
    assert.equal(shown(await read(api, 'r-on')), [sender, 'sender'], 'a payer replaces only what a payer left');
    assert.equal(shown(await askRefund(api, sale, 'r-later', { amount: '1.00' })), [left, 'payer']);
  }));

test('a payer replaces only a payer’s address; merchant and operator replace any', () => {
  for (const held of [null, ...destinationSources]) {
    for (const by of ['payer', 'claim_link'] as const) {
      assert.is(mayReplace(held, by), held === null || held === 'payer' || held === 'claim_link', `${by} over ${held}`);
    }
    for (const by of ['merchant', 'operator'] as const) assert.is(mayReplace(held, by), true);
  }
});

test('each replacement moves the payout, until the first attempt is allotted; then nothing does', () =>
  withApi({ pages: true }, async (api) => {
    const sale = await finalSale(api);
    const url = fields(await askRefund(api, sale, 'r-1')).metadata?.claim_url ?? '';
    assert.is((await claim(url, claimed)).status, 303);
    assert.equal(shown(await read(api, 'r-1')), [claimed, 'claim_link']);
    await advanceRefunds(api);
    assert.is(fields(await read(api, 'r-1')).status, 'processing');
    await leaveAddress(api, sale, left);
    assert.equal(shown(await read(api, 'r-1')), [left, 'payer']);
    await claim(url, claimed);
    assert.equal(shown(await read(api, 'r-1')), [claimed, 'claim_link'], 'the payer corrects a typo');
    const changed = await redirect(api, 'r-1', chosen.toLowerCase());
    assert.is(changed.status, 200, changed.text);
    assert.equal(shown(changed), [chosen, 'merchant']);
    await claim(url, claimed);
    await leaveAddress(api, sale, address('ee'));
    assert.equal(shown(await read(api, 'r-1')), [chosen, 'merchant'], 'no payer replaces the merchant’s');

    assert.equal(
      await allotRefund(api, 'r-1'),
      { kind: 'moved', waitsFor: undefined, to: keyOf(chosen) },
      'the window again',
    );
    api.clock.advance(61_000);
    const stale = await api.database().payouts.find((await findRefund(api, 'r-1')).id);
    assert.ok(stale);
    const act = { atMs: api.clock.nowMs(), operator: 'anna', command: 'refund destination', reason: 'a call' };
    const id = (await findRefund(api, 'r-1')).id;
    const check = () => ({ kind: 'ok', family: 'evm', key: keyOf(named) ?? '' }) as const;
    const byOperator = { by: 'operator', id, address: named, act } as const;
    await api.database().refunds.redirect({ ...byOperator, isDryRun: true }, check);
    assert.equal(shown(await read(api, 'r-1')), [chosen, 'merchant'], 'a dry run changes nothing');
    await api.database().refunds.redirect({ ...byOperator, isDryRun: false }, check);
    assert.equal(shown(await read(api, 'r-1')), [named, 'merchant'], 'the operator acts for the merchant');

    api.clock.advance(61_000);
    const late = await allotRefund(api, 'r-1', { intent: stale.intent });
    assert.is(late.kind, 'moved', 'an engine that looked before pays nobody');
    assert.equal(await allotRefund(api, 'r-1'), { kind: 'allotted', waitsFor: undefined, to: keyOf(named) });

    assert.equal(codeOf(await redirect(api, 'r-1', chosen)), [400, 'CANNOT_CHANGE_DESTINATION']);
    const fixed = await api.database().refunds.redirect({ ...byOperator, isDryRun: false, address: chosen }, () => ({
      kind: 'ok',
      family: 'evm',
      key: keyOf(chosen) ?? '',
    }));
    assert.is(fixed.kind, 'fixed');
    assert.equal(shown(await read(api, 'r-1')), [named, 'merchant']);

    const entries = (await api.database().audit.list(100)).filter(({ target }) => target === id).reverse();
    assert.equal(
      entries.map(({ operator, command, after }) => [operator.replace(/key_.*/, '…'), command, after?.destination]),
      [
        ['payer', 'claim link', keyOf(claimed)],
        ['payer', 'payment page', keyOf(left)],
        ['payer', 'claim link', keyOf(claimed)],
        ['API key …', 'POST /api/v1/refunds/{refund_id}/destination', keyOf(chosen)],
        ['anna', 'refund destination', keyOf(named)],
      ],
    );
  }));

test('the endpoint is idempotent, checks the address, and knows only its own refunds', () =>
  withApi({ pages: true }, async (api) => {
    const sale = await finalSale(api);
    await askRefund(api, sale, 'r-1');
    const key = { 'Idempotency-Key': 'change-1' };
    const first = await redirect(api, 'r-1', chosen, key);
    const again = await redirect(api, 'r-1', chosen, key);
    assert.equal([first.status, again.status, again.headers['idempotent-replayed']], [200, 200, 'true']);
    assert.equal(again.json, first.json);
    assert.equal(codeOf(await redirect(api, 'r-1', named, key)), [400, 'IDEMPOTENCY_KEY_CONFLICT']);
    assert.is((await redirect(api, 'r-1', chosen)).headers['idempotent-replayed'], 'true', 'the same address again');
    for (const bad of ['', '0x12', 7, null, `0x${'0'.repeat(40)}`, `0x${'1'.repeat(40)}`, 'a'.repeat(300)]) {
      assert.equal(codeOf(await redirect(api, 'r-1', bad)), [400, 'INVALID_JSON'], String(bad));
    }
    assert.equal(codeOf(await redirect(api, 'r-none', chosen)), [404, 'REFUND_NOT_FOUND']);
    const stranger = api.client(await api.addKey(await api.addMerchant(), 'test'));
    const foreign = await stranger.send('POST', '/api/v1/refunds/r-1/destination', { address: named });
    assert.equal(codeOf(foreign), [403, 'FORBIDDEN']);
    const reader = api.client(await api.addKey(api.merchantId, 'test', ['refunds:read']));
    assert.is((await reader.send('POST', '/api/v1/refunds/r-1/destination', { address: named })).status, 403);
    assert.equal(shown(await read(api, 'r-1')), [chosen, 'merchant']);
  }));

test('the events of a refund show its destination', () =>
  withApi({ pages: true }, async (api) => {
    const sale = await finalSale(api);
    await askRefund(api, sale, 'r-1', paidTo(named));
    await api.database().refunds.reject((await findRefund(api, 'r-1')).id, 'no', api.clock.nowMs());
    const failed = "SELECT facts FROM events WHERE type = 'refund.failed'";
    const object = JSON.parse(raw(api.file, (client) => String(client.prepare(failed).pluck().get())));
    assert.equal(object.destination, { network: 'ethereum', address: named });
    assert.is(object.destination_source, 'merchant');
  }));

// ── Attempts of people inside, each walked from its first step to the payout that is not made ────────────────────────

const [thief, payer] = [address('bad'), address('cafe')];

/** Starts what may start. @returns the addresses of the payouts that are planned, and the status of the refund */
async function bringOut(api: ApiServer, refundId: string) {
  const database = api.database();
  await advanceRefunds(api);
  api.clock.advance(61_000);
  const due = await database.payouts.open('test:ethereum', api.clock.nowMs(), 100);
  const paid = due.flatMap(({ payout: { intent } }) => ('to' in intent ? [intent.to] : []));
  return [fields(await read(api, refundId)).status, ...paid];
}

test('a key cannot get a refund without an address approved, and then name its own', () =>
  withApi({ pages: true }, async (api) => {
    const sale = await paidSale(api);
    await api.database().stores.update(api.merchantId, { refundAutoMinor: 1_00 });
    await askRefund(api, sale, 'r-1');
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
  withApi({ pages: true }, async (api) => {
    const sale = await paidSale(api);
    await api.database().stores.update(api.merchantId, { refundAutoMinor: 1_00 });
    const url = fields(await askRefund(api, sale, 'r-1')).metadata?.claim_url ?? '';
    assert.is((await claim(url, payer)).status, 303);
    const { id } = await findRefund(api, 'r-1');
    assert.is(await approve(api.database(), id, api.clock.nowMs()), 'done');
    assert.is((await claim(url, thief)).status, 303);
    assert.equal(await bringOut(api, 'r-1'), ['pending']);
    const { approvedDestination, approvedAtMs } = await findRefund(api, 'r-1');
    assert.equal({ approvedDestination, approvedAtMs }, { approvedDestination: null, approvedAtMs: null });
    assert.is(await approve(api.database(), id, api.clock.nowMs()), 'done');
    assert.equal(await bringOut(api, 'r-1'), ['processing', keyOf(thief)], 'its approver saw this address');
  }));

test('a key that only reads sees no link that names where money goes', () =>
  withApi({ pages: true }, async (api) => {
    const sale = await paidSale(api);
    const reader = api.client(await api.addKey(api.merchantId, 'test', ['sessions:read', 'refunds:read']));
    const asked = await askRefund(api, sale, 'r-1');
    const url = fields(asked).metadata?.claim_url ?? '';
    const token = api.database().sessions.payerToken(sale.id);
    assert.equal(fields(asked).next_action, { type: 'claim', url });
    const replayed = await askRefund(api, sale, 'r-1');
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
    await claim(`${api.baseUrl}/pay/${sale.id}/refund-address`, thief);
    assert.equal(await bringOut(api, 'r-1'), ['pending']);
    assert.is((await findRefund(api, 'r-1')).destination, null);
  }));

test('a key cannot split a refund to stay below the approval: by session, by address and by asker', () =>
  withApi({ pages: true }, async (api) => {
    const sale = await paidSale(api);
    await api.database().stores.update(api.merchantId, { refundAutoMinor: 4_00 });
    const [other, third] = [await paidSale(api), await paidSale(api)];
    const keys = await Promise.all([1, 2, 3].map(async () => api.client(await api.addKey(api.merchantId, 'test'))));
    const [one, two, three] = keys as [SignedClient, SignedClient, SignedClient];
    const isFree = async (refundId: string) => !(await findRefund(api, refundId)).needsApproval;
    await askRefund(one, sale, 'r-1', { ...paidTo(thief), amount: '2.00' });
    assert.ok(await isFree('r-1'));
    await askRefund(two, sale, 'by-session', { ...paidTo(address('bad2')), amount: '2.01' });
    assert.not(await isFree('by-session'));
    await askRefund(two, other, 'by-address', { ...paidTo(thief), amount: '2.01' });
    assert.not(await isFree('by-address'));
    await askRefund(one, third, 'by-asker', { ...paidTo(address('bad3')), amount: '2.01' });
    assert.not(await isFree('by-asker'));
    await askRefund(three, third, 'another', { ...paidTo(address('bad4')), amount: '0.50' });
    assert.ok(await isFree('another'), 'nobody of these got more');
    assert.equal((await bringOut(api, 'r-1')).sort(), [keyOf(thief), keyOf(address('bad4')), 'processing'].sort());

    // The address is named afterwards, and it is one that got much already.
    await askRefund(three, third, 'later', { amount: '0.40' });
    assert.ok(await isFree('later'));
    await askRefund(two, other, 'filler', { ...paidTo(address('bad2')), amount: '1.90' });
    await api.send('POST', '/api/v1/refunds/later/destination', { address: address('bad2') });
    assert.not(await isFree('later'), 'this address would get 4.31');
    assert.equal((await bringOut(api, 'later'))[0], 'pending');

    api.clock.advance(24 * 3_600_000 + 1);
    await askRefund(one, sale, 'next-day', { ...paidTo(thief), amount: '2.01' });
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
    const answer = await askRefund(api, sale, 'r-1');
    assert.is(answer.status, 201, answer.text);
    assert.is(fields(answer).destination, undefined);
    assert.is(fields(answer).next_action?.type, 'claim');
    assert.equal(await bringOut(api, 'r-1'), ['pending']);
  }));

test.run();
