/**
 * Refunds from the dashboard, over real HTTP: made once, approved, and sent where a person saw. The links by which
 * payers name where refunds go are shown only after the second factor, with an entry in the audit log.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import type { StoreRole } from '../../src/core/access.ts';
import { SUDO_MS } from '../../src/dashboard/web-session.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import {
  type Answer,
  confirm,
  type Dashboard,
  formTokenOf,
  type Visitor,
  withDashboard,
} from '../support/dashboard.ts';
import { paidSale } from '../support/payment-scenes.ts';
import { alertOf, factsOf, fieldsOf, hasForm, noticeOf, rowsOf, titleOf } from '../support/read-page.ts';

const address = (digit: string) => chains.evm.address.format(`c0ffee${digit.repeat(34)}`);

const follow = async (visitor: Visitor, answer: Answer): Promise<Answer> => {
  assert.is(answer.status, 303, answer.text);
  return visitor.get(answer.headers.get('location') ?? '');
};

type Shop = Dashboard & Readonly<{ base: string; refundForm: string; sessionId: string; ada: Visitor; bob: Visitor }>;

/** A store with two owners and one paid session of 10.50 USDT. */
const withShop = (work: (shop: Shop) => Promise<void>): Promise<void> =>
  withDashboard(
    async (dashboard) => {
      const { api } = dashboard;
      const sale = await paidSale(api);
      const membership = { role: 'owner', storeId: api.merchantId } as const;
      const [ada, bob] = [await dashboard.person('Ada', membership), await dashboard.person('Bob', membership)];
      const base = `/s/${api.merchantId}/test`;
      await work({
        ...dashboard,
        base,
        refundForm: `${base}/payments/${sale.id}/refund`,
        sessionId: sale.id,
        ada,
        bob,
      });
    },
    { pages: true },
  );

/** Makes a refund by the form and its review. @returns the refund’s path */
async function makeRefund({ refundForm, ada }: Shop, fields: object): Promise<string> {
  const review = await ada.submit(refundForm, refundForm, { amount: '4.50', currency: 'USDT', ...fields });
  assert.is(review.status, 200, review.text);
  const done = await confirm(ada, refundForm, review);
  assert.is(done.status, 303, done.text);
  return (done.headers.get('location') ?? '').split('?')[0] ?? '';
}

const refundsOf = async ({ api, sessionId }: Shop) => api.database().refunds.list({ sessionId, limit: 10 });
const needApproval = ({ api }: Dashboard) => api.database().stores.update(api.merchantId, { refundAutoMinor: 0 });

const refundTo = (to: string) => ({ amount: '4.50', currency: 'USDT', address: to });

test('a refund is shown whole before it is made, made once, and recorded with who made it', () =>
  withShop(async (shop) => {
    const { api, ada, refundForm } = shop;
    const to = address('1');
    const review = await ada.submit(refundForm, refundForm, refundTo(to));
    assert.is(titleOf(review.text), 'Refund 4.50 USDT?');
    assert.is(factsOf(review.text).To?.replaceAll(' ', ''), to);
    assert.equal(await refundsOf(shop), [], 'looking at it makes nothing');
    const clicks = await Promise.all([1, 2, 3].map(() => confirm(ada, refundForm, review)));
    api.clock.advance(60_000);
    const later = await confirm(ada, refundForm, review);
    assert.equal(new Set([...clicks, later].map(({ status }) => status)), new Set([303]));
    const [refund, ...others] = await refundsOf(shop);
    assert.equal(others, [], 'one refund');
    assert.equal([refund?.amountMinor, refund?.destination?.address], [450n, to]);
    assert.match(noticeOf((await follow(ada, later)).text), 'was made already');
    const entries = (await api.database().audit.list(20)).filter(({ command }) => command === 'create refund');
    assert.is(entries.length, 1);
    assert.equal(
      { operator: entries[0]?.operator, target: entries[0]?.target, amount: entries[0]?.after?.amount },
      { operator: 'Ada (dashboard)', target: refund?.id, amount: '4.50 USDT' },
    );
  }));

