/** The store's form: a new one waits for approval; policy and look are checked, confirmed and recorded. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { SUDO_MS } from '../../src/dashboard/web-session.ts';
import { confirm, formTokenOf, withDashboard } from '../support/dashboard.ts';
import { asksFactor, factsOf, fieldsOf, hasForm, noticeOf } from '../support/read-page.ts';

const operator = { atMs: 0, operator: 'root', command: 'store approve', reason: null };

test('a new store waits for approval with its maker as the owner, is made once, and gets keys only then', () =>
  withDashboard(async ({ api, person }) => {
    const ada = await person('Ada', { role: 'staff', storeId: api.merchantId });
    const review = await ada.submit('/stores/new', '/stores/new', { name: 'Tea & Co', settlement: 'USDC' });
    assert.is(factsOf(review.text).Name, 'Tea &amp; Co');
    const clicks = await Promise.all([1, 2].map(() => confirm(ada, '/stores/new', review, { name: 'Tea & Co' })));
    const [path = ''] = clicks.map(({ headers }) => (headers.get('location') ?? '').split('?')[0]);
    const storeId = path.split('/')[2] ?? '';
    const made = (await api.database().stores.list()).filter(({ name }) => name === 'Tea & Co');
    assert.equal(
      made.map(({ id, status, settings }) => [id, status, settings.settlementCurrency]),
      [[storeId, 'pending', 'USDC']],
    );
    const offersKeys = async () => hasForm((await ada.get(path)).text, `/s/${storeId}/test/developers/keys`);
    assert.equal([path, await offersKeys()], [`/s/${storeId}/test/developers`, false]);
    const forced = { form_token: await formTokenOf(ada), name: 'x', 'sessions:read': 'on', confirmed: 'yes' };
    assert.is((await ada.post(`/s/${storeId}/test/developers/keys`, forced)).status, 400);
    assert.equal(await api.database().keys.list(storeId), []);
    await api.database().stores.decide(storeId, 'approve', operator);
    assert.is(await offersKeys(), true);
    const make = async (name: string) => {
      const asked = await ada.submit('/stores/new', '/stores/new', { name, settlement: 'USDT' });
      return asked.status === 200 ? (await confirm(ada, '/stores/new', asked)).status : asked.status;
    };
    const statuses = [await make('a'), await make('b'), await make('c'), await make('d')];
    assert.equal(statuses, [303, 303, 303, 400], 'one person cannot pile up stores that wait');
  }));

test('the policy is saved after it was shown before and after, and a refund limit asks for the second factor', () =>
  withDashboard(async ({ api, person, code }) => {
    const ada = await person('Ada', { role: 'owner', storeId: api.merchantId });
    const path = `/s/${api.merchantId}/test/settings`;
    api.clock.advance(600_000);
    const shown = fieldsOf((await ada.get(path)).text, path);
    const unchanged = await ada.submit(path, path, shown);
    assert.match(noticeOf((await ada.get(unchanged.headers.get('location') ?? '')).text), 'Nothing was changed');
    const harmless = await ada.submit(path, path, { ...shown, grace: '45' });
    assert.is(asksFactor(harmless.text), false);
    const review = await ada.submit(path, path, { ...shown, refundAutomatic: '20.50', late: 'accept' });
    const changes = Object.values(factsOf(review.text)).filter((one) => one.includes('→'));
    assert.equal(changes.sort(), ['1000.00 → 20.50', 'is held for your decision → is accepted']);
    assert.is(asksFactor(review.text), true);
    assert.is((await confirm(ada, path, review)).status, 403);
    assert.is((await confirm(ada, path, review, { code: code(ada.token) })).status, 303);
    assert.is((await api.database().stores.values(api.merchantId)).refundAutoMinor, 2050);
    assert.is((await api.database().stores.find(api.merchantId))?.settings.latePolicy, 'accept');
    const [entry] = await api.database().audit.list(1);
    assert.equal(
      [entry?.operator, entry?.command, entry?.before],
      ['Ada (dashboard)', 'store set', { latePolicy: 'hold', refundAutoMinor: 100_000 }],
    );
    const origins = 'https://shop.example, https://other.example:8443';
    const look = await ada.submit(path, path, { ...shown, accent: '#FFEE00', origins });
    assert.is((await confirm(ada, path, look)).status, 303);
    const page = await api.database().stores.values(api.merchantId);
    assert.equal([page.accent, page.embedOrigins], ['#ffee00', ['https://shop.example', 'https://other.example:8443']]);
    for (const [key, value] of [
      ...[['name', ' '] as const, ['tolerance', '-1'] as const, ['accent', 'red"'] as const],
      ...['https://shop.example/path', 'https://a;report-uri'].map((one) => ['origins', one] as const),
    ]) {
      assert.is((await ada.submit(path, path, { ...shown, [key]: value })).status, 400, key);
    }
  }));

test('a session alone lowers no price, and lets no other site frame the page', () =>
  withDashboard(async ({ api, person }) => {
    const ada = await person('Ada', { role: 'owner', storeId: api.merchantId });
    const path = `/s/${api.merchantId}/test/settings`;
    api.clock.advance(SUDO_MS + 1);
    const tolerance = async () => (await api.database().stores.find(api.merchantId))?.settings.toleranceMinor;
    const fields = { ...fieldsOf((await ada.get(path)).text, path), tolerance: '9900' };
    const review = await ada.submit(path, path, fields);
    assert.is((await confirm(ada, path, review)).status, 403);
    assert.is(await tolerance(), 0);
    const look = await ada.submit(path, path, { ...fields, origins: 'https://evil.example' });
    assert.is((await confirm(ada, path, look)).status, 403);
    assert.equal((await api.database().stores.values(api.merchantId)).embedOrigins, []);
  }));

test.run();
