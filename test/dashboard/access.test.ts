/**
 * Access to pages: every page as every role, with the same role of another store, without a session, and with the
 * credentials of the API. Nothing crosses over: no credential of the dashboard or of a payer opens the API, and what
 * belongs to another store or mode is neither shown nor changed through one's own. And where forms may come from.
 */

import { get } from 'node:http';
import { inspect } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { apiEndpoints } from '../../src/api/app.ts';
import { type Membership, type Role, storeRoles } from '../../src/core/access.ts';
import { dashboardPages } from '../../src/dashboard/pages.ts';
import { type Dashboard, formTokenOf, PASSWORD, withDashboard } from '../support/dashboard.ts';
import { exchange } from '../support/signed-client.ts';
import { createObjects, type StoreObjects, withObjects } from './store-objects.ts';

/** Written by hand, so that a page that opens to more people than before fails here. */
const mayOpen: Readonly<Record<string, readonly Role[]>> = {
  'get /': ['operator', 'owner', 'accountant', 'staff'],
  'get /account': ['operator', 'owner', 'accountant', 'staff'],
  'post /account/passkeys': ['operator', 'owner', 'accountant', 'staff'],
  'post /account/passkeys/remove': ['operator', 'owner', 'accountant', 'staff'],
  'get /s/:store/:mode/overview': ['owner', 'accountant', 'staff'],
  'get /s/:store/:mode/payments': ['owner', 'accountant', 'staff'],
  'get /s/:store/:mode/books.csv': ['owner', 'accountant'],
  'get /s/:store/:mode/payments/:payment': ['owner', 'accountant', 'staff'],
  'post /s/:store/:mode/payments': ['owner', 'staff'],
  'get /s/:store/:mode/refunds': ['owner', 'accountant', 'staff'],
  'get /s/:store/:mode/refunds/:refund': ['owner', 'accountant', 'staff'],
  'get /s/:store/:mode/payments/:payment/refund': ['owner', 'staff'],
  'post /s/:store/:mode/payments/:payment/refund': ['owner', 'staff'],
  'post /s/:store/:mode/refunds/:refund/approve': ['owner'],
  'post /s/:store/:mode/refunds/:refund/refuse': ['owner'],
  'post /s/:store/:mode/refunds/:refund/cancel': ['owner', 'staff'],
  'post /s/:store/:mode/refunds/:refund/link': ['owner', 'staff'],
  'post /s/:store/:mode/refunds/:refund/destination': ['owner'],
  'post /s/:store/:mode/payments/:payment/held/:held/accept': ['owner'],
  'post /s/:store/:mode/payments/:payment/held/:held/return/:network/:currency': ['owner'],
  'get /s/:store/:mode/webhooks': ['owner', 'staff'],
  'get /s/:store/:mode/webhooks/:endpoint': ['owner', 'staff'],
  'get /s/:store/:mode/webhooks/deliveries/:delivery': ['owner', 'staff'],
  'post /s/:store/:mode/webhooks': ['owner'],
  'post /s/:store/:mode/webhooks/resend': ['owner', 'staff'],
  'post /s/:store/:mode/webhooks/:endpoint/test': ['owner', 'staff'],
  'post /s/:store/:mode/webhooks/:endpoint/secret': ['owner'],
  'post /s/:store/:mode/webhooks/:endpoint/change': ['owner'],
  'post /s/:store/:mode/webhooks/:endpoint/remove': ['owner'],
  'get /s/:store/:mode/developers': ['owner'],
  'post /s/:store/:mode/developers/keys': ['owner'],
  'post /s/:store/:mode/developers/keys/revoke': ['owner'],
  'post /s/:store/:mode/settings/people': ['owner'],
  'post /s/:store/:mode/settings/people/remove': ['owner'],
  'get /s/:store/:mode/settings': ['owner'],
  'post /s/:store/:mode/settings': ['owner'],
  'get /stores/new': ['operator', 'owner', 'accountant', 'staff'],
  'post /stores/new': ['operator', 'owner', 'accountant', 'staff'],
  'get /operator': ['operator'],
  'get /operator/stores': ['operator'],
  'post /operator/stores/:store/:decision': ['operator'],
  'get /operator/money': ['operator'],
  'post /operator/money/freeze': ['operator'],
  'post /operator/money/thaw': ['operator'],
  'get /operator/alarms': ['operator'],
  'post /operator/notices': ['operator'],
  'post /operator/notices/:target/prove': ['operator'],
  'post /operator/notices/:target/remove': ['operator'],
  'post /operator/alarms/acknowledge': ['operator'],
  'get /operator/audit': ['operator'],
};

