/** The team of a store: a one-time link for each new person; nobody removes themselves, and the last owner stays. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Answer,
  confirm,
  type Dashboard,
  formTokenOf,
  PASSWORD,
  type Visitor,
  withDashboard,
} from '../support/dashboard.ts';
import { alertOf, factsOf } from '../support/read-page.ts';

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
    const made = Object.values(factsOf((await confirm(ada, team, review)).text));
    const token =
      made
        .find((one) => one.includes('/link/'))
        ?.split('/')
        .at(-1) ?? '';
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
    const entry = (await api.database().audit.list(30)).find(({ command }) => command === 'user link');
    assert.is(entry?.operator, 'Ada (dashboard)');
  }));

test('nobody removes themselves, and only an owner removes others', () =>
  withDashboard(async (dashboard) => {
    const ada = await member(dashboard, 'Ada');
    await member(dashboard, 'Bob');
    const answer = await forced(ada, `${teamOf(dashboard)}/remove`, { name: 'Ada', typed: 'Ada' });
    assert.match(alertOf(answer.text), 'Nobody removes themselves');
    const eve = await member(dashboard, 'Eve', 'staff');
    assert.is((await forced(eve, `${teamOf(dashboard)}/remove`, { name: 'Ada', typed: 'Ada' })).status, 404);
    assert.equal([await roleOf(dashboard, 'Ada'), await roleOf(dashboard, 'Eve')], ['owner', 'staff']);
  }));

test('two owners who remove each other at once leave one', () =>
  withDashboard(async (dashboard) => {
    const storeId = await dashboard.api.addMerchant();
    const [ada, bob] = await Promise.all(
      ['Ada', 'Bob'].map((name) => dashboard.person(name, { role: 'owner', storeId })),
    );
    assert.ok(ada && bob);
    const team = `/s/${storeId}/test/settings/people`;
    await Promise.all([
      forced(ada, `${team}/remove`, { name: 'Bob', typed: 'Bob' }),
      forced(bob, `${team}/remove`, { name: 'Ada', typed: 'Ada' }),
    ]);
    const people = await dashboard.api.database().people.list();
    const owners = people.filter(
      ({ removedAtMs, memberships }) =>
        removedAtMs === null && memberships.some((one) => one.storeId === storeId && one.role === 'owner'),
    );
    assert.is(owners.length, 1);
  }));

test('a member is removed by name, and loses the store at once; one without another role loses the account', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const ada = await member(dashboard, 'Ada');
    const mary = await member(dashboard, 'Mary', 'staff');
    const payments = `/s/${api.merchantId}/test/payments`;
    const remove = `${teamOf(dashboard)}/remove`;
    const review = await ada.submit(settingsOf(dashboard), remove, { name: 'Mary' });
    assert.is((await confirm(ada, remove, review, { typed: 'mary' })).status, 403);
    assert.is((await mary.get(payments)).status, 200);
    assert.is((await confirm(ada, remove, review, { typed: 'Mary' })).status, 303);
    assert.is((await mary.get(payments)).status, 303, 'signed out');
    assert.is(await api.database().people.find('Mary'), null, 'the name can be given again');

    const shared = await member(dashboard, 'Eve', 'staff');
    const act = { atMs: 1, operator: 'root', command: 'user role', reason: null };
    await api.database().people.setMembership(shared.id, { role: 'owner', storeId: await api.addMerchant() }, act);
    assert.is((await forced(ada, remove, { name: 'Eve', typed: 'Eve' })).status, 303);
    assert.is((await shared.get(payments)).status, 404);
    assert.is((await shared.get('/account')).status, 200, 'an account with another role stays');

    await dashboard.person('Joan', { role: 'owner', storeId: await api.addMerchant() });
    assert.is((await forced(ada, remove, { name: 'Joan', typed: 'Joan' })).status, 404);
  }));

test.run();
