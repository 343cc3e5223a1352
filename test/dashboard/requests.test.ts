/** The newest API requests: what is kept of each, of how many, for how long, and who sees which. */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createRequestLog } from '../../src/api/request-log.ts';
import { transient } from '../../src/core/fault.ts';
import { type ApiRequest, REQUESTS_AGE_MS_MAX, REQUESTS_KEPT_MAX } from '../../src/database/request-log.ts';
import { type Dashboard, withDashboard } from '../support/dashboard.ts';
import { confirmTip, openSale } from '../support/payment-scenes.ts';
import { until } from '../support/until.ts';

const SESSIONS = '/api/v1/checkout/sessions';
const pathOf = ({ api }: Dashboard, mode = 'test') => `/s/${api.merchantId}/${mode}/developers/requests`;
const owner = (dashboard: Dashboard) => dashboard.person('Ada', { role: 'owner', storeId: dashboard.api.merchantId });

const all = ({ api }: Dashboard, mode: 'live' | 'test' = 'test', more = {}) => {
  const filter = { storeId: api.merchantId, mode, statuses: null, requestId: null, beforeId: null };
  return api.database().listRequests({ ...filter, limit: 5_000, nowMs: api.clock.nowMs(), ...more });
};

/** Answers are noted once the connection has taken them, which may be after the client has read them. */
const saved = (dashboard: Dashboard, count: number) =>
  until('the requests are saved', async () => {
    await dashboard.api.requests.save();
    return (await all(dashboard)).length >= count;
  });

test('requests are shown with status, error code and id, and filtered', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const order = { amount: 100, currency: 'USD', order_id: 'o-1' };
    const made = await api.send('POST', `${SESSIONS}/create`, order);
    const id = String((made.json as { id?: string }).id);
    const refused = await api.send('POST', `${SESSIONS}/create`, { ...order, amount: -1 });
    await api.send('GET', `${SESSIONS}/${id}`);
    await saved(dashboard, 3);
    const ada = await owner(dashboard);
    const { text } = await ada.get(pathOf(dashboard));
    assert.match(text, `POST ${SESSIONS}/create`);
    assert.match(text, `GET ${SESSIONS}/${id}`);
    assert.match(text, api.testKey.hint);
    assert.match(text, String(refused.headers['request-id']));
    const only = async (query: string) => {
      const page = (await ada.get(`${pathOf(dashboard)}?${query}`)).text;
      return [...page.matchAll(/<tr><td/g)].length;
    };
    assert.is(await only('outcome=refused'), 1);
    assert.is(await only('outcome=done'), 2);
    assert.is(await only('outcome=failed'), 0);
    assert.is(await only(`id=${made.headers['request-id']}`), 1);
    assert.is(await only('id=%27;--'), 0);
    assert.is(await only('before=x&outcome=x'), 3);
    assert.match((await ada.get(pathOf(dashboard, 'live'))).text, 'No call with a key of this mode');
    assert.match((await ada.get(`/s/${api.merchantId}/test/developers`)).text, pathOf(dashboard));
  }));

test('the error code is that of the answer, also where a known key signed wrongly', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const wrong = api.client({ ...api.testKey, apiSecret: `ss_${'x'.repeat(40)}` });
    assert.is((await wrong.send('GET', `${SESSIONS}/cs_${'0'.repeat(26)}`)).status, 401);
    await saved(dashboard, 1);
    assert.equal(
      (await all(dashboard)).map(({ status, code }) => [status, code]),
      [[401, 'invalid_signature']],
    );
  }));

test('neither a body, a header, a query nor a secret in a path is kept', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const headers = { 'Idempotency-Key': 'kept-nowhere-1' };
    const order = { amount: 100, currency: 'USD', order_id: 'kept-nowhere-2', metadata: { note: 'kept-nowhere-3' } };
    await api.send('POST', `${SESSIONS}/create`, order, { headers });
    await api.send('GET', `${SESSIONS}/cs_none?token=kept-nowhere-4`);
    await api.send('GET', `${SESSIONS}/${api.testKey.apiKey}`);
    await api.send('GET', `${SESSIONS}/${api.testKey.apiSecret}`);
    await saved(dashboard, 4);
    const client = new Sqlite(api.file, { readonly: true });
    const text = JSON.stringify(client.prepare('SELECT * FROM api_requests').all());
    client.close();
    for (const secret of ['kept-nowhere', api.testKey.apiKey, api.testKey.apiSecret]) {
      assert.not.match(text, secret);
      assert.not.match(text, secret.slice(8));
    }
    assert.match(text, `${SESSIONS}/sk_test_…`);
  }));

const entryOf = (keyId: string, atMs: number, at: number): ApiRequest => {
  const rest = { method: 'GET', path: '/x', status: 200, code: null, ms: 1, sessionId: null };
  return { ...rest, keyId, requestId: `req_${at}`, atMs };
};

test('each store and mode keeps its newest, of the last seven days, and removes no other’s', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const { database, clock } = api;
    const other = await api.addKey(await api.addMerchant(), 'test');
    await database().saveRequests(
      [entryOf(api.liveKey.id, clock.nowMs(), 1), entryOf(other.id, clock.nowMs(), 2)],
      clock.nowMs(),
    );
    for (let batch = 0; batch < 3; batch++) {
      const many = Array.from({ length: 500 }, (_, at) => entryOf(api.testKey.id, clock.nowMs(), batch * 500 + at));
      await database().saveRequests(many, clock.nowMs());
    }
    const kept = await all(dashboard);
    assert.is(kept.length, REQUESTS_KEPT_MAX);
    assert.equal([kept[0]?.requestId, kept.at(-1)?.requestId], ['req_1499', 'req_500']);
    assert.is((await all(dashboard, 'live')).length, 1);
    assert.is((await all(dashboard, 'test', { storeId: 'mer_none' })).length, 0);
    clock.advance(REQUESTS_AGE_MS_MAX + 1);
    assert.is((await all(dashboard)).length, 0, 'too old to be shown');
    for (let save = 0; save < 3; save++) await database().saveRequests([], clock.nowMs());
    const client = new Sqlite(api.file, { readonly: true });
    assert.is(client.prepare('SELECT count(*) FROM api_requests').pluck().get(), 0, 'and removed');
    client.close();
  }));

