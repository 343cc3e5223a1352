/**
 * Signing in to the dashboard over real HTTP, and every way around it that is known from other products.
 */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { codeOf, newSecretOf, stepAt } from '../../src/dashboard/second-factor.ts';
import { type Dashboard, PASSWORD, withDashboard } from '../support/dashboard.ts';

const operator = { role: 'operator', storeId: null } as const;
const isSignedIn = (status: number) => status === 200;

const signIn = (dashboard: Dashboard, name: string, password: string, code: string) =>
  dashboard.visitor().post('/sign-in', { name, password, code });

test('a link sets password and second factor once, and signs in', () =>
  withDashboard(async (dashboard) => {
    const { token } = await dashboard.invite('Ada', operator);
    const browser = dashboard.visitor();
    const page = await browser.get(`/link/${token}`);
    assert.is(page.status, 200);
    assert.match(page.text, 'Welcome, Ada');
    assert.match(page.text, '<svg class="qr"');
    const claimed = await browser.post(`/link/${token}`, { password: PASSWORD, code: dashboard.code(token) });
    assert.is(claimed.status, 200);
    assert.is([...claimed.text.matchAll(/<li><code>[A-Z2-7-]{19}<\/code>/g)].length, 10);
    assert.ok(isSignedIn((await browser.get('/operator')).status));
    assert.is((await dashboard.visitor().get(`/link/${token}`)).status, 404, 'used up');
  }));

test('of twenty claims at once one makes the account', () =>
  withDashboard(async (dashboard) => {
    const { token } = await dashboard.invite('Ada', operator);
    const code = dashboard.code(token);
    const claims: number[] = [];
    // Two passwords are computed at a time; whoever is told to come again does.
    const claim = async (): Promise<void> => {
      const { status } = await dashboard.visitor().post(`/link/${token}`, { password: PASSWORD, code });
      if (status === 503) return claim();
      claims.push(status);
    };
    await Promise.all(Array.from({ length: 20 }, claim));
    assert.is(claims.filter((status) => status === 200).length, 1);
    assert.is(claims.filter((status) => status === 404).length, 19);
  }));

test('a link ends after an hour, with a newer one, and with the account', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const { id, token } = await dashboard.invite('Ada', operator);
    const newer = {
      hash: 'x'.repeat(64),
      salt: 'salt',
      expiresAtMs: api.clock.nowMs() + 3_600_000,
    };
    const act = { atMs: api.clock.nowMs(), operator: 'root', command: 'user reset', reason: null };
    await api.database().signIns.addLink(id, newer, act);
    assert.is((await dashboard.visitor().get(`/link/${token}`)).status, 404, 'replaced');
    const second = await dashboard.invite('Grace', operator);
    api.clock.advance(3_600 * 1000);
    assert.is((await dashboard.visitor().get(`/link/${second.token}`)).status, 404, 'too old');
    const third = await dashboard.invite('Mary', operator);
    assert.is(await api.database().people.remove(third.id, act), true);
    assert.is((await dashboard.visitor().get(`/link/${third.token}`)).status, 404, 'removed');
  }));

test('password, code and name must all be right, and the answer never says which is not', () =>
  withDashboard(async (dashboard) => {
    const { token } = await dashboard.person('Ada', operator);
    dashboard.api.clock.advance(60 * 1000);
    const code = dashboard.code(token);
    const wrong = [
      await signIn(dashboard, 'Ada', 'something else', code),
      await signIn(dashboard, 'Ada', PASSWORD, '000000'),
      await signIn(dashboard, 'Nobody', PASSWORD, code),
      await signIn(dashboard, 'Ada', PASSWORD, ''),
    ];
    // Each page has a challenge of its own for passkeys.
    const said = wrong.map(({ status, text }) => `${status} ${text.replace(/data-passkey="[^"]*"/, '')}`);
    assert.is(new Set(said).size, 1);
    assert.is(wrong[0]?.status, 403);
    assert.is((await signIn(dashboard, 'ada', PASSWORD, code)).status, 303, 'in any case of the name');
  }));