/** The table, with each page of a store in these modes. */
const mayOpenIn = (modes: readonly string[]) =>
  Object.entries(mayOpen).flatMap(([page, roles]) =>
    (page.includes(':mode') ? modes : ['']).map((mode) => [page.replace(':mode', mode), roles] as const),
  );

const membershipIn = (role: Role, storeId: string): Membership =>
  role === 'operator' ? { role, storeId: null } : { role, storeId };

/** Adds a target of notices. @returns its id */
async function createTarget({ api }: Dashboard): Promise<string> {
  const nowMs = api.clock.nowMs();
  const act = { atMs: nowMs, operator: 'Mary', command: 'notify add', reason: null };
  const address = JSON.stringify({ url: 'http://127.0.0.1:1/' });
  const target = { id: 'nt_1', kind: 'slack', name: 'team', address, code: '918273', severity: 'page' } as const;
  await api.database().alarms.addTarget({ ...target, createdAtMs: nowMs }, act);
  await api.database().alarms.proveTarget('nt_1', '918273', act);
  return target.id;
}

/** Fields that a form needs, beside its path, to find its subject. */
const fieldsOf = (page: string, { test, live }: Readonly<Record<'test' | 'live', StoreObjects>>) => ({
  ...(page.includes('/alarms/') && { alarm: '1' }),
  ...(/\/keys\/revoke$/.test(page) && { key: page.includes('/live/') ? live.key : test.key }),
  ...(page.endsWith('/freeze') && { network: 'all' }),
});

test('every page opens to the roles that the table names, and in no other store', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const objects = await createObjects(dashboard);
    const other = await api.addMerchant();
    const rest = {
      target: await createTarget(dashboard),
      network: 'test:ethereum',
      currency: 'USDT',
      decision: 'approve',
    };
    const pages = dashboardPages({ config: { networks: [] } } as never);
    const known = pages.map(({ method, path }) => `${method} ${path}`);
    assert.equal(known.sort(), Object.keys(mayOpen).sort(), 'each page is in the table');

    const targetOf = (page: string) => {
      const path = page.split(' ')[1] ?? '';
      const mode = path.split('/')[3] === 'live' ? 'live' : 'test';
      const own = { ...objects[mode], ...rest };
      const store = path.startsWith('/operator') ? other : api.merchantId;
      return withObjects(path, { ...own, store });
    };
    for (const role of ['operator', ...storeRoles] as const) {
      const own = await dashboard.person(`own ${role}`, membershipIn(role, api.merchantId));
      const foreign = await dashboard.person(`foreign ${role}`, membershipIn(role, other));
      const form_token = await formTokenOf(own);
      for (const [page, roles] of mayOpenIn(['live', 'test'])) {
        const [target, isPost] = [targetOf(page), page.startsWith('post')];
        const what = `${page} as ${role}`;
        const isOpen = roles.includes(role);
        if (page.includes('/s/:store')) {
          const { status } = isPost ? await foreign.post(target, {}) : await foreign.get(target);
          assert.is(status, 404, `${what} of another store`);
        }
        if (!isPost) {
          const opened = page === 'get /' ? 303 : 200;
          assert.is((await own.get(target)).status, isOpen ? opened : 404, what);
          continue;
        }
        // A form without its token is refused as such only where the page itself is open.
        const without = await own.post(target, {});
        assert.is(without.status, isOpen ? 403 : 404, what);
        assert.is(without.text.includes('This form is out of date'), isOpen, what);
        // With it, who may not is told what somebody is told who asks for nothing, and who may is not refused inside.
        const { status } = await own.post(target, { form_token, ...fieldsOf(page, objects) });
        assert.is([200, 303, 400].includes(status), isOpen, `${what}: ${status}`);
        if (!isOpen) assert.is(status, 404, what);
      }
    }
  }));

test('without a session every page asks to sign in, whatever else is sent', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const basic = `Basic ${Buffer.from('Ada:correct horse battery staple').toString('base64')}`;
    for (const [page] of mayOpenIn(['live'])) {
      const [method, path = ''] = page.split(' ');
      const target = path.replace(':store', api.merchantId).replace(':id', `cs_${'0'.repeat(26)}`);
      for (const headers of [
        {},
        { authorization: basic },
        { authorization: `Bearer ${api.testKey.apiKey}`, 'x-api-key': api.testKey.apiKey },
        { cookie: `quayside=${'A'.repeat(43)}` },
      ] as Record<string, string>[]) {
        const visitor = dashboard.visitor();
        const { status, headers: sent } =
          method === 'get' ? await visitor.get(target, headers) : await visitor.post(target, {}, headers);
        assert.is(status, 303, page);
        assert.match(sent.get('location') ?? '', /^\/sign-in(\?|$)/);
      }
    }
  }));

