/** Held money in the dashboard, over real HTTP: accepted, or returned to an address that a person saw and typed for. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { confirm, type Dashboard, type Visitor, withDashboard } from '../support/dashboard.ts';
import { confirmTip, openSale, pass } from '../support/payment-scenes.ts';

const to = chains.evm.address.format(`c0ffee${'1'.repeat(34)}`);

/** A payment that came late, held, and the store’s owner. */
const withHeld = (work: (d: Dashboard, ada: Visitor, path: string, sessionId: string) => Promise<void>) =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const sale = await openSale(api);
    await pass(api, 3700);
    await sale.send('10.50');
    await confirmTip(api);
    const ada = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const [held] = await api.database().held.list({ sessionId: sale.id, limit: 1 });
    await work(dashboard, ada, `/s/${api.merchantId}/test/held/${held?.id}`, sale.id);
  });

test('accepting says what it does, then does it once and records it', () =>
  withHeld(async ({ api }, ada, path, sessionId) => {
    const list = await ada.get(`/s/${api.merchantId}/test/held`);
    assert.match(list.text, 'came after the deadline');
    assert.match((await ada.get(`/s/${api.merchantId}/live/held`)).text, 'Nothing is waiting for you');
    const review = await ada.submit(path, `${path}/accept`);
    assert.match(review.text, 'The payment is paid with <bdi>10.50</bdi> of <bdi>10.50</bdi>');
    assert.is((await api.database().sessions.find(sessionId))?.life.status, 'expired', 'nothing is done yet');
    const clicks = await Promise.all([1, 2].map(() => confirm(ada, `${path}/accept`, review)));
    assert.equal(
      clicks.map(({ status }) => status),
      [303, 303],
    );
    assert.is((await api.database().sessions.find(sessionId))?.life.status, 'paid');
    const entries = (await api.database().audit.list(20)).filter(({ command }) => command === 'held accept');
    assert.equal(
      entries.map(({ operator }) => operator),
      ['Ada (dashboard)'],
    );
    assert.is((await confirm(ada, `${path}/accept`, review, { once: 'x' })).status, 400, 'decided already');
  }));

test('a return wants address, reason and the amount typed, and shows the whole address', () =>
  withHeld(async ({ api }, ada, path, sessionId) => {
    const part = 'test:ethereum USDT';
    for (const [fields, fault] of [
      [{ part: 'test:ethereum USDC', address: to, because: 'x' }, 'Choose what to return'],
      [{ part, address: '', because: 'x' }, 'Name an address'],
      [{ part, address: 'nonsense', because: 'x' }, 'is not an address'],
      [{ part, address: to, because: ' ' }, 'Say why'],
    ] as const) {
      const answer = await ada.submit(path, `${path}/return`, fields);
      assert.is(answer.status, 400, fault);
      assert.match(answer.text, fault);
    }
    const review = await ada.submit(path, `${path}/return`, { part, address: to, because: 'too late' });
    assert.match(review.text, (to.match(/.{1,4}/g) ?? []).map((four) => `<span>${four}</span>`).join(''));
    assert.is((await confirm(ada, `${path}/return`, review, { typed: '10.5' })).status, 403);
    const refunds = () => api.database().refunds.list({ sessionId, limit: 9 });
    assert.equal(await refunds(), []);
    const done = await confirm(ada, `${path}/return`, review, { typed: '10.50' });
    assert.is(done.status, 303, done.text);
    const [made, ...others] = await refunds();
    assert.equal([made?.destination?.address, made?.amountMinor, made?.heldKind, others], [to, 1050n, 'late', []]);
    const entry = (await api.database().audit.list(9)).find(({ command }) => command === 'held return');
    assert.equal([entry?.operator, entry?.reason], ['Ada (dashboard)', 'too late']);
    assert.match((await ada.get(done.headers.get('location') ?? '')).text, 'It is being returned');
  }));

test('what is above the store’s limit is not returned by one person', () =>
  withHeld(async ({ api }, ada, path, sessionId) => {
    await api.database().stores.setRefundPolicy(api.merchantId, { refundAutoMinor: 1049 });
    const fields = { part: 'test:ethereum USDT', address: to, because: 'x' };
    const answer = await ada.submit(path, `${path}/return`, fields);
    assert.is(answer.status, 400);
    assert.match(answer.text, 'quayside held return');
    assert.equal(await api.database().refunds.list({ sessionId, limit: 9 }), []);
  }));

/** Orders a return with all that the review asks for. */
async function orderReturn(ada: Visitor, path: string) {
  const review = await ada.submit(path, `${path}/return`, { part: 'test:ethereum USDT', address: to, because: 'x' });
  return review.status === 200 ? confirm(ada, `${path}/return`, review, { typed: '10.50' }) : review;
}

