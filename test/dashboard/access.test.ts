/**
 * Who sees which page: every page as every role, with the same role of another store, without a session, and with the
 * credentials of the API. And where forms may come from.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { issueEndpoint } from '../../src/app/new-credentials.ts';
import { isAllowed, type Membership, type Role, storeRoles } from '../../src/core/access.ts';
import { dashboardPages } from '../../src/dashboard/pages.ts';
import { type Dashboard, withDashboard } from '../support/dashboard.ts';

/** Written by hand, so that a page that opens to more people than before fails here. */
const mayOpen: Readonly<Record<string, readonly Role[]>> = {
  'get /': ['operator', 'owner', 'developer', 'accountant', 'support'],
  'get /account': ['operator', 'owner', 'developer', 'accountant', 'support'],
  'post /account/passkeys': ['operator', 'owner', 'developer', 'accountant', 'support'],
  'post /account/passkeys/remove': ['operator', 'owner', 'developer', 'accountant', 'support'],
  'post /account/language': ['operator', 'owner', 'developer', 'accountant', 'support'],
  'post /account/mail': ['operator', 'owner', 'developer', 'accountant', 'support'],
  'post /account/mail/prove': ['operator', 'owner', 'developer', 'accountant', 'support'],
  'post /account/mail/remove': ['operator', 'owner', 'developer', 'accountant', 'support'],
  'post /account/zone': ['operator', 'owner', 'developer', 'accountant', 'support'],
  'post /account/sessions/end': ['operator', 'owner', 'developer', 'accountant', 'support'],
  'get /s/:store/live/overview': ['owner', 'accountant', 'support'],
  'get /s/:store/test/overview': ['owner', 'developer', 'accountant', 'support'],
  'get /s/:store/live/payments': ['owner', 'accountant', 'support'],
  'get /s/:store/test/payments': ['owner', 'developer', 'accountant', 'support'],
  'get /s/:store/live/payments.csv': ['owner', 'accountant'],
  'get /s/:store/test/payments.csv': ['owner', 'developer', 'accountant'],
  'get /s/:store/live/payments/new': ['owner', 'accountant', 'support'],
  'get /s/:store/test/payments/new': ['owner', 'developer', 'accountant', 'support'],
  'get /s/:store/live/payments/:id': ['owner', 'accountant', 'support'],
  'get /s/:store/test/payments/:id': ['owner', 'developer', 'accountant', 'support'],
  'post /s/:store/live/payments/:id/cancel': ['owner', 'support'],
  'post /s/:store/test/payments/:id/cancel': ['owner', 'developer', 'support'],
  'post /s/:store/live/payments/:id/link': ['owner', 'support'],
  'post /s/:store/test/payments/:id/link': ['owner', 'developer', 'support'],
  'post /s/:store/live/payments/:id/notes': ['owner', 'support'],
  'post /s/:store/test/payments/:id/notes': ['owner', 'developer', 'support'],
  'post /s/:store/live/payments/:id/notes/:note/remove': ['owner', 'support'],
  'post /s/:store/test/payments/:id/notes/:note/remove': ['owner', 'developer', 'support'],
  'get /s/:store/live/refunds': ['owner', 'accountant', 'support'],
  'get /s/:store/test/refunds': ['owner', 'developer', 'accountant', 'support'],
  'get /s/:store/live/refunds/:refund': ['owner', 'accountant', 'support'],
  'get /s/:store/test/refunds/:refund': ['owner', 'developer', 'accountant', 'support'],
  'get /s/:store/live/payments/:id/refund': ['owner', 'support'],
  'get /s/:store/test/payments/:id/refund': ['owner', 'support'],
  'post /s/:store/live/payments/:id/refund': ['owner', 'support'],
  'post /s/:store/test/payments/:id/refund': ['owner', 'support'],
  'post /s/:store/live/refunds/:refund/approve': ['owner'],
  'post /s/:store/test/refunds/:refund/approve': ['owner'],
  'post /s/:store/live/refunds/:refund/refuse': ['owner'],
  'post /s/:store/test/refunds/:refund/refuse': ['owner'],
  'post /s/:store/live/refunds/:refund/cancel': ['owner', 'support'],
  'post /s/:store/test/refunds/:refund/cancel': ['owner', 'support'],
  'post /s/:store/live/refunds/:refund/destination': ['owner'],
  'post /s/:store/test/refunds/:refund/destination': ['owner'],
  'get /s/:store/live/held': ['owner', 'accountant', 'support'],
  'get /s/:store/test/held': ['owner', 'developer', 'accountant', 'support'],
  'get /s/:store/live/held/:held': ['owner', 'accountant', 'support'],
  'get /s/:store/test/held/:held': ['owner', 'developer', 'accountant', 'support'],
  'post /s/:store/live/held/:held/accept': ['owner'],
  'post /s/:store/test/held/:held/accept': ['owner'],
  'post /s/:store/live/held/:held/return': ['owner'],
  'post /s/:store/test/held/:held/return': ['owner'],
  'get /s/:store/live/webhooks': ['owner', 'support'],
  'get /s/:store/test/webhooks': ['owner', 'developer', 'support'],
  'get /s/:store/live/webhooks/:endpoint': ['owner', 'support'],
  'get /s/:store/test/webhooks/:endpoint': ['owner', 'developer', 'support'],
  'get /s/:store/live/webhooks/deliveries/:delivery': ['owner', 'support'],
  'get /s/:store/test/webhooks/deliveries/:delivery': ['owner', 'developer', 'support'],
  'post /s/:store/live/webhooks': ['owner'],
  'post /s/:store/test/webhooks': ['owner', 'developer'],
  'post /s/:store/live/webhooks/deliveries/:delivery/resend': ['owner', 'support'],
  'post /s/:store/test/webhooks/deliveries/:delivery/resend': ['owner', 'developer', 'support'],
  'post /s/:store/live/webhooks/:endpoint/test': ['owner', 'support'],
  'post /s/:store/test/webhooks/:endpoint/test': ['owner', 'developer', 'support'],
  'post /s/:store/live/webhooks/:endpoint/recover': ['owner'],
  'post /s/:store/test/webhooks/:endpoint/recover': ['owner', 'developer'],
  'post /s/:store/live/webhooks/:endpoint/secret': ['owner'],
  'post /s/:store/test/webhooks/:endpoint/secret': ['owner', 'developer'],
  'post /s/:store/live/webhooks/:endpoint/events': ['owner'],
  'post /s/:store/test/webhooks/:endpoint/events': ['owner', 'developer'],
  'post /s/:store/live/webhooks/:endpoint/enable': ['owner'],
  'post /s/:store/test/webhooks/:endpoint/enable': ['owner', 'developer'],
  'post /s/:store/live/webhooks/:endpoint/remove': ['owner'],
  'post /s/:store/test/webhooks/:endpoint/remove': ['owner', 'developer'],
  'get /s/:store/live/developers': ['owner'],
  'get /s/:store/test/developers': ['owner', 'developer'],
  'get /s/:store/live/developers/requests': ['owner'],
  'get /s/:store/test/developers/requests': ['owner', 'developer'],
  'post /s/:store/live/developers/keys': ['owner'],
  'post /s/:store/test/developers/keys': ['owner', 'developer'],
  'post /s/:store/live/developers/keys/revoke': ['owner'],
  'post /s/:store/test/developers/keys/revoke': ['owner', 'developer'],
  'get /s/:store/live/team': ['owner'],
  'get /s/:store/test/team': ['owner'],
  'post /s/:store/live/team': ['owner'],
  'post /s/:store/test/team': ['owner'],
  'post /s/:store/live/team/:person/role': ['owner'],
  'post /s/:store/test/team/:person/role': ['owner'],
  'post /s/:store/live/team/:person/remove': ['owner'],
  'post /s/:store/test/team/:person/remove': ['owner'],
  'post /s/:store/live/team/:person/sign-out': ['owner'],
  'post /s/:store/test/team/:person/sign-out': ['owner'],
  'post /s/:store/live/team/:person/link': ['owner'],
  'post /s/:store/test/team/:person/link': ['owner'],
  'get /s/:store/live/store': ['owner'],
  'get /s/:store/test/store': ['owner'],
  'post /s/:store/live/store': ['owner'],
  'post /s/:store/test/store': ['owner'],
  'post /s/:store/live/store/look': ['owner'],
  'post /s/:store/test/store/look': ['owner'],
  'get /s/:store/live/store/logo/:hash': ['owner'],
  'get /s/:store/test/store/logo/:hash': ['owner'],
  'post /s/:store/live/store/logo': ['owner'],
  'post /s/:store/test/store/logo': ['owner'],
  'post /s/:store/live/store/logo/remove': ['owner'],
  'post /s/:store/test/store/logo/remove': ['owner'],
  'get /stores/new': ['operator', 'owner', 'developer', 'accountant', 'support'],
  'post /stores/new': ['operator', 'owner', 'developer', 'accountant', 'support'],
  'get /operator': ['operator'],
  'get /operator/stores': ['operator'],
  'post /operator/stores/:merchant/approve': ['operator'],
  'post /operator/stores/:merchant/refuse': ['operator'],
  'post /operator/stores/:merchant/suspend': ['operator'],
  'post /operator/stores/:merchant/resume': ['operator'],
  'get /operator/networks': ['operator'],
  'get /operator/networks/:network': ['operator'],
  'post /operator/networks/:network/ask': ['operator'],
  'post /operator/networks/:network/rewind': ['operator'],
  'post /operator/networks/:network/skip': ['operator'],
  'post /operator/networks/:network/freeze': ['operator'],
  'post /operator/networks/:network/thaw': ['operator'],
  'get /operator/wallets': ['operator'],
  'post /operator/wallets/freeze': ['operator'],
  'post /operator/wallets/thaw': ['operator'],
  'get /operator/sources': ['operator'],
  'get /operator/settings': ['operator'],
  'get /operator/payouts': ['operator'],
  'get /operator/payouts/:payout': ['operator'],
  'post /operator/payouts/:payout/resume': ['operator'],
  'post /operator/payouts/:payout/reject': ['operator'],
  'get /operator/operations': ['operator'],
  'get /operator/operations/:operation': ['operator'],
  'get /operator/alarms': ['operator'],
  'get /operator/notices': ['operator'],
  'get /operator/notices/add': ['operator'],
  'post /operator/notices/add': ['operator'],
  'post /operator/notices/:target/prove': ['operator'],
  'post /operator/notices/:target/test': ['operator'],
  'post /operator/notices/:target/pause': ['operator'],
  'post /operator/notices/:target/resume': ['operator'],
  'post /operator/notices/:target/remove': ['operator'],
  'post /operator/alarms/acknowledge': ['operator'],
  'post /operator/alarms/snooze': ['operator'],
  'post /operator/alarms/resolve': ['operator'],
  'get /operator/audit': ['operator'],
  'get /operator/people': ['operator'],
};

