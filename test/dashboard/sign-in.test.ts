/**
 * Signing in to the dashboard over real HTTP, and every way around it that is known from other products.
 */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { newSecretOf } from '../../src/dashboard/second-factor.ts';
import { SANDBOX_PERSON } from '../../src/database/people.ts';
import { hashOf } from '../../src/lib/id.ts';
import { network, token } from '../support/api-server.ts';
import {
  type Answer,
  confirm,
  type Dashboard,
  formTokenOf,
  PASSWORD,
  plainNetwork,
  withDashboard,
} from '../support/dashboard.ts';
import { codeAt } from '../support/link-secret.ts';
import { alertOf, asksFactor, factsOf, noticeOf, titleOf } from '../support/read-page.ts';

const CHANGE = '/sign-in?change=yes';
const NEW_PASSWORD = 'seven kettles under velvet';
const SUDO_ENDED_MS = 11 * 60_000;
const operator = { role: 'operator', storeId: null } as const;
const LINK = 'L'.repeat(43);
const act = { operator: 'sandbox', command: 'start', reason: null };
const isSignedIn = (status: number) => status === 200;

const signIn = (dashboard: Dashboard, name: string, password: string, code: string) =>
  dashboard.visitor().post('/sign-in', { name, password, code });

test('a link sets password and second factor once, and signs in', () =>
  withDashboard(async (dashboard) => {
    const { token } = await dashboard.invite('Ada', operator);
    const browser = dashboard.visitor();
    const page = await browser.get(`/link/${token}`);
    assert.equal([titleOf(page.text), page.text.includes('<svg class="qr"')], ['Welcome, Ada', true]);
    const claimed = await browser.post(`/link/${token}`, { password: PASSWORD, code: dashboard.code(token) });
    assert.is(codesOf(claimed).length, 10);
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
    const newer = { hash: 'x'.repeat(64), salt: 'salt', expiresAtMs: api.clock.nowMs() + 3_600_000 };
    const act = { atMs: api.clock.nowMs(), operator: 'root', command: 'user reset', reason: null };
    await api.database().people.addLink(id, newer, act);
    assert.is((await dashboard.visitor().get(`/link/${token}`)).status, 404, 'replaced');
    const second = await dashboard.invite('Grace', operator);
    api.clock.advance(3_600 * 1000);
    assert.is((await dashboard.visitor().get(`/link/${second.token}`)).status, 404, 'too old');
    const third = await dashboard.invite('Mary', operator);
    assert.is(await api.database().people.remove(third.id, act), true);
    assert.is((await dashboard.visitor().get(`/link/${third.token}`)).status, 404, 'removed');
  }));

test('the link of a sandbox signs in once, and nowhere else', async () => {
  for (const sandbox of [true, false]) {
    await withDashboard(
      async ({ api, visitor }) => {
        const { people } = api.database();
        const at = { ...act, atMs: api.clock.nowMs() };
        const membership = { role: 'owner', storeId: api.merchantId } as const;
        await people.add({ id: SANDBOX_PERSON, name: 'Sandbox', membership, createdAtMs: at.atMs }, at);
        const link = { hash: hashOf(LINK), salt: null, expiresAtMs: at.atMs + 60_000 };
        await people.addLink(SANDBOX_PERSON, link, at);
        const claimed = await visitor().post(`/link/${LINK}`, { password: PASSWORD, later: 'yes' });
        assert.is(claimed.status, 404, 'sets nothing');
        const browser = visitor();
        const { status, headers } = await browser.get(`/link/${LINK}`);
        assert.is(status, sandbox ? 303 : 404);
        if (!sandbox) return;
        assert.is((await browser.get(headers.get('location') ?? '')).status, 200);
        assert.is((await visitor().get(`/link/${LINK}`)).status, 404, 'used up');
        const [entry] = await api.database().audit.list(1);
        assert.equal([entry?.operator, entry?.command], ['Sandbox (dashboard)', 'use a one-time link']);
        await people.addLink(SANDBOX_PERSON, link, at);
        assert.is((await browser.get('/account')).status, 200, 'a new link ends no session');
        api.clock.advance(60_000);
        assert.is((await visitor().get(`/link/${LINK}`)).status, 404, 'too old');
      },
      { networks: [{ ...plainNetwork, sandbox }] },
    );
  }
});

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
      Array.from({ length: 10 }, () => dashboard.api.database().people.attempt('Ada', clock.nowMs())),
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
    const code = codeAt(newSecretOf(ada.token, ''), api.clock.nowMs());
    assert.is((await thief.post('/sign-in', { name: 'Ada', password: PASSWORD, code })).status, 403);
    const right = await thief.post('/sign-in', { name: 'Ada', password: PASSWORD, code: dashboard.code(ada.token) });
    assert.is(right.status, 303);
  }));

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
    await dashboard.api.database().people.addLink(joan.id, link, act);
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
    assert.match(noticeOf(form), 'Your session has ended');
    const signIn = () => ({ name: 'Ada', password: PASSWORD, code: dashboard.code(ada.token) });
    assert.is((await ada.post(asked, signIn())).headers.get('location'), page);

    const fresh = dashboard.visitor();
    assert.is(noticeOf((await fresh.get((await fresh.get(page)).headers.get('location') ?? '')).text), '');
    for (const to of ['//evil.example', '/\\evil.example', 'https://evil.example/', '/sign-out', '/a b', '/\n']) {
      dashboard.api.clock.advance(31_000);
      const { headers } = await fresh.post(`/sign-in?${new URLSearchParams({ to })}`, signIn());
      assert.is(headers.get('location'), '/', to);
    }
  }));

