/**
 * Somebody who is signed in changes password, authenticator app and recovery codes, over real HTTP. The second factor
 * may wait while every network is simulated, and nobody passes it once one is not.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { codeOf, stepAt } from '../../src/dashboard/second-factor.ts';
import { network, token } from '../support/api-server.ts';
import {
  type Answer,
  confirm,
  type Dashboard,
  formTokenOf,
  PASSWORD,
  plainNetwork,
  textOf,
  type Visitor,
  withDashboard,
} from '../support/dashboard.ts';

const APP = '/account/app';
const NEW_PASSWORD = 'seven kettles under velvet';
const SUDO_ENDED_MS = 11 * 60_000;
const operator = { role: 'operator', storeId: null } as const;
const real = network('test', 'sepolia', '11155111', [token('1', 'USDT', 6)]);

/** Runs with simulated networks only; `goLive` adds one that is not, as a start with another configuration does. */
async function withSandbox(work: (dashboard: Dashboard, goLive: () => void) => Promise<void>): Promise<void> {
  const networks = [{ ...plainNetwork, sandbox: true }];
  await withDashboard((dashboard) => work(dashboard, () => networks.push(real)), { networks });
}

const codesOf = ({ text }: Answer): readonly string[] =>
  [...text.matchAll(/<li><code>([A-Z2-7-]{19})</g)].map(([, code = '']) => code);

/** Returns the secret (hex) that a page shows to be typed into an app. */
function secretOf({ text }: Answer): string {
  const typed = (/<code>((?:[A-Z2-7]{4} ){7}[A-Z2-7]{4})</.exec(text)?.[1] ?? '').replaceAll(' ', '');
  const bits = [...typed].map((char) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(char).toString(2).padStart(5, '0'));
  return Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2))).toString('hex');
}

const codeNow = (dashboard: Dashboard, secret: string) => codeOf(secret, stepAt(dashboard.api.clock.nowMs()));

async function signIn(dashboard: Dashboard, code: string, password = PASSWORD) {
  const visitor = dashboard.visitor();
  const { status, headers } = await visitor.post('/sign-in', { name: 'Ada', password, code });
  return { ...visitor, status, to: headers.get('location') };
}

/** Somebody who set a password only. */
async function withoutFactor(dashboard: Dashboard, membership: Parameters<Dashboard['invite']>[1]) {
  const { token, id } = await dashboard.invite('Ada', membership);
  const visitor = dashboard.visitor();
  assert.match((await visitor.get(`/link/${token}`)).text, 'Set it up later');
  const claimed = await visitor.post(`/link/${token}`, { password: PASSWORD, later: 'yes' });
  assert.equal([claimed.status, claimed.headers.get('location')], [303, '/']);
  return { ...visitor, id };
}

/** Sets up an app as a page asks for it. */
async function setUp(dashboard: Dashboard, visitor: Visitor, fields: Record<string, string> = {}) {
  const page = await visitor.get(APP);
  const secret = secretOf(page);
  const typed = { current: PASSWORD, new_code: codeNow(dashboard, secret), ...fields };
  return { secret, answer: await confirm(visitor, APP, page, typed) };
}

/** Ada in two browsers. The second factor was proved too long ago in the first. */
async function signedInTwice(dashboard: Dashboard) {
  const ada = await dashboard.person('Ada', operator);
  dashboard.api.clock.advance(SUDO_ENDED_MS);
  const other = await signIn(dashboard, dashboard.code(ada.token));
  assert.is(other.status, 303);
  dashboard.api.clock.advance(31_000);
  return { ada, other };
}