const membershipIn = (role: Role, storeId: string): Membership =>
  role === 'operator' ? { role, storeId: null } : { role, storeId };

type Objects = Readonly<Record<'id' | 'refund' | 'held' | 'endpoint' | 'delivery', string>>;

const LOGO_HASH = 'ab'.repeat(32);

const none: Objects = { id: '', refund: '', held: '', endpoint: '', delivery: '' };

/** Creates a paid session with a refund and held money in test mode, and one in live mode. @returns the ids by mode */
async function createObjects({ api }: Dashboard): Promise<Record<string, Objects>> {
  const logo = { type: 'svg', hash: LOGO_HASH, bytes: Buffer.from('<svg/>') } as const;
  await api.database().setPageSettings(api.merchantId, { logo });
  const made: Record<string, Objects> = {};
  for (const [mode, key] of [
    ['test', api.testKey],
    ['live', api.liveKey],
  ] as const) {
    const endpoint = issueEndpoint(api.merchantId, mode, `https://${mode}.example/`, [], api.clock.nowMs());
    await api.database().addEndpoint(endpoint);
    const order = { amount: 1050, currency: 'USD', order_id: `order-${mode}` };
    const client = api.client(key);
    const { json } = await client.send('POST', '/api/v1/checkout/sessions/create', order);
    const id = String((json as { id?: string }).id);
    const to = (await api.database().findSession(id))?.addresses.evm ?? '';
    const chain = api.chain('ethereum', mode);
    await chain.confirm(await chain.mine([{ to, currency: 'USDT', units: 11_500_000n }]));
    const asked = { order_id: id, refund_id: 'r-1', amount: '1.00', currency: 'USDT' };
    assert.is((await client.send('POST', '/api/v1/refunds/create', asked)).status, 201);
    const [refund] = await api.database().listRefunds({ sessionId: id, limit: 1 });
    const [held] = await api.database().listHeldMoney({ sessionId: id, limit: 1 });
    const [delivery] = await api.database().listDeliveries({ sessionId: id, limit: 1 });
    const theirs = { endpoint: endpoint.id, delivery: delivery?.id ?? '' };
    made[mode] = { id, refund: refund?.id ?? '', held: held?.id ?? '', ...theirs };
  }
  return made;
}