test('a one-time code works once, also at once in two browsers, and not after setting up with it', () =>
  withDashboard(async (dashboard) => {
    const { token } = await dashboard.person('Ada', operator);
    assert.is((await signIn(dashboard, 'Ada', PASSWORD, dashboard.code(token))).status, 403, 'used to set up');
    dashboard.api.clock.advance(30 * 1000);
    const code = dashboard.code(token);
    const both = await Promise.all([
      signIn(dashboard, 'Ada', PASSWORD, code),
      signIn(dashboard, 'Ada', PASSWORD, code),
    ]);
    assert.equal(both.map(({ status }) => status).sort(), [303, 403]);
  }));

test('wrong attempts make the account wait, and attempts at once do not outrun that', () =>
  withDashboard(async (dashboard) => {
    const { token } = await dashboard.person('Ada', operator);
    const { clock } = dashboard.api;
    for (let attempt = 0; attempt < 5; attempt++) await signIn(dashboard, 'Ada', 'wrong', '000000');
    clock.advance(30 * 1000);
    const begun = await Promise.all(
      Array.from({ length: 10 }, () => dashboard.api.database().signIns.attempt('Ada', clock.nowMs())),
    );
    assert.is(begun.filter((secrets) => secrets !== null).length, 1, 'one attempt, then a wait');
    assert.is((await signIn(dashboard, 'Ada', PASSWORD, dashboard.code(token))).status, 403, 'right, but it waits');
    clock.advance(900 * 1000);
    assert.is((await signIn(dashboard, 'Ada', PASSWORD, dashboard.code(token))).status, 303);
  }));

test('an address has twenty attempts, then one every three seconds', () =>
  withDashboard(async (dashboard) => {
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 22; attempt++) {
      statuses.push((await signIn(dashboard, 'Nobody', 'wrong', '000000')).status);
    }
    assert.equal(statuses.slice(0, 20), Array(20).fill(403));
    assert.equal(statuses.slice(20), [429, 429]);
  }));

test('whoever finds a used link cannot make the codes of its second factor', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const ada = await dashboard.person('Ada', operator);
    const thief = dashboard.visitor();
    assert.is((await thief.get(`/link/${ada.token}`)).status, 404, 'the link is used');
    api.clock.advance(60_000);
    const dump = readFileSync(api.file).toString('latin1');
    const salts = new Set(['', 'one-time codes', ada.id, ...(dump.match(/[A-Za-z0-9_-]{43}/g) ?? [])]);
    const real = dashboard.secret(ada.token);
    assert.not.ok(
      [...salts].some((salt) => newSecretOf(ada.token, salt) === real),
      'nor with a copy of the database',
    );
    const code = codeOf(newSecretOf(ada.token, ''), stepAt(api.clock.nowMs()));
    assert.is((await thief.post('/sign-in', { name: 'Ada', password: PASSWORD, code })).status, 403);
    const right = await thief.post('/sign-in', { name: 'Ada', password: PASSWORD, code: dashboard.code(ada.token) });
    assert.is(right.status, 303);
  }));

test('codes are those of RFC 6238, appendix B', () => {
  const secret = Buffer.from('12345678901234567890').toString('hex');
  for (const [seconds, code] of [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
  ] as const) {
    assert.is(codeOf(secret, stepAt(seconds * 1000)), code);
  }
});