test('a refund is refused where the API would refuse it, before anybody confirms', () =>
  withShop(async (shop) => {
    const { api, ada, refundForm } = shop;
    const deposit = (await api.database().sessions.find(shop.sessionId))?.addresses.evm ?? '';
    for (const [fields, fault] of [
      [{ amount: '4,50' }, 'digits with at most 2 decimals'],
      [{ address: chains.evm.address.format(deposit) }, 'belongs to this installation'],
    ] as const) {
      const answer = await ada.submit(refundForm, refundForm, { amount: '4.50', currency: 'USDT', ...fields });
      assert.is(answer.status, 400, fault);
      assert.match(alertOf(answer.text), fault);
      if ('amount' in fields)
        assert.is(fieldsOf(answer.text, refundForm).amount, fields.amount, 'what was typed stays');
    }
    await api.database().stores.update(api.merchantId, { refundDailyMinor: 449 });
    const { text } = await ada.submit(refundForm, refundForm, { amount: '4.50', currency: 'USDT' });
    assert.match(alertOf(text), 'above what the store may still refund today: 4.49.');
    assert.equal(await refundsOf(shop), []);
  }));

test('without an address the payer gets a link, which is shown after the second factor and recorded', () =>
  withShop(async (shop) => {
    const { api, ada, person, code, sessionId } = shop;
    const asked = { order_id: sessionId, refund_id: 'r-1', amount: '4.50', currency: 'USDT' };
    const { json } = await api.send('POST', '/api/v1/refunds/create', asked);
    const url = (json as { metadata: { claim_url: string } }).metadata.claim_url;
    const token = url.slice(url.lastIndexOf('/') + 1);
    const [refund] = await refundsOf(shop);
    const path = `${shop.base}/refunds/${refund?.id}`;
    const member = (name: string, role: StoreRole) => person(name, { role, storeId: api.merchantId });
    const amy = await member('Amy', 'accountant');
    const seen = (await amy.get(path)).text;
    assert.is(seen.includes(token) || hasForm(seen, `${path}/link`), false, 'who only reads cannot ask for it');

    const sam = await member('Sam', 'staff');
    api.clock.advance(SUDO_MS + 1);
    const review = await sam.submit(path, `${path}/link`);
    const refused = await confirm(sam, `${path}/link`, review);
    assert.equal([refused.status, refused.text.includes(token)], [403, false], 'a session alone is not enough');
    const shown = await confirm(sam, `${path}/link`, review, { code: code(sam.token) });
    assert.is(factsOf(shown.text)['Link for the payer'], url);
    const [entry] = await api.database().audit.list(1);
    assert.equal([entry?.operator, entry?.command], ['Sam (dashboard)', 'show claim link']);
    assert.not.match(JSON.stringify(entry), token);

    await needApproval(shop);
    const unnamed = { form_token: await formTokenOf(ada), confirmed: 'yes', seen: '' };
    assert.is((await ada.post(`${path}/approve`, unnamed)).status, 400, 'nothing is approved without an address');
    const body = new URLSearchParams({ address: address('1'), confirmed: 'yes' });
    assert.is((await fetch(url, { method: 'POST', body, redirect: 'manual' })).status, 303);
    const { To, 'Asked for by': by } = factsOf((await ada.get(path)).text);
    assert.match(To ?? '', 'named by the payer with the claim link');
    assert.match(by ?? '', /^your shop, through the API ?, /);
  }));

test('an owner names the address until it is paid', () =>
  withShop(async (shop) => {
    const { bob } = shop;
    const [path, to] = [await makeRefund(shop, {}), address('2')];
    const review = await bob.submit(path, `${path}/destination`, { address: to });
    assert.is((await refundsOf(shop))[0]?.destination, null);
    await follow(bob, await confirm(bob, `${path}/destination`, review));
    const [now] = await refundsOf(shop);
    assert.equal([now?.destination?.address, now?.destination?.from], [to, 'merchant']);
  }));