/** Plans a payout, and asks for an operation. @returns their ids */
async function createOperations({ api }: Dashboard) {
  const nowMs = api.clock.nowMs();
  const network = 'test:ethereum';
  const intent = { kind: 'gas', id: 'ga_1', network, form: 'transfer', index: 0, units: 1n } as const;
  const planned = { intent, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs };
  await api.database().planPayouts([planned]);
  const act = { atMs: nowMs, operator: 'Mary', command: 'ask', reason: null };
  await api.database().askOperation({ id: 'op_1', network, wish: { kind: 'sweep_plan' } }, act);
  return { payout: intent.id, operation: 'op_1' };
}

test('every page opens to the roles that the table names, and in no other store', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const objects = await createObjects(dashboard);
    const rest = await createOperations(dashboard);
    const other = await api.addMerchant();
    const known = dashboardPages({ config: { networks: [] } } as never).flatMap(({ method, path }) =>
      path.includes(':mode')
        ? ['live', 'test'].map((mode) => `${method} ${path.replace(':mode', mode)}`)
        : `${method} ${path}`,
    );
    assert.equal(known.sort(), Object.keys(mayOpen).sort(), 'each page is in the table');

    const visit = async (visitor: Awaited<ReturnType<Dashboard['person']>>, page: string, storeId: string) => {
      const [method = '', path = ''] = page.split(' ');
      const mode = path.split('/')[3] ?? '';
      const own = objects[mode];
      const target = path
        .replace(':store', storeId)
        .replace(':network', 'test:ethereum')
        .replace(':payout', rest.payout)
        .replace(':operation', rest.operation)
        .replace(':id', own?.id ?? '')
        .replace(':refund', own?.refund ?? '')
        .replace(':held', own?.held ?? '')
        .replace(':endpoint', own?.endpoint ?? '')
        .replace(':delivery', own?.delivery ?? '')
        .replace(':hash', LOGO_HASH);
      return method === 'get'
        ? visitor.get(target)
        : visitor.submit('/account', target, { which: 'nothing' }).catch(() => visitor.post(target, {}));
    };
    for (const role of ['operator', ...storeRoles] as const) {
      const own = await dashboard.person(`own ${role}`, membershipIn(role, api.merchantId));
      const foreign = await dashboard.person(`foreign ${role}`, membershipIn(role, other));
      for (const [page, roles] of Object.entries(mayOpen)) {
        const { status } = await visit(own, page, api.merchantId);
        const isOpen = roles.includes(role);
        const opened = page.startsWith('post') ? [303, 403] : page === 'get /' ? [303] : [200];
        assert.ok((isOpen ? opened : [404]).includes(status), `${page} as ${role}: ${status}`);
        if (!page.includes(':store')) continue;
        assert.is((await visit(foreign, page, api.merchantId)).status, 404, `${page} as ${role} of another store`);
      }
    }
  }));