test('the password changes with the present one and the second factor, and ends the other sessions', () =>
  withDashboard(async (dashboard) => {
    const { ada, other } = await signedInTwice(dashboard);
    const typed = { current: PASSWORD, password: NEW_PASSWORD };
    const page = await ada.get(APP);
    const unproved = await confirm(ada, APP, page, { ...typed, password: `${NEW_PASSWORD}!` });
    assert.is(unproved.status, 403, 'without the second factor');
    const code = dashboard.code(ada.token);
    const weak = await confirm(ada, APP, page, { ...typed, code, password: 'quaysidequayside' });
    assert.equal([weak.status, /easy to guess/.test(weak.text)], [400, true]);
    assert.not.match(weak.text, /name="code"/, 'the second factor was proved: it is not asked for once more');
    for (const text of [PASSWORD, 'quaysidequayside']) assert.not.match(weak.text, text, 'no page has what was typed');
    const done = await confirm(ada, APP, weak, typed);
    assert.equal([done.status, done.headers.get('location')?.split('?')[0]], [303, '/account']);
    assert.is((await other.get('/account')).status, 303, 'the other session has ended');
    assert.is((await ada.get('/account')).status, 200, 'this one has not');
    dashboard.api.clock.advance(31_000);
    assert.is((await signIn(dashboard, dashboard.code(ada.token))).status, 403, 'the password of before');
    assert.is((await signIn(dashboard, dashboard.code(ada.token), NEW_PASSWORD)).status, 303);
    const entries = await dashboard.api.database().audit.list(50);
    assert.ok(entries.some(({ command, after }) => command === 'change own secrets' && after?.password === 'set'));
    for (const text of [PASSWORD, NEW_PASSWORD, 'scrypt']) assert.not.match(JSON.stringify(entries), text);
  }));

test('a wrong present password changes nothing, and several make the account wait as at the sign-in', () =>
  withDashboard(async (dashboard) => {
    const { clock } = dashboard.api;
    const ada = await dashboard.person('Ada', operator);
    const page = await ada.get(APP);
    const change = (current: string, more = {}) =>
      confirm(ada, APP, page, { current, password: NEW_PASSWORD, ...more });
    for (let one = 0; one < 6; one++) {
      const { status, text } = await change(`wrong ${one}`);
      assert.equal([status, /not your current password/.test(text)], [400, true]);
    }
    assert.is((await change(PASSWORD)).status, 400, 'right, but the account waits');
    clock.advance(31_000);
    for (let one = 0; one < 3; one++) await change(`again ${one}`);
    assert.is((await signIn(dashboard, dashboard.code(ada.token))).status, 403, 'so does the sign-in');
    clock.advance(900_000);
    assert.is((await change(PASSWORD, { code: dashboard.code(ada.token) })).status, 303);
  }));

test('the app of before works until the new one has shown a code, and not after', () =>
  withDashboard(async (dashboard) => {
    const { clock } = dashboard.api;
    const { ada, other } = await signedInTwice(dashboard);
    const { secret, answer } = await setUp(dashboard, ada);
    assert.is(answer.status, 403, 'without a code of the app of before');
    const proved = { current: PASSWORD, code: dashboard.code(ada.token) };
    const wrong = await confirm(ada, APP, answer, { ...proved, new_code: '000000' });
    assert.equal([wrong.status, secretOf(wrong)], [400, secret], 'the same secret again');
    clock.advance(31_000);
    assert.is((await signIn(dashboard, codeNow(dashboard, secret))).status, 403, 'not yet');
    assert.is((await signIn(dashboard, dashboard.code(ada.token))).status, 303, 'still');
    clock.advance(31_000);
    const used = codeNow(dashboard, secret);
    assert.is((await confirm(ada, APP, wrong, { current: PASSWORD, new_code: used })).status, 303);
    assert.is((await other.get('/account')).status, 303, 'the other session has ended');
    assert.is((await signIn(dashboard, used)).status, 403, 'a code works once, also the one that set it up');
    clock.advance(31_000);
    assert.is((await signIn(dashboard, dashboard.code(ada.token))).status, 403, 'the app of before');
    assert.is((await signIn(dashboard, codeNow(dashboard, secret))).status, 303);
    assert.is.not(secretOf(await ada.get(APP)), secret, 'each form has another secret');
  }));