test('a weak password is refused with the reason, and the link still works', () =>
  withDashboard(async (dashboard) => {
    const { token } = await dashboard.invite('Adalovelace', operator);
    const claim = (password: string) =>
      dashboard.visitor().post(`/link/${token}`, { password, code: dashboard.code(token) });
    const { status, text } = await claim('adalovelace12');
    assert.equal([status, alertOf(text) !== ''], [400, true]);
    assert.is((await claim(PASSWORD)).status, 200);
  }));

const codesOf = ({ text }: Answer): readonly string[] =>
  [...text.matchAll(/<li><code>([A-Z2-7-]{19})</g)].map(([, code = '']) => code);

/** Returns the secret (hex) that a page shows to be typed into an app. */
function secretOf({ text }: Answer): string {
  const typed = (/<code>((?:[A-Z2-7]{4} ){7}[A-Z2-7]{4})</.exec(text)?.[1] ?? '').replaceAll(' ', '');
  const bits = [...typed].map((char) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(char).toString(2).padStart(5, '0'));
  return Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2))).toString('hex');
}

/** Sets a password and the app that the page of a link shows. */
async function claim(dashboard: Dashboard, link: string, password = PASSWORD) {
  const visitor = dashboard.visitor();
  const secret = secretOf(await visitor.get(link));
  const codeNow = () => codeAt(secret, dashboard.api.clock.nowMs());
  return { ...visitor, codeNow, claimed: await visitor.post(link, { password, code: codeNow() }) };
}

test('what somebody signs in with is replaced by a link, which proves who they are and ends all that was before', () =>
  withDashboard(async (dashboard) => {
    const { clock, database } = dashboard.api;
    const ada = await dashboard.person('Ada', operator);
    assert.match((await ada.get('/account')).text, `href="${CHANGE}"`);
    clock.advance(31_000);
    const proof = { name: 'Ada', password: PASSWORD };
    assert.is((await ada.post(CHANGE, { ...proof, code: '000000' })).status, 403, 'without the second factor');
    assert.is((await ada.post(CHANGE, { ...proof, password: 'x', code: dashboard.code(ada.token) })).status, 403);
    assert.is((await ada.get('/account')).status, 200, 'nothing has changed');
    clock.advance(31_000);
    const proved = await ada.post(CHANGE, { ...proof, code: dashboard.code(ada.token) });
    const link = proved.headers.get('location') ?? '';
    assert.match(link, /^\/link\/[\w-]{43}$/);
    assert.is((await ada.get('/account')).status, 303, 'its sessions have ended');
    const again = await claim(dashboard, link, NEW_PASSWORD);
    assert.is(codesOf(again.claimed).length, 10);
    assert.is(factsOf((await again.get('/account')).text)['Recovery codes left'], '10');
    clock.advance(31_000);
    assert.is((await signIn(dashboard, 'Ada', NEW_PASSWORD, dashboard.code(ada.token))).status, 403, 'the app before');
    assert.is((await signIn(dashboard, 'Ada', PASSWORD, again.codeNow())).status, 403, 'the password before');
    assert.is((await signIn(dashboard, 'Ada', NEW_PASSWORD, again.codeNow())).status, 303);
    const entries = await database().audit.list(50);
    assert.ok(entries.some(({ command, after }) => command === 'use a one-time link' && after?.password === 'set'));
    for (const text of [PASSWORD, NEW_PASSWORD, 'scrypt']) assert.not.match(JSON.stringify(entries), text);
  }));