test('without a session every page asks to sign in, whatever else is sent', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const basic = `Basic ${Buffer.from('Ada:correct horse battery staple').toString('base64')}`;
    for (const page of Object.keys(mayOpen)) {
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
        assert.is(sent.get('location'), '/sign-in');
      }
    }
  }));

test('a session of the dashboard opens nothing of the API', () =>
  withDashboard(async (dashboard) => {
    const ada = await dashboard.person('Ada', { role: 'owner', storeId: dashboard.api.merchantId });
    const id = (await createObjects(dashboard)).test?.id;
    const answer = await fetch(`${dashboard.api.baseUrl}/api/v1/checkout/sessions/${id}`, {
      headers: { cookie: ada.cookie(), 'x-merchant-id': dashboard.api.merchantId },
    });
    assert.is(answer.status, 401);
  }));

test('a session of another store or mode is not shown by its id, order, address or transaction', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const { test: made = none, live } = await createObjects(dashboard);
    const other = await api.addMerchant();
    const owner = await dashboard.person('Ada', { role: 'owner', storeId: other });
    const base = `/s/${other}/test/payments`;
    assert.is((await owner.get(`${base}/${made.id}`)).status, 404);
    const bob = await dashboard.person('Bob', { role: 'owner', storeId: api.merchantId });
    const pathsOf = ({ id, refund, held, endpoint, delivery }: Objects) => [
      ...[`payments/${id}`, `payments/${id}/refund`, `refunds/${refund}`, `held/${held}`],
      ...[`webhooks/${endpoint}`, `webhooks/deliveries/${delivery}`],
    ];
    for (const path of pathsOf(made)) {
      assert.is((await owner.get(`/s/${other}/test/${path}`)).status, 404, `${path} of another store`);
      assert.is((await bob.get(`/s/${api.merchantId}/test/${path}`)).status, 200, path);
    }
    for (const path of pathsOf(live ?? none)) {
      assert.is((await bob.get(`/s/${api.merchantId}/test/${path}`)).status, 404, `${path} of the other mode`);
    }
    for (const text of [made.id, 'order-test', 'order']) {
      const { status, text: page } = await owner.get(`${base}?q=${text}`);
      assert.is(status, 200, text);
      assert.match(page, 'Nothing in test mode fits');
      assert.not.match(page, `${base}/${made.id}`);
    }
  }));

test('forms are taken from the own pages only', () =>
  withDashboard(async (dashboard) => {
    const ada = await dashboard.person('Ada', { role: 'operator', storeId: null });
    const { text } = await ada.get('/account');
    const token = /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? '';
    const end = (headers: Record<string, string>, form_token = token) =>
      ada.post('/account/sessions/end', { which: 'nothing', form_token }, headers);
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
  const need = { permission: 'payments:read', storeId: 'mer_a', mode: 'test' } as const;
  assert.not.ok(isAllowed([{ role: 'operator', storeId: null }], need));
  assert.ok(
    isAllowed(
      [
        { role: 'operator', storeId: null },
        { role: 'support', storeId: 'mer_a' },
      ],
      need,
    ),
  );
});

test.run();