test('an approval is for the address that was seen', () =>
  withShop(async (shop) => {
    const { api, ada, bob } = shop;
    await needApproval(shop);
    const path = await makeRefund(shop, { address: address('3') });
    const review = await bob.submit(path, `${path}/approve`);
    assert.is(titleOf(review.text), 'Approve 4.50 USDT?');
    const { To, 'Asked for by': asked = '', ...facts } = factsOf((await bob.get(path)).text);
    assert.match(asked, /^Ada ?, \d{4}-/);
    assert.match(To ?? '', 'named by your shop');
    assert.is(facts['The payment received'], '10.50 USDT');
    assert.is(facts['Left after all its refunds'], '6.00 USDT');
    assert.is(facts['Approved at'], undefined);
    const elsewhere = await ada.submit(path, `${path}/destination`, { address: address('4') });
    await follow(ada, await confirm(ada, `${path}/destination`, elsewhere));
    const stale = await confirm(bob, `${path}/approve`, review);
    assert.is(stale.status, 400);
    assert.match(alertOf(stale.text), 'Its address was changed after you looked');
    assert.is((await refundsOf(shop))[0]?.approvedAtMs, null);

    const fresh = await bob.submit(path, `${path}/approve`);
    await follow(bob, await confirm(bob, `${path}/approve`, fresh));
    assert.is((await refundsOf(shop))[0]?.approvedAtMs, api.clock.nowMs());
  }));

test('a refused refund fails with its reason in the audit log, and its amount is free again', () =>
  withShop(async (shop) => {
    const { api, bob } = shop;
    await needApproval(shop);
    const path = await makeRefund(shop, { amount: '10.50', address: address('5') });
    const review = await bob.submit(path, `${path}/refuse`, { because: 'wrong <order>' });
    assert.is(fieldsOf(review.text, `${path}/refuse`).because, 'wrong <order>');
    await follow(bob, await confirm(bob, `${path}/refuse`, review));
    const [refund] = await refundsOf(shop);
    assert.equal([refund?.status, refund?.failureReason], ['failed', 'rejected_by_merchant']);
    const [entry] = await api.database().audit.list(1);
    assert.equal([entry?.command, entry?.reason], ['refund reject', 'wrong <order>']);
    await makeRefund(shop, { amount: '10.50', address: address('5') });
  }));

test('a refund can be canceled while it is processing, once and for good', () =>
  withShop(async (shop) => {
    const { api, ada } = shop;
    const path = await makeRefund(shop, { address: address('6') });
    const isOffered = async () => hasForm((await ada.get(path)).text, `${path}/cancel`);
    assert.is(await isOffered(), false, 'not while it is pending');
    await api.database().refunds.advance(api.clock.nowMs(), 10);
    assert.is(await isOffered(), true);
    await follow(ada, await ada.submit(path, `${path}/cancel`));
    assert.is((await refundsOf(shop))[0]?.status, 'canceled');
    assert.is(await isOffered(), false);
    const again = await ada.post(`${path}/cancel`, { form_token: await formTokenOf(ada) });
    assert.is(again.status, 400);
    assert.match(alertOf(again.text), 'can no longer be canceled');
  }));

test('the list is filtered, also by what waits for approval, and never shows another mode', () =>
  withShop(async (shop) => {
    const { ada, base, api } = shop;
    const [yesterday, today] = [-DAY_MS, 0].map((ms) => new Date(api.clock.nowMs() + ms).toISOString().slice(0, 10));
    const ask = async (refund_id: string, more: object = {}) => {
      const asked = { order_id: shop.sessionId, refund_id, amount: '0.10', currency: 'USDT', ...more };
      assert.is((await api.send('POST', '/api/v1/refunds/create', asked)).status, 201);
    };
    await ask('first');
    await needApproval(shop);
    await ask('second', { metadata: { refund_address: address('1') } });
    const shown = async (query: string, list = `${base}/refunds`) =>
      rowsOf((await ada.get(`${list}?${query}`)).text, 'Test refunds').map((row) => row['Refund id']);
    for (const none of ['status=completed', `to=${yesterday}`]) assert.equal(await shown(none), [], none);
    assert.equal((await shown(`from=${today}`)).sort(), ['first', 'second']);
    assert.equal(await shown('status=approval'), ['second']);
    assert.equal(await shown('', `/s/${api.merchantId}/live/refunds`), []);
  }));

test.run();