test('new recovery codes end the old ones and the other sessions, and are counted', () =>
  withDashboard(async (dashboard) => {
    const { ada, other } = await signedInTwice(dashboard);
    const page = await ada.get(APP);
    const made = await confirm(ada, APP, page, { current: PASSWORD, codes: 'yes', code: dashboard.code(ada.token) });
    const codes = codesOf(made);
    assert.equal([made.status, new Set(codes).size], [200, 10]);
    assert.is((await other.get('/account')).status, 303, 'the other session has ended');
    const account = await ada.get('/account');
    assert.not.match(account.text, codes[0] ?? '', 'they are shown once');
    assert.match(textOf(account.text), /Recovery codes left 10 /);
  }));

test('a recovery code confirms nothing; it signs nobody in, and leads to a link for a new password and app', () =>
  withDashboard(async (dashboard) => {
    const { clock, database } = dashboard.api;
    const { token } = await dashboard.invite('Ada', operator);
    const ada = dashboard.visitor();
    const codes = codesOf(await ada.post(`/link/${token}`, { password: PASSWORD, code: dashboard.code(token) }));
    const [code = '', another = ''] = codes;
    clock.advance(SUDO_ENDED_MS);
    const typed = { current: PASSWORD, password: NEW_PASSWORD, code };
    const refused = await confirm(ada, APP, await ada.get(APP), typed);
    assert.equal([refused.status, /does not confirm this/.test(textOf(refused.text))], [403, true]);
    assert.match(textOf((await ada.get('/account')).text), /Recovery codes left 10 /);

    assert.is((await signIn(dashboard, code, 'not the password')).status, 403);
    assert.is((await signIn(dashboard, 'AAAA-AAAA-AAAA-AAAA')).status, 403, 'no such code');
    const recovering = await signIn(dashboard, code.toLowerCase());
    assert.match(recovering.to ?? '', /^\/link\/[\w-]{43}$/);
    assert.is(recovering.cookie(), '', 'no session begins');
    assert.is((await ada.get('/account')).status, 303, 'where the lost app was signed in is signed out');
    assert.is((await signIn(dashboard, code)).status, 403, 'used');
    const alarms = await database().alarms.list(9);
    assert.ok(alarms.some((one) => one.code === 'recovery_code_used'));

    const link = recovering.to ?? '';
    const form = await recovering.get(link);
    const own = { password: NEW_PASSWORD, code: codeNow(dashboard, secretOf(form)) };
    assert.is(codesOf(await recovering.post(link, own)).length, 10);
    assert.is((await recovering.get('/operator')).status, 200);
    assert.is((await dashboard.visitor().get(link)).status, 404, 'works once');
    clock.advance(31_000);
    assert.is((await signIn(dashboard, another, NEW_PASSWORD)).status, 403, 'the codes of before have ended');
    assert.is((await signIn(dashboard, codeNow(dashboard, secretOf(form)), NEW_PASSWORD)).status, 303);
  }));

test('with simulated networks only, a password is enough to sign in and to do what asks for a second factor', () =>
  withSandbox(async (dashboard) => {
    const { api } = dashboard;
    await withoutFactor(dashboard, { role: 'owner', storeId: api.merchantId });
    const again = await signIn(dashboard, '');
    assert.is(again.status, 303);
    assert.is((await signIn(dashboard, '', 'something else')).status, 403);
    const askKey = async (mode: string) => {
      const page = `/s/${api.merchantId}/${mode}/developers`;
      const review = await again.submit(page, `${page}/keys`, { name: 'Shop', 'sessions:read': 'on', expires: '30d' });
      return { page, review };
    };
    const { page, review } = await askKey('test');
    assert.not.match(review.text, 'name="code"');
    assert.match((await confirm(again, `${page}/keys`, review)).text, 'sk_test_');
    const live = await askKey('live');
    assert.is(live.review.headers.get('location')?.split('?')[0], APP, 'a live key needs a factor');
    const sent = { form_token: await formTokenOf(again), passkey: '{}', name: 'x' };
    assert.is((await again.post('/account/passkeys', sent)).status, 400, 'an app comes first');
  }));

