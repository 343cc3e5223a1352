/**
 * A store's settings: a new one waits for approval; policy and look are checked, confirmed and recorded. Its team: a
 * one-time link for each new person; nobody removes themselves, and the last owner stays.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { SUDO_MS } from '../../src/dashboard/web-session.ts';
import {
  type Answer,
  confirm,
  type Dashboard,
  formTokenOf,
  PASSWORD,
  type Visitor,
  withDashboard,
} from '../support/dashboard.ts';
import { alertOf, asksFactor, factsOf, fieldsOf, hasForm, noticeOf } from '../support/read-page.ts';

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
    api.clock.advance(SUDO_MS);
    for (const risky of [{ tolerance: '9900' }, { origins: 'https://evil.example' }]) {
      const alone = await ada.submit(path, path, { ...shown, ...risky });
      assert.is((await confirm(ada, path, alone)).status, 403, 'a session alone lowers no price, and frames no page');
    }
    for (const [key, value] of [
      ...[['name', ' '] as const, ['tolerance', '-1'] as const, ['accent', 'red"'] as const],
      ...['https://shop.example/path', 'https://a;report-uri'].map((one) => ['origins', one] as const),
    ]) {
      assert.is((await ada.submit(path, path, { ...shown, [key]: value })).status, 400, key);
    }
  }));

type Member = Visitor & Readonly<{ id: string }>;
const settingsOf = ({ api }: Dashboard) => `/s/${api.merchantId}/test/settings`;
const teamOf = (dashboard: Dashboard) => `${settingsOf(dashboard)}/people`;
const member = (dashboard: Dashboard, name: string, role: 'owner' | 'staff' = 'owner'): Promise<Member> =>
  dashboard.person(name, { role, storeId: dashboard.api.merchantId });
const roleOf = async ({ api }: Dashboard, name: string) =>
  (await api.database().people.find(name))?.memberships.find(({ storeId }) => storeId === api.merchantId)?.role ?? null;

/** Posts as somebody would who made the form up. */
const forced = async (visitor: Visitor, path: string, fields: Record<string, string> = {}): Promise<Answer> => {
  return visitor.post(path, { ...fields, form_token: await formTokenOf(visitor), confirmed: 'yes' });
};

test('somebody is added by a link that works once, with that role in that store alone', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const ada = await member(dashboard, 'Ada');
    const team = teamOf(dashboard);
    const review = await ada.submit(settingsOf(dashboard), team, { name: 'Grace', role: 'staff' });
    const [, token = ''] = /\/link\/([\w-]+)/.exec((await confirm(ada, team, review)).text) ?? [];
    const grace = dashboard.visitor();
    const claim = () => grace.post(`/link/${token}`, { password: PASSWORD, code: dashboard.code(token) });
    assert.is((await claim()).status, 200);
    assert.is((await claim()).status, 404);
    assert.is((await grace.get(`/s/${api.merchantId}/test/payments`)).status, 200);
    assert.is((await grace.get(settingsOf(dashboard))).status, 404, 'staff do not manage the team');
    const taken = await ada.submit(settingsOf(dashboard), team, { name: 'grace', role: 'owner' });
    assert.match(alertOf(taken.text), 'That name is taken');
    assert.is(await roleOf(dashboard, 'Grace'), 'staff');
    assert.is((await ada.submit(settingsOf(dashboard), team, { name: 'Eve', role: 'operator' })).status, 400);
  }));

test('two owners who remove each other at once leave one', () =>
  withDashboard(async (dashboard) => {
    const storeId = await dashboard.api.addMerchant();
    const [ada, bob] = await Promise.all(
      ['Ada', 'Bob'].map((name) => dashboard.person(name, { role: 'owner', storeId })),
    );
    assert.ok(ada && bob);
    const team = `/s/${storeId}/test/settings/people`;
    await Promise.all([forced(ada, `${team}/remove`, { name: 'Bob' }), forced(bob, `${team}/remove`, { name: 'Ada' })]);
    const people = await dashboard.api.database().people.list();
    const owners = people.filter(
      ({ removedAtMs, memberships }) =>
        removedAtMs === null && memberships.some((one) => one.storeId === storeId && one.role === 'owner'),
    );
    assert.is(owners.length, 1);
  }));

test('an owner removes a member by name, who loses the store at once, and the account without another role', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const ada = await member(dashboard, 'Ada');
    const mary = await member(dashboard, 'Mary', 'staff');
    const payments = `/s/${api.merchantId}/test/payments`;
    const remove = `${teamOf(dashboard)}/remove`;
    await member(dashboard, 'Bob');
    const answer = await forced(ada, remove, { name: 'Ada' });
    assert.match(alertOf(answer.text), 'Nobody removes themselves');
    assert.is((await forced(mary, remove, { name: 'Ada' })).status, 404);
    assert.is(await roleOf(dashboard, 'Ada'), 'owner');
    const review = await ada.submit(settingsOf(dashboard), remove, { name: 'Mary' });
    assert.is((await mary.get(payments)).status, 200);
    assert.is((await confirm(ada, remove, review)).status, 303);
    assert.is((await mary.get(payments)).status, 303, 'signed out');
    assert.is(await api.database().people.find('Mary'), null, 'the name can be given again');

    const shared = await member(dashboard, 'Eve', 'staff');
    const act = { atMs: 1, operator: 'root', command: 'user role', reason: null };
    await api.database().people.setMembership(shared.id, { role: 'owner', storeId: await api.addMerchant() }, act);
    assert.is((await forced(ada, remove, { name: 'Eve' })).status, 303);
    assert.is((await shared.get(payments)).status, 404);
    assert.is((await shared.get('/account')).status, 200, 'an account with another role stays');

    await dashboard.person('Joan', { role: 'owner', storeId: await api.addMerchant() });
    assert.is((await forced(ada, remove, { name: 'Joan' })).status, 404);
  }));

test.run();
