/**
 * How a page changes something, on the page of API keys: confirmed, with the second factor again, once, and recorded.
 */

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, type Dashboard, PASSWORD, type Visitor, withDashboard } from '../support/dashboard.ts';
import { alertOf, asksFactor, factsOf, fieldsOf, noticeOf, rowsOf, titleOf } from '../support/read-page.ts';

type Person = Visitor & Readonly<{ token: string }>;

const keysOf = ({ api }: Dashboard, mode: string) => `/s/${api.merchantId}/${mode}/developers`;
const fields = { name: 'Shop server', 'sessions:read': 'on', 'sessions:write': 'on' };
const SUDO_MS = 10 * 60_000;

/** Sends the form of a new key as far as the page that confirms it. @returns the fields of that page's form */
async function reviewed(dashboard: Dashboard, person: Visitor, mode = 'test', extra = {}) {
  const page = keysOf(dashboard, mode);
  const review = await person.submit(page, `${page}/keys`, { ...fields, ...extra });
  assert.is(titleOf(review.text), 'Create this key?');
  const post = `${page}/keys`;
  return { review, form: fieldsOf(review.text, post), post };
}

const credentials = ({ text }: Answer) => {
  const made = Object.values(factsOf(text));
  const startsWith = (start: string) => made.find((one) => one.startsWith(start)) ?? '';
  return { apiKey: startsWith('sk_'), apiSecret: startsWith('ss_') };
};

const listed = async ({ api }: Dashboard) =>
  (await api.database().keys.list(api.merchantId)).filter(({ name }) => name === fields.name);

const owner = (dashboard: Dashboard): Promise<Person> =>
  dashboard.person('Ada', { role: 'owner', storeId: dashboard.api.merchantId });

test('a key is confirmed, shown once, signs calls, and is recorded with its maker', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const ada = await owner(dashboard);
    const { review, form, post } = await reviewed(dashboard, ada);
    assert.is(factsOf(review.text)['Not permitted'], 'refunds:read, refunds:write, webhooks:write');
    assert.is(asksFactor(review.text), false, 'it was proved at sign-in');
    assert.equal(await listed(dashboard), [], 'nothing is made before it is confirmed');

    const made = await ada.post(post, form);
    const { apiKey, apiSecret } = credentials(made);
    const client = api.client({ baseUrl: api.baseUrl, apiKey, apiSecret });
    const body = { amount: 100, currency: 'USD', order_id: 'from the new key' };
    assert.is((await client.send('POST', '/api/v1/checkout/sessions/create', body)).status, 200);
    const page = await ada.get(keysOf(dashboard, 'test'));
    assert.not.match(page.text, apiKey);
    assert.not.match(page.text, apiSecret);
    assert.ok(rowsOf(page.text, 'API keys').some((row) => row.Name === 'Shop server'));

    const [key] = await listed(dashboard);
    assert.is(key?.mode, 'test');
    const entry = (await api.database().audit.list(20)).find(({ command }) => command === 'key create');
    assert.equal([entry?.operator, entry?.target], ['Ada (dashboard)', key?.id]);
  }));

test('a test key may do everything unless somebody says otherwise; a live key only what is chosen', () =>
  withDashboard(async (dashboard) => {
    const ada = await owner(dashboard);
    const checked = async (mode: string) => {
      const page = keysOf(dashboard, mode);
      const fields = fieldsOf((await ada.get(page)).text, `${page}/keys`);
      return Object.keys(fields).filter((name) => fields[name] === 'on');
    };
    const all = ['sessions:read', 'sessions:write', 'refunds:read', 'refunds:write', 'webhooks:write'];
    assert.equal(await checked('test'), all);
    assert.equal(await checked('live'), []);
    const page = keysOf(dashboard, 'live');
    const refused = await ada.submit(page, `${page}/keys`, { name: '"><b>' });
    assert.is(refused.status, 400);
    assert.match(alertOf(refused.text), 'Choose at least one thing that the key may do');
    assert.is(fieldsOf(refused.text, `${page}/keys`).name, '"><b>', 'it stays filled in, and is escaped');
    const nameless = await ada.submit(page, `${page}/keys`, { ...fields, name: '' });
    assert.match(alertOf(nameless.text), '1 to 64 characters');
    assert.equal(await listed(dashboard), []);
  }));