test('the owner of a suspended store sends no held money out, neither ordered before nor after', () =>
  withHeld(async ({ api }, ada, path, sessionId) => {
    const database = api.database();
    const suspend = (what: 'suspended' | 'resumed') =>
      database.stores.suspend(
        api.merchantId,
        what,
        { atMs: api.clock.nowMs(), operator: 'root', command: 'store suspend', reason: 'fraud' },
        false,
      );
    await suspend('suspended');
    const refused = await orderReturn(ada, path);
    assert.equal([refused.status, /The store is suspended/.test(refused.text)], [400, true]);
    assert.equal(await database.refunds.list({ sessionId, limit: 9 }), []);

    await suspend('resumed');
    assert.is((await orderReturn(ada, path)).status, 303);
    const [made] = await database.refunds.list({ sessionId, limit: 9 });
    assert.is(made?.destination?.from, 'merchant', 'it was the store, not the operator');
    await suspend('suspended');
    await database.refunds.advance(api.clock.nowMs(), 9);
    api.clock.advance(61_000);
    const payout = await database.findPayout(made?.id ?? '');
    assert.ok(payout);
    const attempt = { id: payout.id, generation: 0, attempt: 0, intent: payout.intent, payer: 'ab'.repeat(20) };
    const terms = { payerRole: 'refund', nonce: null, terms: {}, feeUnitsMax: 1n } as const;
    assert.is((await database.allotAttempt({ ...attempt, ...terms, nowMs: api.clock.nowMs() })).kind, 'moved');
    assert.is((await database.findPayout(payout.id))?.wait?.code, 'refund_store_suspended');
  }));

test('what a store’s owner returns counts in the store’s daily limit, and in the amount that needs an approval', () =>
  withHeld(async ({ api, person }, ada, path, sessionId) => {
    const database = api.database();
    await database.stores.setRefundPolicy(api.merchantId, { refundDailyMinor: 1049 });
    const refused = await orderReturn(ada, path);
    assert.equal(
      [refused.status, /what the store may still refund today: <bdi>10\.49/.test(refused.text)],
      [400, true],
    );
    await database.stores.setRefundPolicy(api.merchantId, { refundDailyMinor: 2000, refundAutoMinor: 1500 });
    assert.is((await orderReturn(ada, path)).status, 303);
    assert.is((await database.refunds.room(sessionId, api.clock.nowMs()))?.dayLeftMinor, 950n);

    const other = await openSale(api);
    await pass(api, 3700);
    await other.send('10.50');
    await confirmTip(api);
    await database.stores.setRefundPolicy(api.merchantId, { refundDailyMinor: 9999 });
    const [held] = await database.held.list({ sessionId: other.id, limit: 1 });
    const ben = await person('Ben', { role: 'owner', storeId: api.merchantId });
    const again = await orderReturn(ben, `/s/${api.merchantId}/test/held/${held?.id}`);
    assert.equal(
      [again.status, /quayside held return/.test(again.text)],
      [400, true],
      'another owner to the same address',
    );
  }));

const plain = (page: string) => page.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');

test('a page says what came, from where and how late, how long it waits, what the payer asked, and what else one can do', () =>
  withHeld(async ({ api, person }, _ada, path, sessionId) => {
    const [payment] = (await api.database().sessions.find(sessionId))?.payments ?? [];
    const ask = { network: 'test:ethereum', family: 'evm', tx: 'ab'.repeat(32) } as const;
    await api.database().lookups.request({ sessionId, asks: [ask], nowMs: api.clock.nowMs() });
    await pass(api, 3 * 86_400 + 3_600);
    const again = await person('Ben', { role: 'owner', storeId: api.merchantId });
    const list = plain((await again.get(`/s/${api.merchantId}/test/held`)).text);
    assert.match(
      list,
      /for 3 days, 1 hour 10\.50 USDT came after the deadline, or after a cancel confirmed 31 minutes, 40 seconds after the deadline/,
    );
    const { text } = await again.get(path);
    const page = plain(text);
    assert.match(page, 'All that came for this payment is held: 10.50 USDT . Due was 10.50 USDT / USDC .');
    assert.match(page, /31 minutes, 40 seconds after the deadline 10\.50 USDT Ethereum/);
    assert.ok(payment && text.includes(payment.tx), 'the whole hash');
    assert.ok(text.toLowerCase().includes(payment?.from.slice(-8) ?? '?'));
    assert.match(page, 'for 3 days, 1 hour');
    assert.match(page, new RegExp(`${'ab'.repeat(3)}.* on Ethereum.*: not looked yet`));
    assert.match(page, 'Or leave it: it stays in this list and counts for nothing, and the payment stays expired.');
    const onPayment = (await again.get(`/s/${api.merchantId}/test/payments/${sessionId}`)).text;
    assert.ok(onPayment.includes(`<a href="${path}">`));
    assert.match(plain(onPayment), /10\.50 USDT is held: came after the deadline, or after a cancel/);
    const act = { atMs: api.clock.nowMs(), operator: 'Ben', command: 'set language', reason: null };
    await api.database().people.setLanguage(again.id, 'ar', act);
    const arabic = plain((await again.get(path)).text);
    assert.match(arabic, 'بعد المهلة');
  }));

test('of a payment with too much, the page says that the amount is only a part of what came', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const sale = await openSale(api);
    await sale.send('4.00', { currency: 'USDC' });
    await confirmTip(api);
    await sale.send('11.00');
    await confirmTip(api);
    const ada = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const [held] = await api.database().held.list({ sessionId: sale.id, limit: 1 });
    const page = plain((await ada.get(`/s/${api.merchantId}/test/held/${held?.id}`)).text);
    assert.match(
      page,
      '11.00 USDT + 4.00 USDC came for this payment in all, 10.50 USDT / USDC was due. What is held is 4.50 USDT of it.',
    );
    assert.match(page, /\d+ minutes(, \d+ seconds?)? before the deadline/);
    assert.not.match(page, 'confirmed 0');
    assert.match(page, 'The payer has asked about nothing.');
  }));

test.run();
