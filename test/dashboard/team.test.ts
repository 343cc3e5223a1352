/** The team of a store: invited by one-time link; nobody raises their own rights, and the last owner stays. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, type Dashboard, PASSWORD, type Visitor, withDashboard } from '../support/dashboard.ts';

const hidden = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
      name,
      value,
    ]),
  );
const confirm = (visitor: Visitor, path: string, { text }: Answer, more = {}): Promise<Answer> =>
  visitor.post(path, { ...hidden(text.slice(text.indexOf('class="card confirm"'))), ...more });

type Member = Visitor & Readonly<{ id: string }>;
const teamOf = ({ api }: Dashboard) => `/s/${api.merchantId}/test/team`;
const member = (dashboard: Dashboard, name: string, role: 'owner' | 'support' = 'owner'): Promise<Member> =>
  dashboard.person(name, { role, storeId: dashboard.api.merchantId });
const roleOf = async ({ api }: Dashboard, name: string) =>
  (await api.database().findPerson(name))?.memberships.find(({ storeId }) => storeId === api.merchantId)?.role ?? null;

/** Posts as somebody would who made the form up. */
const forced = async (visitor: Visitor, path: string, fields: Record<string, string> = {}): Promise<Answer> => {
  const { form_token = '' } = hidden((await visitor.get('/account')).text);
  return visitor.post(path, { ...fields, form_token, confirmed: 'yes' });
};

test('an invitation is a link that works once, with that role in that store alone', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const ada = await member(dashboard, 'Ada');
    const team = teamOf(dashboard);
    const review = await ada.submit(team, team, { name: 'Grace', role: 'support' });
    assert.match(review.text, 'Invite Grace?');
    const clicks = await Promise.all([1, 2].map(() => confirm(ada, team, review)));
    const links = new Set(clicks.map(({ text }) => /value="[^"]*\/link\/([\w-]{43})"/.exec(text)?.[1]));
    assert.is(links.size, 1, 'two clicks, one link');
    const token = [...links][0] ?? '';
    const grace = dashboard.visitor();
    const claim = () => grace.post(`/link/${token}`, { password: PASSWORD, code: dashboard.code(token) });
    assert.is((await claim()).status, 200);
    assert.is((await claim()).status, 404);
    assert.is((await grace.get(`/s/${api.merchantId}/test/payments`)).status, 200);
    assert.is((await grace.get(team)).status, 404, 'support does not manage the team');
    api.clock.advance(60_000);
    const later = await confirm(ada, team, review);
    assert.is(later.status, 303, 'not shown again');
    const taken = await ada.submit(team, team, { name: 'grace', role: 'owner' });
    assert.match((await confirm(ada, team, taken)).text, 'That name is taken');
    assert.is(await roleOf(dashboard, 'Grace'), 'support');
    for (const fields of [
      { name: '<b>', role: 'owner' },
      { name: 'Eve', role: 'operator' },
    ]) {
      assert.is((await ada.submit(team, team, fields)).status, 400);
    }
    const entry = (await api.database().listAudit(30)).find(({ command }) => command === 'invite to team');
    assert.is(entry?.operator, 'Ada (dashboard)');
  }));

test('nobody changes their own role or removes themselves', () =>
  withDashboard(async (dashboard) => {
    const ada = await member(dashboard, 'Ada');
    await member(dashboard, 'Bob');
    const path = `${teamOf(dashboard)}/${ada.id}`;
    for (const [act, fields] of [
      ['role', { role: 'support' }],
      ['remove', { typed: 'Ada' }],
    ] as const) {
      const answer = await forced(ada, `${path}/${act}`, fields);
      assert.is(answer.status, 400);
      assert.match(answer.text, 'Nobody changes their own role');
    }
    const support = await member(dashboard, 'Eve', 'support');
    assert.is((await forced(support, `${teamOf(dashboard)}/${support.id}/role`, { role: 'owner' })).status, 404);
    assert.equal([await roleOf(dashboard, 'Ada'), await roleOf(dashboard, 'Eve')], ['owner', 'support']);
  }));

test('two owners who demote or remove each other at once leave one', () =>
  withDashboard(async (dashboard) => {
    for (const [act, fields] of [
      ['role', { role: 'support' }],
      ['remove', {}],
    ] as const) {
      const storeId = await dashboard.api.addMerchant();
      const names = [`Ada ${act}`, `Bob ${act}`];
      const [ada, bob] = await Promise.all(names.map((name) => dashboard.person(name, { role: 'owner', storeId })));
      assert.ok(ada && bob);
      const team = `/s/${storeId}/test/team`;
      await Promise.all([
        forced(ada, `${team}/${bob.id}/${act}`, { ...fields, typed: names[1] ?? '' }),
        forced(bob, `${team}/${ada.id}/${act}`, { ...fields, typed: names[0] ?? '' }),
      ]);
      const people = await dashboard.api.database().listPeople();
      const owners = people.filter(({ memberships }) =>
        memberships.some((one) => one.storeId === storeId && one.role === 'owner'),
      );
      assert.is(owners.length, 1, act);
    }
  }));

test('a member is removed by name, loses the store at once, and can be signed out', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const ada = await member(dashboard, 'Ada');
    const eve = await member(dashboard, 'Eve', 'support');
    const path = `${teamOf(dashboard)}/${eve.id}`;
    const payments = `/s/${api.merchantId}/test/payments`;
    await ada.submit(teamOf(dashboard), `${path}/sign-out`);
    assert.is((await eve.get(payments)).status, 303, 'signed out');
    const mary = await member(dashboard, 'Mary', 'support');
    const remove = `${teamOf(dashboard)}/${mary.id}/remove`;
    const review = await ada.submit(teamOf(dashboard), remove);
    assert.is((await confirm(ada, remove, review, { typed: 'mary' })).status, 403);
    assert.is((await mary.get(payments)).status, 200);
    assert.is((await confirm(ada, remove, review, { typed: 'Mary' })).status, 303);
    assert.is((await mary.get(payments)).status, 404);
    const stranger = await dashboard.person('Joan', { role: 'owner', storeId: await api.addMerchant() });
    for (const act of ['role', 'remove', 'sign-out', 'link']) {
      assert.is((await forced(ada, `${teamOf(dashboard)}/${stranger.id}/${act}`)).status, 404, act);
    }
  }));

test('a new link is made only for an account that was never set up, and that is nobody else’s member', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const ada = await member(dashboard, 'Ada');
    const bob = await member(dashboard, 'Bob');
    const refused = await forced(ada, `${teamOf(dashboard)}/${bob.id}/link`);
    assert.is(refused.status, 400);
    const shared = await dashboard.invite('Joan', { role: 'support', storeId: api.merchantId });
    const act = { atMs: 1, operator: 'root', command: 'user role', reason: null };
    await api.database().setMembership(shared.id, { role: 'operator', storeId: null }, act);
    assert.is((await forced(ada, `${teamOf(dashboard)}/${shared.id}/link`)).status, 400, 'an operator to be');
    const waiting = await dashboard.invite('Mary', { role: 'support', storeId: api.merchantId });
    const made = await forced(ada, `${teamOf(dashboard)}/${waiting.id}/link`);
    const token = /\/link\/([\w-]{43})"/.exec(made.text)?.[1] ?? '';
    assert.is((await dashboard.visitor().get(`/link/${waiting.token}`)).status, 404, 'the earlier one ended');
    assert.is((await dashboard.visitor().get(`/link/${token}`)).status, 200);
  }));

test.run();