test('forms are taken from the own pages only', () =>
  withDashboard(async (dashboard) => {
    const ada = await dashboard.person('Ada', { role: 'operator', storeId: null });
    const { text } = await ada.get('/account');
    const token = /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? '';
    const signOut = (headers: Record<string, string>, form_token = token) =>
      ada.post('/sign-out', { form_token }, headers);
    assert.is((await signOut({ 'sec-fetch-site': 'cross-site' })).status, 403);
    assert.is((await signOut({ 'sec-fetch-site': 'same-site' })).status, 403, 'another port of the host');
    assert.is((await signOut({ 'sec-fetch-site': 'none' })).status, 403);
    assert.is((await signOut({}, 'x')).status, 403, 'another session’s token');
    assert.is((await signOut({})).status, 303);
    const post = (own: Record<string, string>) =>
      fetch(`${dashboard.url}/sign-in`, { method: 'POST', body: 'name=x', headers: own, redirect: 'manual' });
    for (const old of [{}, { origin: 'https://evil.example' }, { origin: 'null' }] as Record<string, string>[]) {
      assert.is((await post(old)).status, 403, 'an old browser that does not name the configured address');
    }
  }));

test('pages are never framed, cached or sent with looser headers', () =>
  withDashboard(async (dashboard) => {
    const ada = await dashboard.person('Ada', { role: 'operator', storeId: null });
    for (const path of ['/operator', '/sign-in', '/nothing', '/account']) {
      const { headers, text } = await ada.get(path);
      assert.is(headers.get('cache-control'), 'no-store', path);
      assert.match(headers.get('content-security-policy') ?? '', "default-src 'none'");
      assert.match(headers.get('content-security-policy') ?? '', "frame-ancestors 'none'");
      assert.is(headers.get('cross-origin-opener-policy'), 'same-origin');
      const own = text.replace(/<script type="module" src="\/assets\/[\w-]{16}\.js"><\/script>/, '');
      assert.is(/\bstyle=|\son\w+=|<style|<script/.exec(own), null, 'nothing that the policy would block');
    }
  }));

test('it answers to its own name, and to none that a web site can have', () =>
  withDashboard(async ({ url }) => {
    const { port } = new URL(url);
    const ask = (host: string) =>
      new Promise<number | undefined>((done, fail) => {
        get({ port, host: '127.0.0.1', path: '/sign-in', headers: { host }, setHost: false }, (response) => {
          response.resume();
          done(response.statusCode);
        }).once('error', fail);
      });
    for (const host of [new URL(url).host, `127.0.0.1:${port}`, 'localhost']) assert.is(await ask(host), 200, host);
    for (const host of ['evil.example', `evil.example:${port}`]) assert.is(await ask(host), 421, host);
  }));

test('no credential of the dashboard or of a payer opens any endpoint of the API', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const { test: made } = await createObjects(dashboard);
    const ada = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const cookie = ada.cookie();
    const session = cookie.split('=')[1] ?? '';
    const basic = (name: string, word: string) => `Basic ${Buffer.from(`${name}:${word}`).toString('base64')}`;
    const secrets = { password: PASSWORD, session, link: ada.token, payer: made.payer, claim: made.claim };
    const credentials: Record<string, string>[] = [
      { cookie },
      { cookie, authorization: basic('Ada', PASSWORD) },
      ...Object.values(secrets).flatMap((secret) => [
        { authorization: `Bearer ${secret}` },
        { 'x-api-key': secret },
        { authorization: basic(made.key, secret) },
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
      for (const headers of credentials) {
        const { status } = await exchange(method.toUpperCase(), api.baseUrl + target, { ...how, ...headers }, body);
        assert.is(status, 401, `${method} ${path} with ${JSON.stringify(headers)}`);
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
      const named = { key: ids.key, what: ids.delivery, name: 'A member' };
      const fields = { ...named, confirmed: 'yes', because: 'x' };
      return visitor.post(target, { form_token: tokens.get(visitor) ?? '', ...fields });
    };
    const named = changes.filter(
      (path) => /:(?!store|mode)/.test(path) || /(?:keys\/revoke|people\/remove|webhooks\/resend)$/.test(path),
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