test('what is collected is bounded, saved once, and kept while it cannot be saved', async () => {
  const batches: (readonly ApiRequest[])[] = [];
  let isBroken = true;
  const log = createRequestLog(
    {
      async saveRequests(requests) {
        if (isBroken) throw transient('storage_unavailable', 'the disk is full');
        batches.push(requests);
      },
    },
    { nowMs: () => 5 },
  );
  const answered = {
    route: null,
    path: '/x',
    method: 'GET',
    status: 200,
    ms: 1,
    keyId: 'k',
    code: null,
    sessionId: null,
  };
  for (let at = 0; at < 10_000; at++) log.add({ ...answered, requestId: `req_${at}` });
  log.add({ ...answered, keyId: null, requestId: 'req_of_nobody' });
  assert.is(await log.save().catch(({ code }) => code), 'storage_unavailable');
  isBroken = false;
  await log.save();
  await log.save();
  assert.is(batches.length, 1);
  assert.is(batches[0]?.length, 2_000);
  assert.is(batches[0]?.at(-1)?.requestId, 'req_9999');
});

test('a payment’s page has the requests that made or named it, of its own store alone, with a link to the log', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const sale = await openSale(api, { order_id: 'named' });
    await sale.send('10.50');
    await confirmTip(api);
    const other = await openSale(api);
    const ask = { order_id: sale.id, refund_id: 'r-1', amount: '1.00', currency: 'USDT' };
    const asked = [
      await api.send('GET', `${SESSIONS}/${sale.id.replace('cs_', 'sess_')}`),
      await api.send('POST', `${SESSIONS}/${sale.id}/cancel`),
      await api.send('POST', '/api/v1/refunds/create', { ...ask, amount: '99999.00' }),
      await api.send('POST', '/api/v1/refunds/create', ask),
      await api.send('GET', '/api/v1/refunds/r-1'),
      await api.send('POST', '/api/v1/refunds/r-1/cancel'),
    ];
    assert.equal(
      asked.map(({ status }) => status),
      [200, 400, 400, 201, 200, 400],
    );
    const foreign = api.client(await api.addKey(await api.addMerchant(), 'test'));
    const curious = await foreign.send('GET', `${SESSIONS}/${sale.id}`);
    await api.send('GET', `${SESSIONS}/${other.id}`);
    await saved(dashboard, 9);
    const idOf = ({ headers }: Pick<(typeof asked)[number], 'headers'>) => String(headers['request-id']);
    const log = await all(dashboard);
    const made = log.filter(({ path, sessionId }) => path === `${SESSIONS}/create` && sessionId === sale.id);
    assert.is(made.length, 1, 'the request that made it');
    // A refused cancel of a refund names no payment.
    const expected = [...made.map(({ requestId }) => requestId), ...asked.slice(0, 5).map(idOf)].reverse();

    const ada = await owner(dashboard);
    const page = `/s/${api.merchantId}/test/payments/${sale.id}`;
    const shown = async (path: string, who = ada) =>
      [...(await who.get(path)).text.matchAll(/<code[^>]*>(req_\w+)<\/code>/g)].map(([, id]) => id);
    assert.equal(await shown(page), expected);
    assert.equal(await shown(`${pathOf(dashboard)}?session=${sale.id}`), expected);
    const { text } = await ada.get(page);
    assert.match(text, `${pathOf(dashboard)}?id=${expected[0]}`);
    assert.not.match(text, idOf(curious));
    assert.equal(await shown(`${pathOf(dashboard)}?session=nonsense`), []);

    const ben = await dashboard.person('Ben', { role: 'staff', storeId: api.merchantId });
    assert.equal(await shown(page, ben), expected);
    assert.not.match((await ben.get(page)).text, pathOf(dashboard), 'support has no log of requests');
    api.clock.advance(REQUESTS_AGE_MS_MAX + 1_000);
    const later = await dashboard.person('Eve', { role: 'owner', storeId: api.merchantId });
    assert.match((await later.get(page)).text, 'has none about this payment');
  }));

test('the page of a payment shows its newest requests, and the log has all', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const { id } = await openSale(api);
    for (let at = 0; at < 52; at++) await api.send('GET', `${SESSIONS}/${id}`);
    await saved(dashboard, 53);
    const ada = await owner(dashboard);
    const { text } = await ada.get(`/s/${api.merchantId}/test/payments/${id}`);
    assert.is([...text.matchAll(/<code data-copy>req_/g)].length, 10);
    const path = `${pathOf(dashboard)}?session=${id}`;
    assert.match(text, path);
    const first = (await ada.get(path)).text;
    const older = /href="([^"]*before=[^"]*)"/.exec(first)?.[1]?.replaceAll('&amp;', '&') ?? '';
    assert.match(older, `session=${id}`);
    assert.is([...(await ada.get(older)).text.matchAll(/<tr><td/g)].length, 3);
  }));

test.run();