test('a form that is sent twice makes one key: at once, seconds later, and much later', () =>
  withDashboard(async (dashboard) => {
    const ada = await owner(dashboard);
    const { form, post } = await reviewed(dashboard, ada);
    const answers = await Promise.all(Array.from({ length: 5 }, () => ada.post(post, form)));
    assert.is(new Set(answers.map((answer) => credentials(answer).apiKey)).size, 1, 'each click shows the same key');
    dashboard.api.clock.advance(60_000);
    const again = await ada.post(post, form);
    assert.is(again.status, 303);
    const { text } = await ada.get(again.headers.get('location') ?? '');
    assert.match(noticeOf(text), 'This key was made already');
    assert.is((await listed(dashboard)).length, 1);
  }));

test('ten minutes after the sign-in the second factor is asked for again: a code works once, for that session alone', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const ada = await owner(dashboard);
    api.clock.advance(SUDO_MS);
    const { review, form, post } = await reviewed(dashboard, ada);
    assert.is(asksFactor(review.text), true);
    for (const code of ['', '000000', 'AAAA-AAAA-AAAA-AAAA']) {
      const refused = await ada.post(post, { ...form, code });
      assert.is(refused.status, 403, code);
      assert.match(alertOf(refused.text), 'Nothing was changed');
    }
    assert.equal(await listed(dashboard), []);
    const code = dashboard.code(ada.token);
    assert.is.not(credentials(await ada.post(post, { ...form, code })).apiKey, '');
    assert.is(asksFactor((await reviewed(dashboard, ada)).review.text), false, 'for ten minutes');
    const elsewhere = dashboard.visitor();
    const signIn = { name: 'Ada', password: PASSWORD, code };
    assert.is((await elsewhere.post('/sign-in', signIn)).status, 403, 'the code was used to confirm');

    api.clock.advance(SUDO_MS);
    const fresh = { ...signIn, code: dashboard.code(ada.token) };
    assert.is((await elsewhere.post('/sign-in', fresh)).status, 303);
    assert.is(asksFactor((await reviewed(dashboard, ada)).review.text), true, 'of the other session');
    assert.is(asksFactor((await reviewed(dashboard, elsewhere)).review.text), false);
  }));

test('revoking asks first, and takes keys of one’s own store and mode alone', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const ada = await owner(dashboard);
    const other = await api.addKey(await api.addMerchant(), 'test');
    const page = keysOf(dashboard, 'test');
    const post = `${page}/keys/revoke`;
    const form = fieldsOf((await ada.get(page)).text, post);
    const revoke = (key: string, confirmed = 'yes') => ada.post(post, { ...form, key, confirmed });
    for (const key of [other.id, api.liveKey.id, 'key_nothing']) {
      assert.is((await revoke(key)).status, 404, key);
    }
    assert.is((await revoke(api.testKey.id, '')).status, 200);
    const { send } = api;
    assert.is((await send('GET', '/api/v1/checkout/sessions/x')).status, 404, 'it works still');
    const done = await revoke(api.testKey.id);
    assert.is(done.status, 303);
    assert.is((await send('GET', '/api/v1/checkout/sessions/x')).status, 401);
  }));

test('a notice is shown only if this session’s own pages wrote it, and once', () =>
  withDashboard(async (dashboard) => {
    const ada = await owner(dashboard);
    const eve = await dashboard.person('Eve', { role: 'owner', storeId: dashboard.api.merchantId });
    const page = keysOf(dashboard, 'test');
    const { text } = await ada.get(`${page}?said=You+must+pay`);
    assert.is(noticeOf(text), '');
    const { form, post } = await reviewed(dashboard, ada);
    await ada.post(post, form);
    dashboard.api.clock.advance(60_000);
    const address = (await ada.post(post, form)).headers.get('location') ?? '';
    const said = async (visitor: Visitor, path: string) => noticeOf((await visitor.get(path)).text) !== '';
    assert.is(await said(eve, address), false);
    assert.is(await said(ada, address), true);
    assert.is(await said(ada, address), false, 'once, and not after a reload');
    const again = (await ada.post(post, { ...form, once: 'another' })).headers.get('location') ?? '';
    dashboard.api.clock.advance(60_001);
    assert.is(await said(ada, again), false, 'nor long afterwards');
  }));

test.run();
