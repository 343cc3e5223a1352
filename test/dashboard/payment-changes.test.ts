/** One payment, over real HTTP: made by a form, canceled while nothing was seen for it. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { confirm, type Dashboard, withDashboard } from '../support/dashboard.ts';
import { confirmTip, openSale } from '../support/payment-scenes.ts';

const withSale = (
  work: (dashboard: Dashboard, sale: Awaited<ReturnType<typeof openSale>>, path: string) => Promise<void>,
) =>
  withDashboard(
    async (dashboard) => {
      const sale = await openSale(dashboard.api);
      await work(dashboard, sale, `/s/${dashboard.api.merchantId}/test/payments/${sale.id}`);
    },
    { pages: true },
  );

const owner = (dashboard: Dashboard) => dashboard.person('Ada', { role: 'owner', storeId: dashboard.api.merchantId });
const statusOf = async ({ api }: Dashboard, id: string) => (await api.database().sessions.find(id))?.life.status;

test('a payment is made once by its form, in the mode of the page, with a link to send', () =>
  withSale(async (dashboard) => {
    const { api } = dashboard;
    const ada = await owner(dashboard);
    const list = `/s/${api.merchantId}/test/payments`;
    const order = { amount: '12.34', currency: 'eur', order: 'by-mail-7' };
    const { text } = await ada.get(list);
    const fields = [...text.matchAll(/<input type="hidden" name="(form_token|once)" value="([^"]*)"/g)];
    const form = { ...Object.fromEntries(fields.map(([, name, value]) => [name, value])), ...order };
    const [done, again] = [await ada.post(list, form), await ada.post(list, form)];
    const [path = '', same] = [done, again].map(({ headers }) => headers.get('location')?.split('?')[0]);
    assert.equal([done.status, same], [303, path]);
    const made = await api.database().sessions.find(path.slice(path.lastIndexOf('/') + 1));
    assert.equal(
      [made?.request.orderId, made?.request.amountMinor, made?.request.currency, made?.mode],
      ['by-mail-7', 1234n, 'EUR', 'test'],
    );
    assert.match((await ada.get(path)).text, `value="${api.baseUrl}/pay/${made?.id}"`);
    const [entry] = await api.database().audit.list(1);
    assert.equal([entry?.operator, entry?.command], ['Ada (dashboard)', 'create payment']);

    for (const [wrong, said] of [
      [{ amount: '12,34' }, 'Write the amount in digits'],
      [{ currency: 'XXX' }, 'currency'],
    ] as const) {
      const refused = await ada.submit(list, list, { ...order, order: 'other', ...wrong });
      assert.equal(
        [refused.status, refused.text.includes(said), refused.text.includes('value="other"')],
        [400, true, true],
      );
    }
    const amy = await dashboard.person('Amy', { role: 'accountant', storeId: api.merchantId });
    assert.not.match((await amy.get(list)).text, 'New payment');
  }));

test('an open payment is canceled after a confirmation, and recorded with the person’s name', () =>
  withSale(async (dashboard, sale, path) => {
    const ada = await owner(dashboard);
    const review = await ada.submit(path, `${path}/cancel`);
    assert.match(review.text, 'money that comes later is held');
    assert.is(await statusOf(dashboard, sale.id), 'pending', 'asking changes nothing');
    const done = await confirm(ada, `${path}/cancel`, review);
    assert.is(done.status, 303);
    assert.is(await statusOf(dashboard, sale.id), 'canceled');
    const shown = await ada.get(String(done.headers.get('location')));
    assert.match(shown.text, 'The payment is canceled.');
    assert.not.match(shown.text, `${path}/cancel`, 'nothing is left to cancel');
    const [entry] = await dashboard.api.database().audit.list(1);
    assert.equal([entry?.operator, entry?.command, entry?.target], ['Ada (dashboard)', 'cancel payment', sale.id]);
    const events = await dashboard.api.database().events.ofSession(sale.id, 9);
    assert.ok(
      events.some(({ type }) => type === 'payment.cancelled'),
      'the shop is told',
    );
  }));

test('what has money, or has ended, is not canceled', () =>
  withSale(async (dashboard, sale, path) => {
    const ada = await owner(dashboard);
    const review = await ada.submit(path, `${path}/cancel`);
    await sale.send('1.00');
    await confirmTip(dashboard.api);
    const seen = await confirm(ada, `${path}/cancel`, review);
    assert.equal([seen.status, /money has been seen for it/.test(seen.text)], [400, true]);
    await sale.send('9.50');
    await confirmTip(dashboard.api);
    dashboard.api.clock.advance(11_000);
    const paid = await confirm(ada, `${path}/cancel`, review);
    assert.equal([paid.status, /it has ended/.test(paid.text)], [400, true]);
    assert.is(await statusOf(dashboard, sale.id), 'paid');
    assert.not.match((await ada.get(path)).text, `${path}/cancel`);
  }));

test('the payment page’s address is on the page, without the payer’s token', () =>
  withSale(async (dashboard, sale, path) => {
    const { api } = dashboard;
    const { text } = await (await owner(dashboard)).get(path);
    assert.match(text, `value="${api.baseUrl}/pay/${sale.id}"`);
    assert.not.match(text, api.database().sessions.payerToken(sale.id));
  }));

test.run();