test('a session ends after thirty minutes without use, after eight hours, by hand, and with a reset', () =>
  withDashboard(async (dashboard) => {
    const { clock } = dashboard.api;
    const ada = await dashboard.person('Ada', operator);
    clock.advance(29 * 60 * 1000);
    assert.ok(isSignedIn((await ada.get('/operator')).status));
    clock.advance(31 * 60 * 1000);
    assert.is((await ada.get('/operator')).status, 303, 'idle');
    const grace = await dashboard.person('Grace', operator);
    for (let step = 0; step < 8 * 3; step++) {
      assert.ok(isSignedIn((await grace.get('/operator')).status));
      clock.advance(20 * 60 * 1000);
    }
    assert.is((await grace.get('/operator')).status, 303, 'eight hours');
    const mary = await dashboard.person('Mary', operator);
    const before = mary.cookie();
    assert.is((await mary.submit('/account', '/sign-out')).status, 303);
    assert.is((await dashboard.visitor().get('/operator', { cookie: before })).status, 303, 'signed out');
    const joan = await dashboard.person('Joan', operator);
    const act = { atMs: clock.nowMs(), operator: 'root', command: 'user reset', reason: null };
    const link = { hash: 'x'.repeat(64), salt: 'salt', expiresAtMs: clock.nowMs() + 1000 };
    await dashboard.api.database().signIns.addLink(joan.id, link, act);
    assert.is((await joan.get('/operator')).status, 303, 'reset');
  }));

test('an address survives the sign-in, and a session that has ended is said; no other site is led to', () =>
  withDashboard(async (dashboard) => {
    const ada = await dashboard.person('Ada', operator);
    dashboard.api.clock.advance(31 * 60 * 1000);
    const page = '/operator/audit?who=Ada&what=a%20b';
    const asked = (await ada.get(page)).headers.get('location') ?? '';
    assert.match(asked, /^\/sign-in\?to=/);
    const form = (await ada.get(asked)).text;
    assert.match(form, 'Your session has ended');
    const action = /<form method="post" action="([^"]+)"/.exec(form)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const signIn = { name: 'Ada', password: PASSWORD, code: dashboard.code(ada.token) };
    assert.is((await ada.post(action, signIn)).headers.get('location'), page);

    const fresh = dashboard.visitor();
    assert.not.match((await fresh.get((await fresh.get(page)).headers.get('location') ?? '')).text, 'has ended');
    for (const to of ['//evil.example', '/\\evil.example', 'https://evil.example/', '/sign-out', '/a b', '/\n']) {
      const { text } = await fresh.get(`/sign-in?${new URLSearchParams({ to })}`);
      assert.match(text, 'action="/sign-in"', to);
    }
  }));

test('what is not there is said with the menu, to whoever is signed in', () =>
  withDashboard(async (dashboard) => {
    const ada = await dashboard.person('Ada', operator);
    for (const path of ['/nothing', '/s/mer_none/test/overview', '/operator/payouts/none']) {
      const { status, text } = await ada.get(path);
      assert.is(status, 404, path);
      assert.match(text, 'There is no such page');
      assert.match(text, 'href="/operator/money"', 'the menu');
    }
    const stranger = await dashboard.visitor().get('/nothing');
    assert.is(stranger.status, 404);
    assert.not.match(stranger.text, 'class="menu"');
  }));

test('one session ends another', () =>
  withDashboard(async (dashboard) => {
    const here = await dashboard.person('Ada', operator);
    dashboard.api.clock.advance(60 * 1000);
    const there = dashboard.visitor();
    await there.post('/sign-in', { name: 'Ada', password: PASSWORD, code: dashboard.code(here.token) });
    assert.ok(isSignedIn((await there.get('/operator')).status));
    assert.is((await here.submit('/account', '/account/sessions/end')).status, 303);
    assert.is((await there.get('/operator')).status, 303);
    assert.ok(isSignedIn((await here.get('/operator')).status));
  }));

test('weak passwords are refused with the reason, and the link still works', () =>
  withDashboard(async (dashboard) => {
    const { token } = await dashboard.invite('Adalovelace', operator);
    const claim = (password: string) =>
      dashboard.visitor().post(`/link/${token}`, { password, code: dashboard.code(token) });
    for (const password of [
      'short',
      'aaaaaaaaaaaaaaaa',
      '1234567890123',
      'qwertyuiopasdf',
      'adalovelace12',
      'quaysidequayside',
    ]) {
      const { status, text } = await claim(password);
      assert.is(status, 400, password);
      assert.match(text, /role="alert"/);
    }
    assert.is((await claim(PASSWORD)).status, 200);
  }));

test.run();
