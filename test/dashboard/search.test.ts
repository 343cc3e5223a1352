/** The search box finds more than payments: refunds, events and the pages of the menu, each by role. */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { issueEndpoint } from '../../src/app/new-credentials.ts';
import { type Answer, type Dashboard, withDashboard } from '../support/dashboard.ts';
import { paidSale } from '../support/payment-scenes.ts';
import { PAYEE } from './every-page.ts';

const TX = `0x${'ab12'.repeat(16)}`;

/** A paid sale with a completed refund, whose events go to one endpoint. */
async function createScene({ api }: Dashboard) {
  const at = { storeId: api.merchantId, mode: 'test' } as const;
  await api.database().endpoints.add(issueEndpoint(at.storeId, 'test', 'https://shop.example/', [], api.clock.nowMs()));
  const sale = await paidSale(api);
  const metadata = { refund_address: PAYEE };
  const asked = { order_id: sale.id, refund_id: 'back-7', amount: '1.00', currency: 'USDT', metadata };
  const made = await api.send('POST', '/api/v1/refunds/create', asked);
  assert.is(made.status, 201);
  const [refund] = await api.database().refunds.list({ sessionId: sale.id, limit: 1 });
  const file = new Sqlite(api.file);
  file
    .prepare(`UPDATE refunds SET status = 'completed', receipt_number = 'RF-2026-00000007', tx = ? WHERE id = ?`)
    .run(TX, refund?.id);
  file.close();
  const event = (await api.database().events.ofSession(sale.id, 9)).find(({ type }) => type === 'payment.completed');
  assert.ok(refund && event);
  return { sale, refund, event };
}

test('a refund is found by its ids, its receipt and its transaction; an event leads to its payment', () =>
  withDashboard(
    async (dashboard) => {
      const { api } = dashboard;
      const { refund, event, sale } = await createScene(dashboard);
      const owner = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
      const base = `/s/${api.merchantId}/test`;
      const leadsTo = async (text: string) =>
        (await owner.get(`${base}/payments?q=${encodeURIComponent(text)}`)).headers.get('location');
      for (const text of [refund.id, 'back-7', 'RF-2026-00000007', TX, TX.slice(2).toUpperCase()])
        assert.is(await leadsTo(text), `${base}/refunds/${refund.id}`, text);
      assert.is(await leadsTo(event.id), `${base}/payments/${sale.id}`);
      for (const text of ['back-', 'rf_none', 'evt_1', 'req_none', `0x${'cd'.repeat(32)}`])
        assert.is(await leadsTo(text), null, text);

      const live = await owner.get(`/s/${api.merchantId}/live/payments?q=back-7`);
      assert.ok(live.text.includes(`<a href="${base}/payments?q=back-7">`), 'it is in test mode');
      const other = await api.addMerchant();
      const stranger = await dashboard.person('Eve', { role: 'owner', storeId: other });
      for (const text of [refund.id, 'back-7', 'RF-2026-00000007', TX, event.id]) {
        const { status, headers } = await stranger.get(`/s/${other}/test/payments?q=${text}`);
        assert.equal({ status, location: headers.get('location') }, { status: 200, location: null }, text);
      }
    },
    { pages: true },
  ));

test('every page has one search box, which takes the names of the menu’s pages too', () =>
  withDashboard(async ({ api, person }) => {
    const ada = await person('Ada', { role: 'owner', storeId: api.merchantId });
    const mary = await person('Mary', { role: 'operator', storeId: null });
    const base = `/s/${api.merchantId}/test`;
    const boxes = ({ text }: Answer) => [...text.matchAll(/role="search" action="([^"]*)"/g)].map(([, to]) => to);
    for (const page of ['overview', 'payments', 'settings'])
      assert.equal(boxes(await ada.get(`${base}/${page}`)), [`${base}/payments`], page);
    assert.equal(boxes(await mary.get('/operator')), ['/']);
    const names = [...(await mary.get('/operator')).text.matchAll(/<option value="([^"]*)"/g)].map(([, name]) => name);
    assert.ok(names.includes('Audit log') && !names.includes('API keys'), names.join());
    const leads = async (who: typeof ada, from: string, text: string) =>
      (await who.get(`${from}?q=${encodeURIComponent(text)}`)).headers.get('location');
    assert.is(await leads(ada, `${base}/payments`, ' api KEYS'), `${base}/developers`);
    assert.is(await leads(ada, `${base}/payments`, 'Audit log'), null, 'not hers');
    assert.is(await leads(mary, '/', 'audit log'), '/operator/audit');
    assert.is(await leads(mary, '/', 'order-1'), '/operator');
    assert.match((await leads(ada, '/', 'a b&c')) ?? '', /^\/s\/\w+\/(live|test)\/payments\?q=a%20b%26c$/);
    for (const name of ['Reembolsos', 'Refunds']) {
      const { headers } = await ada.get(`${base}/payments?q=${name}`, { 'accept-language': 'es' });
      assert.is(headers.get('location'), `${base}/refunds`, name);
    }
  }));

test.run();
