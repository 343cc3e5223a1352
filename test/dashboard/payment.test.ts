/**
 * One payment, over real HTTP: made by a form; held money of it accepted, or returned to an address that a person saw.
 */

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { confirm, type Dashboard, type Visitor, withDashboard } from '../support/dashboard.ts';
import { confirmTip, openSale, pass } from '../support/payment-scenes.ts';
import { alertOf, factsOf, fieldsOf, hasForm, textOf } from '../support/read-page.ts';

test('a payment is made once by its form, in the mode of the page, with a link to send', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const ada = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const list = `/s/${api.merchantId}/test/payments`;
    const order = { amount: '12.34', currency: 'eur', order: 'by-mail-7' };
    const form = { ...fieldsOf((await ada.get(list)).text, list), ...order };
    const [done, again] = [await ada.post(list, form), await ada.post(list, form)];
    const [path = '', same] = [done, again].map(({ headers }) => headers.get('location')?.split('?')[0]);
    assert.equal({ status: done.status, location: same }, { status: 303, location: path });
    const made = await api.database().sessions.find(path.slice(path.lastIndexOf('/') + 1));
    const { orderId, amountMinor, currency } = made?.request ?? {};
    const asked = { orderId: 'by-mail-7', amountMinor: 1234n, currency: 'EUR', mode: 'test' };
    assert.equal({ orderId, amountMinor, currency, mode: made?.mode }, asked);
    const page = (await ada.get(path)).text;
    assert.ok(page.includes(`value="${api.baseUrl}/pay/${made?.id}"`));
    assert.not.match(page, api.database().sessions.payerToken(made?.id ?? ''));
    const [entry] = await api.database().audit.list(1);
    assert.equal([entry?.operator, entry?.command], ['Ada (dashboard)', 'create payment']);

    for (const [wrong, said] of [
      [{ amount: '12,34' }, 'Write the amount in digits'],
      [{ currency: 'XXX' }, 'currency'],
    ] as const) {
      const refused = await ada.submit(list, list, { ...order, order: 'other', ...wrong });
      assert.is(refused.status, 400);
      assert.match(alertOf(refused.text), said);
      assert.is(fieldsOf(refused.text, list).order, 'other');
    }
    const amy = await dashboard.person('Amy', { role: 'accountant', storeId: api.merchantId });
    assert.not.match((await amy.get(list)).text, '<input name="amount"');
  }));

const to = chains.evm.address.format(`c0ffee${'1'.repeat(34)}`);

/** A payment that came late, held, and the store’s owner. */
const withHeld = (work: (d: Dashboard, ada: Visitor, path: string, sessionId: string, page: string) => Promise<void>) =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const sale = await openSale(api);
    await pass(api, 3700);
    await sale.send('10.50');
    await confirmTip(api);
    const ada = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const [held] = await api.database().held.list({ sessionId: sale.id, limit: 1 });
    const page = `/s/${api.merchantId}/test/payments/${sale.id}`;
    await work(dashboard, ada, `${page}/held/${held?.id}`, sale.id, page);
  });

test('held money is shown with why and since when; accepting it is confirmed, done once and recorded', () =>
  withHeld(async ({ api, person }, ada, path, sessionId, page) => {
    const shown = textOf((await ada.get(page)).text);
    assert.match(shown, /10\.50 USDT waits for you Came after the deadline, or after a cancel ?\. Held since \d{4}-/);
    const eve = await person('Eve', { role: 'accountant', storeId: api.merchantId });
    assert.is(hasForm((await eve.get(page)).text, `${path}/accept`), false);
    const review = await ada.submit(page, `${path}/accept`);
    assert.is((await api.database().sessions.find(sessionId))?.life.status, 'expired', 'nothing is done yet');
    assert.is((await confirm(ada, `${path}/accept`, review)).status, 303);
    assert.is((await api.database().sessions.find(sessionId))?.life.status, 'paid');
    const [entry] = await api.database().audit.list(1);
    assert.equal([entry?.operator, entry?.command], ['Ada (dashboard)', 'held accept']);
    assert.is((await confirm(ada, `${path}/accept`, review, { once: 'x' })).status, 400, 'decided already');
  }));

test('a return wants address and reason, and shows the whole address', () =>
  withHeld(async ({ api }, ada, path, sessionId, page) => {
    const review = await ada.submit(page, `${path}/return/test:ethereum/USDT`, { to, because: 'too late' });
    assert.is(factsOf(review.text).To?.replaceAll(' ', ''), to);
    const refunds = () => api.database().refunds.list({ sessionId, limit: 9 });
    assert.equal(await refunds(), []);
    const done = await confirm(ada, `${path}/return/test:ethereum/USDT`, review);
    assert.is(done.status, 303, done.text);
    const [made, ...others] = await refunds();
    assert.equal([made?.destination?.address, made?.amountMinor, made?.heldKind, others], [to, 1050n, 'late', []]);
    const entry = (await api.database().audit.list(9)).find(({ command }) => command === 'held return');
    assert.equal([entry?.operator, entry?.reason], ['Ada (dashboard)', 'too late']);
  }));

/** Orders a return with all that the review asks for. */
async function orderReturn(ada: Visitor, path: string, page: string) {
  const review = await ada.submit(page, `${path}/return/test:ethereum/USDT`, { to, because: 'x' });
  return review.status === 200 ? confirm(ada, `${path}/return/test:ethereum/USDT`, review) : review;
}

test('the owner of a suspended store orders no return of held money', () =>
  withHeld(async ({ api }, ada, path, sessionId, page) => {
    const database = api.database();
    const act = { atMs: api.clock.nowMs(), operator: 'root', command: 'store suspend', reason: 'fraud' };
    await database.stores.decide(api.merchantId, 'suspend', act);
    const refused = await orderReturn(ada, path, page);
    assert.is(refused.status, 400);
    assert.match(alertOf(refused.text), 'The store is suspended');
    assert.equal(await database.refunds.list({ sessionId, limit: 9 }), []);
  }));

test('what a store’s owner returns counts in the store’s daily limit, and in the amount that needs an approval', () =>
  withHeld(async ({ api, person }, ada, path, sessionId, page) => {
    const database = api.database();
    await database.stores.update(api.merchantId, { refundDailyMinor: 1049 });
    const refused = await orderReturn(ada, path, page);
    assert.is(refused.status, 400);
    assert.match(alertOf(refused.text), 'what the store may still refund today: 10.49');
    await database.stores.update(api.merchantId, { refundDailyMinor: 2000, refundAutoMinor: 1500 });
    assert.is((await orderReturn(ada, path, page)).status, 303);
    const [made] = await database.refunds.list({ sessionId, limit: 9 });
    assert.is(made?.destination?.from, 'merchant', 'it was the store, not the operator');
    assert.is((await database.refunds.room(sessionId, api.clock.nowMs()))?.dayLeftMinor, 950n);

    const other = await openSale(api);
    await pass(api, 3700);
    await other.send('10.50');
    await confirmTip(api);
    await database.stores.update(api.merchantId, { refundDailyMinor: 9999 });
    const [held] = await database.held.list({ sessionId: other.id, limit: 1 });
    const ben = await person('Ben', { role: 'owner', storeId: api.merchantId });
    const own = `/s/${api.merchantId}/test/payments/${other.id}`;
    const again = await orderReturn(ben, `${own}/held/${held?.id}`, own);
    assert.is(again.status, 400, 'another owner to the same address');
    assert.match(alertOf(again.text), 'quayside held return');
  }));

test.run();