test('a recovery code confirms nothing; it signs nobody in, and leads to a link for a new password and app', () =>
  withDashboard(async (dashboard) => {
    const { clock, database, merchantId } = dashboard.api;
    const { token } = await dashboard.invite('Ada', { role: 'owner', storeId: merchantId });
    const ada = dashboard.visitor();
    const codes = codesOf(await ada.post(`/link/${token}`, { password: PASSWORD, code: dashboard.code(token) }));
    const [code = '', another = ''] = codes;
    clock.advance(SUDO_ENDED_MS);
    const page = `/s/${merchantId}/test/developers`;
    const asked = await ada.submit(page, `${page}/keys`, { name: 'Shop', 'sessions:read': 'on' });
    const refused = await confirm(ada, `${page}/keys`, asked, { code });
    assert.match(alertOf(refused.text), 'does not confirm this');

    assert.is((await signIn(dashboard, 'Ada', 'not the password', code)).status, 403);
    assert.is((await signIn(dashboard, 'Ada', PASSWORD, 'AAAA-AAAA-AAAA-AAAA')).status, 403, 'no such code');
    const recovering = await signIn(dashboard, 'Ada', PASSWORD, code.toLowerCase());
    const link = recovering.headers.get('location') ?? '';
    assert.match(link, /^\/link\/[\w-]{43}$/);
    assert.is(recovering.headers.get('set-cookie'), null, 'no session begins');
    assert.is((await ada.get('/account')).status, 303, 'where the lost app was signed in is signed out');
    assert.is((await signIn(dashboard, 'Ada', PASSWORD, code)).status, 403, 'used');
    assert.ok((await database().alarms.list(9)).some((one) => one.code === 'recovery_code_used'));

    const again = await claim(dashboard, link, NEW_PASSWORD);
    assert.is(codesOf(again.claimed).length, 10);
    assert.is((await dashboard.visitor().get(link)).status, 404, 'works once');
    clock.advance(31_000);
    assert.is((await signIn(dashboard, 'Ada', NEW_PASSWORD, another)).status, 403, 'the codes of before have ended');
    assert.is((await signIn(dashboard, 'Ada', NEW_PASSWORD, again.codeNow())).status, 303);
  }));

const real = network('test', 'sepolia', '11155111', [token('1', 'USDT', 6)]);

test('with simulated networks only a password is enough; from the first that is not, a factor is set up first', async () => {
  const networks = [{ ...plainNetwork, sandbox: true }];
  await withDashboard(
    async (dashboard) => {
      const { api } = dashboard;
      const { token, id } = await dashboard.invite('Ada', { role: 'owner', storeId: api.merchantId });
      const ada = dashboard.visitor();
      assert.match((await ada.get(`/link/${token}`)).text, 'Set it up later');
      const claimed = await ada.post(`/link/${token}`, { password: PASSWORD, later: 'yes' });
      assert.equal([claimed.status, claimed.headers.get('location')], [303, '/']);
      assert.is((await signIn(dashboard, 'Ada', 'something else', '')).status, 403);
      const askKey = async (mode: string) => {
        const page = `/s/${api.merchantId}/${mode}/developers`;
        const review = await ada.submit(page, `${page}/keys`, { name: 'Shop', 'sessions:read': 'on' });
        return { page, review };
      };
      const { page, review } = await askKey('test');
      assert.is(asksFactor(review.text), false);
      assert.match((await confirm(ada, `${page}/keys`, review)).text, 'sk_test_');
      const live = await askKey('live');
      assert.is(live.review.headers.get('location')?.split('?')[0], '/account', 'a live key needs a factor');
      const sent = { form_token: await formTokenOf(ada), passkey: '{}', name: 'x' };
      assert.is((await ada.post('/account/passkeys', sent)).status, 400, 'an app comes first');

      networks.push({ ...real, sandbox: false });
      for (const path of ['/', '/account']) {
        assert.match((await ada.get(path)).headers.get('location') ?? '', /^\/sign-in/, path);
      }
      assert.is((await ada.get('/sign-in')).status, 200);
      const before = await api.database().people.attempt('Ada', api.clock.nowMs());
      const link = (await signIn(dashboard, 'Ada', PASSWORD, '')).headers.get('location') ?? '';
      assert.not.match((await dashboard.visitor().get(link)).text, 'Set it up later');
      const late = await dashboard.visitor().post(link, { password: PASSWORD, later: 'yes' });
      assert.is(late.status, 400, 'nor by a form of one’s own');
      const again = await claim(dashboard, link);
      assert.is((await again.get('/account')).status, 200);
      assert.is((await signIn(dashboard, 'Ada', PASSWORD, '')).status, 403);
      const session = { hash: 'h', formToken: 't', personId: id, sudoUntilMs: 0 };
      const times = { startedAtMs: api.clock.nowMs(), seenAtMs: api.clock.nowMs() };
      const act = { atMs: api.clock.nowMs(), operator: 'Ada (dashboard)', command: 'sign in', reason: null };
      const proved = { factor: null, password: before?.password ?? '', address: '::1' };
      assert.is(await api.database().people.complete({ ...session, ...times }, proved, act), false, 'a sign-in before');
    },
    { networks },
  );
});

test.run();