test('from the first network on that is not simulated, whoever has no factor sets one up before anything else', () =>
  withSandbox(async (dashboard, goLive) => {
    const ada = await withoutFactor(dashboard, operator);
    assert.is((await ada.get('/operator')).status, 200);
    goLive();
    const signedIn = await signIn(dashboard, '');
    for (const visitor of [ada, signedIn]) {
      for (const path of ['/', '/operator', '/account', '/operator/audit?who=Ada']) {
        const { status, headers } = await visitor.get(path);
        assert.equal([status, headers.get('location')], [303, APP], path);
      }
    }
    const page = await ada.get(APP);
    assert.match(textOf(page.text), 'everybody needs a second factor');
    const new_code = codeNow(dashboard, secretOf(page));
    for (const fields of [{ new_code }, { new_code, current: 'wrong' }, { current: PASSWORD, new_code: '000000' }]) {
      assert.is((await confirm(ada, APP, page, fields)).status, 400, JSON.stringify(fields));
      dashboard.api.clock.advance(2_000);
    }
    const { answer } = await setUp(dashboard, ada);
    assert.is(codesOf(answer).length, 10);
    assert.is((await ada.get('/operator')).status, 200);
    assert.is((await signedIn.get('/operator')).headers.get('location'), '/sign-in?to=%2Foperator&ended=yes');

    const { token: linkToken } = await dashboard.invite('Grace', operator);
    assert.not.match((await dashboard.visitor().get(`/link/${linkToken}`)).text, 'Set it up later');
    const refused = await dashboard.visitor().post(`/link/${linkToken}`, { password: PASSWORD, later: 'yes' });
    assert.is(refused.status, 400, 'nor by a form of one’s own');
  }));

test('a factor is asked for once it is set up, and no form or sign-in that was open before takes it away', () =>
  withSandbox(async (dashboard) => {
    const { api } = dashboard;
    const ada = await withoutFactor(dashboard, operator);
    const before = await api.database().signIns.attempt('Ada', api.clock.nowMs());
    const { secret } = await setUp(dashboard, ada);
    assert.is((await signIn(dashboard, '')).status, 403);
    api.clock.advance(60_000);
    const thief = await signIn(dashboard, codeNow(dashboard, secret));
    api.clock.advance(SUDO_ENDED_MS);
    assert.is((await setUp(dashboard, thief)).answer.status, 403, 'another app asks for a code of the one before');
    const act = { atMs: api.clock.nowMs(), operator: 'Ada (dashboard)', command: 'sign in', reason: null };
    const session = { personId: ada.id, formToken: await formTokenOf(thief) };
    const app = { totpSecret: 'ab'.repeat(20), totpStep: 0, recoveryHashes: [] };
    const { signIns } = api.database();
    assert.is(await signIns.changeSecrets(session, app, false, act), false, 'a form that was open before');
    const names = { hash: 'h', formToken: 't', device: 'A browser', address: '::1', personId: ada.id };
    const times = { startedAtMs: act.atMs, seenAtMs: act.atMs, sudoUntilMs: 0 };
    const proved = { factor: null, password: before?.password ?? '' };
    assert.is(await signIns.complete({ ...names, ...times }, proved, act), false, 'a sign-in of that moment');
    await signIns.changeSecrets(session, { password: 'another' }, true, act);
    const factor = { totpStep: stepAt(act.atMs) + 1, totpSecret: secret };
    assert.is(await signIns.complete({ ...names, ...times }, { ...proved, factor }, act), false, 'nor its password');
    await signIns.endWebSessions(ada.id, { allBut: '' }, act);
    assert.is(await signIns.changeSecrets(session, { password: 'x' }, true, act), false, 'the session has ended');
  }));

test.run();
