/**
 * Nothing crosses over: no credential of the dashboard or of a payer opens the API, and what belongs to another store
 * or mode is neither shown nor changed through one's own.
 */
import { inspect } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { apiEndpoints } from '../../src/api/app.ts';
import { dashboardPages } from '../../src/dashboard/pages.ts';
import { formTokenOf, PASSWORD, withDashboard } from '../support/dashboard.ts';
import { exchange } from '../support/signed-client.ts';
import { createObjects, type StoreObjects, withObjects } from './store-objects.ts';

test('no credential of the dashboard or of a payer opens any endpoint of the API', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const { test: made } = await createObjects(dashboard);
    const ada = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const cookie = ada.cookie();
    const session = cookie.split('=')[1] ?? '';
    const basic = (name: string, word: string) => `Basic ${Buffer.from(`${name}:${word}`).toString('base64')}`;
    const secrets = { password: PASSWORD, session, link: ada.token, payer: made.payer, claim: made.claim };
    const credentials: [string, Record<string, string>][] = [
      ['the cookie', { cookie }],
      ['name and password', { authorization: basic('Ada', PASSWORD) }],
      ['the cookie and name and password', { cookie, authorization: basic('Ada', PASSWORD) }],
      ...Object.entries(secrets).flatMap(([name, secret]): [string, Record<string, string>][] => [
        [`${name} as bearer`, { authorization: `Bearer ${secret}` }],
        [`${name} as key`, { 'x-api-key': secret }],
        [`${name} beside the id of a key`, { authorization: basic(made.key, secret) }],
      ]),
    ];
    // Only their methods and paths are used; none of these is called.
    for (const { method, path } of apiEndpoints({} as Parameters<typeof apiEndpoints>[0])) {
      const target = path
        .replace('{session_id}', made.id)
        .replace('{refund_id}', made.refund)
        .replace('{event_id}', 'evt_1')
        .replace('{endpoint_id}', 'we_1');
      assert.not.match(target, '{');
      const body = method === 'get' ? '' : '{}';
      const how = { 'Content-Type': 'application/json', 'X-Merchant-Id': api.merchantId, origin: dashboard.url };
      for (const [name, headers] of credentials) {
        const { status } = await exchange(method.toUpperCase(), api.baseUrl + target, { ...how, ...headers }, body);
        assert.is(status, 401, `${method} ${path} with ${name}`);
      }
      for (const [name, secret] of Object.entries(secrets)) {
        const client = api.client({ baseUrl: api.baseUrl, apiKey: secret, apiSecret: secret });
        assert.is((await client.send(method.toUpperCase(), target, body)).status, 401, `${path} signed with ${name}`);
      }
      const { status } = await api.send(method.toUpperCase(), target, body);
      assert.is.not(status, 401, `${method} ${path} opens with a key`);
      assert.is.not(status, 405, `${method} ${path}`);
    }
  }));

test('a session of another store or mode is not shown by its id, order, address or transaction', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const { test: made, live } = await createObjects(dashboard);
    const other = await api.addMerchant();
    const owner = await dashboard.person('Ada', { role: 'owner', storeId: other });
    const base = `/s/${other}/test/payments`;
    assert.is((await owner.get(`${base}/${made.id}`)).status, 404);
    const bob = await dashboard.person('Bob', { role: 'owner', storeId: api.merchantId });
    const pathsOf = ({ id, refund, endpoint, delivery }: StoreObjects) => [
      ...[`payments/${id}`, `payments/${id}/refund`, `refunds/${refund}`],
      ...[`webhooks/${endpoint}`, `webhooks/deliveries/${delivery}`],
    ];
    for (const path of pathsOf(made)) {
      assert.is((await owner.get(`/s/${other}/test/${path}`)).status, 404, `${path} of another store`);
      assert.is((await bob.get(`/s/${api.merchantId}/test/${path}`)).status, 200, path);
    }
    for (const path of pathsOf(live)) {
      assert.is((await bob.get(`/s/${api.merchantId}/test/${path}`)).status, 404, `${path} of the other mode`);
    }
    for (const text of [made.id, 'order-test', 'order']) {
      const { status, text: page } = await owner.get(`${base}?q=${text}`);
      assert.is(status, 200, text);
      assert.match(page, 'Nothing in test mode fits');
      assert.not.match(page, `${base}/${made.id}`);
    }
  }));

/** Everything that can be done to an object of a store, by a form. */
const changes = dashboardPages({ config: { networks: [] } } as never)
  .filter(({ method, path }) => method === 'post' && path.startsWith('/s/:store/:mode/'))
  .map(({ path }) => path);

test('no form of one’s own store changes what belongs to another store or mode', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const made = await createObjects(dashboard);
    const other = await api.addMerchant();
    const foreign = await dashboard.person('Ada', { role: 'owner', storeId: other });
    const own = await dashboard.person('Bob', { role: 'owner', storeId: api.merchantId });
    const tokens = new Map([
      [foreign, await formTokenOf(foreign)],
      [own, await formTokenOf(own)],
    ]);
    const send = (visitor: typeof own, storeId: string, mode: string, path: string, ids: StoreObjects) => {
      const target = withObjects(path, { store: storeId, mode, network: `${mode}:ethereum`, currency: 'USDT', ...ids });
      const fields = { confirmed: 'yes', typed: '11.50', key: ids.key, name: 'A member', because: 'x' };
      return visitor.post(target, { form_token: tokens.get(visitor) ?? '', ...fields });
    };
    const named = changes.filter(
      (path) => /:(?!store|mode)/.test(path) || /(?:keys\/revoke|people\/remove)$/.test(path),
    );
    assert.ok(named.length >= 15, `${named.length} forms name an object`);
    const { id: sessionId, key, person } = made.test;
    const state = async () =>
      inspect(
        [
          await api.database().refunds.list({ sessionId, limit: 9 }),
          await api.database().endpoints.list(api.merchantId),
          await api.database().held.list({ sessionId, limit: 9 }),
          await api.database().keys.show(key),
          (await api.database().people.list()).find(({ id }) => id === person),
        ],
        { depth: 9 },
      );
    const before = await state();
    for (const path of named) {
      for (const mode of ['test', 'live'] as const) {
        assert.is((await send(foreign, other, mode, path, made[mode])).status, 404, `${path} of another store`);
      }
      // A team belongs to the store, not to a mode.
      if (path.endsWith('/people/remove')) continue;
      assert.is((await send(own, api.merchantId, 'live', path, made.test)).status, 404, `${path} of test mode in live`);
      assert.is((await send(own, api.merchantId, 'test', path, made.live)).status, 404, `${path} of live mode in test`);
    }
    assert.is(await state(), before);
    for (const path of named) {
      assert.is.not((await send(own, api.merchantId, 'test', path, made.test)).status, 404, `${path} finds its object`);
    }
  }));

test.run();
