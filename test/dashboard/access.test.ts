/**
 * Who sees which page: every page as every role, with the same role of another store, without a session, and with the
 * credentials of the API. And where forms may come from.
 */
import { get } from 'node:http';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { isAllowed, type Membership, type Role, storeRoles } from '../../src/core/access.ts';
import { dashboardPages } from '../../src/dashboard/pages.ts';
import { type Dashboard, formTokenOf, withDashboard } from '../support/dashboard.ts';
import { createObjects, LOGO_HASH, type StoreObjects, withObjects } from './store-objects.ts';

/** Written by hand, so that a page that opens to more people than before fails here. */
const mayOpen: Readonly<Record<string, readonly Role[]>> = {
  'get /': ['operator', 'owner', 'accountant', 'staff'],
  'get /account': ['operator', 'owner', 'accountant', 'staff'],
  'post /account/passkeys': ['operator', 'owner', 'accountant', 'staff'],
  'post /account/passkeys/remove': ['operator', 'owner', 'accountant', 'staff'],
  'post /account/sessions/end': ['operator', 'owner', 'accountant', 'staff'],
  'get /s/:store/:mode/overview': ['owner', 'accountant', 'staff'],
  'get /s/:store/:mode/payments': ['owner', 'accountant', 'staff'],
  'get /s/:store/:mode/payments.csv': ['owner', 'accountant'],
  'get /s/:store/:mode/payments/:id': ['owner', 'accountant', 'staff'],
  'post /s/:store/:mode/payments': ['owner', 'staff'],
  'post /s/:store/:mode/payments/:id/cancel': ['owner', 'staff'],
  'get /s/:store/:mode/refunds': ['owner', 'accountant', 'staff'],
  'get /s/:store/:mode/refunds.csv': ['owner', 'accountant'],
  'get /s/:store/:mode/refunds/:refund': ['owner', 'accountant', 'staff'],
  'get /s/:store/:mode/payments/:id/refund': ['owner', 'staff'],
  'post /s/:store/:mode/payments/:id/refund': ['owner', 'staff'],
  'post /s/:store/:mode/refunds/:refund/approve': ['owner'],
  'post /s/:store/:mode/refunds/:refund/refuse': ['owner'],
  'post /s/:store/:mode/refunds/:refund/cancel': ['owner', 'staff'],
  'post /s/:store/:mode/refunds/:refund/link': ['owner', 'staff'],
  'post /s/:store/:mode/refunds/:refund/destination': ['owner'],
  'post /s/:store/:mode/payments/:id/held/:held/accept': ['owner'],
  'post /s/:store/:mode/payments/:id/held/:held/return/:network/:currency': ['owner'],
  'get /s/:store/:mode/webhooks': ['owner', 'staff'],
  'get /s/:store/:mode/webhooks/:endpoint': ['owner', 'staff'],
  'get /s/:store/:mode/webhooks/deliveries/:delivery': ['owner', 'staff'],
  'post /s/:store/:mode/webhooks': ['owner'],
  'post /s/:store/:mode/webhooks/deliveries/:delivery/resend': ['owner', 'staff'],
  'post /s/:store/:mode/webhooks/:endpoint/test': ['owner', 'staff'],
  'post /s/:store/:mode/webhooks/:endpoint/recover': ['owner'],
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
  'get /s/:store/:mode/settings/logo/:hash': ['owner'],
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

/** Plans a payout, and adds a target of notices. @returns their ids */
async function createOperated({ api }: Dashboard) {
  const nowMs = api.clock.nowMs();
  const network = 'test:ethereum';
  const intent = {
    kind: 'refund',
    session: { id: 'cs_1', amount: '5.00' },
    id: 'po_1',
    network,
    currency: 'USDT',
    to: 'ab'.repeat(20),
    units: 1n,
    mac: '',
  } as const;
  const planned = { intent, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs };
  await api.database().payouts.plan([planned]);
  const act = { atMs: nowMs, operator: 'Mary', command: 'notify add', reason: null };
  const address = JSON.stringify({ url: 'http://127.0.0.1:1/' });
  const target = { id: 'nt_1', kind: 'slack', name: 'team', address, code: '918273', severity: 'page' } as const;
  await api.database().notices.addTarget({ ...target, createdAtMs: nowMs }, act);
  await api.database().notices.proveTarget('nt_1', '918273', act);
  return { payout: intent.id, target: 'nt_1' };
}

/** What a form has to name, beside its path, to find what it is about. */
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
      ...(await createOperated(dashboard)),
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
      const own = { ...objects[mode], hash: LOGO_HASH, ...rest };
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
    const end = (headers: Record<string, string>, form_token = token) =>
      ada.post('/account/sessions/end', { form_token }, headers);
    assert.is((await end({ 'sec-fetch-site': 'cross-site' })).status, 403);
    assert.is((await end({ 'sec-fetch-site': 'same-site' })).status, 403, 'another port of the host');
    assert.is((await end({ 'sec-fetch-site': 'none' })).status, 403);
    assert.is((await end({}, 'x')).status, 403, 'another session’s token');
    assert.is((await end({})).status, 303);
  }));

test('an old browser must name the configured address as its origin', () =>
  withDashboard(async (dashboard) => {
    const post = (headers: Record<string, string>) =>
      fetch(`${dashboard.url}/sign-in`, { method: 'POST', body: 'name=x', headers, redirect: 'manual' });
    assert.is((await post({})).status, 403, 'nothing is said about where it comes from');
    assert.is((await post({ origin: 'https://evil.example' })).status, 403);
    assert.is((await post({ origin: 'null' })).status, 403);
  }));

test('pages are never framed, cached or sent with looser headers', () =>
  withDashboard(async (dashboard) => {
    const ada = await dashboard.person('Ada', { role: 'operator', storeId: null });
    assert.is((await ada.get('/operator', { 'sec-fetch-dest': 'iframe' })).status, 403);
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

test('an operator sees a store’s payments only as its member', () => {
  const need = { permission: 'payments:read', storeId: 'mer_a' } as const;
  assert.not.ok(isAllowed([{ role: 'operator', storeId: null }], need));
  assert.ok(
    isAllowed(
      [
        { role: 'operator', storeId: null },
        { role: 'staff', storeId: 'mer_a' },
      ],
      need,
    ),
  );
});

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

test.run();
