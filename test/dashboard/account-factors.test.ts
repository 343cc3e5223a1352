/** Somebody who is signed in changes the password, the authenticator app and the recovery codes, over real HTTP. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { browserName } from '../../src/dashboard/browser-name.ts';
import { codeOf, stepAt } from '../../src/dashboard/second-factor.ts';
import {
  type Answer,
  confirm,
  type Dashboard,
  formTokenOf,
  PASSWORD,
  textOf,
  withDashboard,
} from '../support/dashboard.ts';

const operator = { role: 'operator', storeId: null } as const;
const paths = { password: '/account/password', app: '/account/app', codes: '/account/recovery-codes' } as const;
const NEW_PASSWORD = 'seven kettles under velvet';
const SUDO_ENDED_MS = 11 * 60_000;

const codesOf = ({ text }: Answer): readonly string[] =>
  [...text.matchAll(/<li><code>([A-Z2-7-]{19})</g)].map(([, code = '']) => code);

/** Returns the secret (hex) that a page shows to be typed into an app. */
function secretOf({ text }: Answer): string {
  const typed = (/<code>((?:[A-Z2-7]{4} ){7}[A-Z2-7]{4})</.exec(text)?.[1] ?? '').replaceAll(' ', '');
  const bits = [...typed].map((char) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(char).toString(2).padStart(5, '0'));
  return (bits.join('').match(/.{8}/g) ?? [])
    .map((byte) => Number.parseInt(byte, 2).toString(16).padStart(2, '0'))
    .join('');
}

/** Ada in two browsers. The second factor was proved too long ago in the first. */
async function signedInTwice(dashboard: Dashboard) {
  const { clock } = dashboard.api;
  const ada = await dashboard.person('Ada', operator);
  clock.advance(SUDO_ENDED_MS);
  const other = dashboard.visitor();
  await other.post('/sign-in', { name: 'Ada', password: PASSWORD, code: dashboard.code(ada.token) });
  assert.is((await other.get('/account')).status, 200);
  clock.advance(31_000);
  const signIn = async (password: string, second: string) =>
    (await dashboard.visitor().post('/sign-in', { name: 'Ada', password, code: second })).status;
  return { ada, other, signIn };
}

const commandsOf = async ({ api }: Dashboard) => (await api.database().audit.list(50)).map(({ command }) => command);

/** Ada, with recovery codes, signed in with an app that she has. */
async function withCodes(dashboard: Dashboard) {
  const { token } = await dashboard.invite('Ada', operator);
  const ada = dashboard.visitor();
  const codes = codesOf(await ada.post(`/link/${token}`, { password: PASSWORD, code: dashboard.code(token) }));
  dashboard.api.clock.advance(SUDO_ENDED_MS);
  return { ada, token, codes };
}

test('a recovery code confirms nothing, and is not used up by that', () =>
  withDashboard(async (dashboard) => {
    const { ada, codes } = await withCodes(dashboard);
    const [code = '', second = ''] = codes;
    const review = await ada.submit('/account', paths.codes);
    for (const typed of [code, code.toLowerCase().replaceAll('-', ' ')]) {
      const refused = await confirm(ada, paths.codes, review, { code: typed });
      assert.equal([refused.status, codesOf(refused).length], [403, 0]);
      assert.match(textOf(refused.text), 'A recovery code is for signing in, and does not confirm this.');
      dashboard.api.clock.advance(3_600_000 / 4);
    }
    const thief = dashboard.visitor();
    const signedIn = await thief.post('/sign-in', { name: 'Ada', password: PASSWORD, code });
    assert.is(signedIn.headers.get('location'), '/account', 'it was not used up');
    // Who has just signed in with one proves nothing by that, either, nor with another.
    const own = await thief.submit('/account', paths.codes);
    for (const fields of [{}, { code: second }]) {
      assert.is((await confirm(thief, paths.codes, own, fields)).status, 403);
    }
    assert.match(textOf((await thief.get('/account')).text), /Recovery codes left 9 /);
  }));

test('who has lost the app signs in with a recovery code, and replaces it with the password; the new one confirms', () =>
  withDashboard(async (dashboard) => {
    const { ada: before, token, codes } = await withCodes(dashboard);
    const { clock, database } = dashboard.api;
    const asUsual = await before.submit('/account', paths.app);
    assert.not.match(asUsual.text, 'name="current"');
    const usual = codeOf(secretOf(asUsual), stepAt(clock.nowMs()));
    const refused = await confirm(before, paths.app, asUsual, { current: PASSWORD, new_code: usual });
    assert.is(refused.status, 403, 'a session with an app needs its code');

    const ada = dashboard.visitor();
    await ada.post('/sign-in', { name: 'Ada', password: PASSWORD, code: codes[0] ?? '' });
    assert.match(textOf((await ada.get('/account')).text), 'You signed in with a recovery code. Set up a new app now');
    const review = await ada.submit('/account', paths.app);
    assert.match(textOf(review.text), 'it takes the place of the app that you have lost');
    const secret = secretOf(review);
    const new_code = codeOf(secret, stepAt(clock.nowMs()));
    const alarms = async () => (await database().alarms.list(9)).filter(({ code }) => code === 'recovery_code_used');
    for (const fields of [
      { new_code },
      { new_code, current: 'not the password' },
      { current: PASSWORD, new_code: String((Number(new_code) + 1) % 1_000_000).padStart(6, '0') },
    ]) {
      assert.is((await confirm(ada, paths.app, review, fields)).status, 403, JSON.stringify(fields));
      clock.advance(1_000);
    }
    assert.is((await alarms()).length, 1);
    const done = await confirm(ada, paths.app, review, { current: PASSWORD, new_code });
    assert.is(done.headers.get('location')?.split('?')[0], '/account', done.text);
    const [alarm] = await alarms();
    assert.match(alarm?.message ?? '', 'replaced the authenticator app');
    assert.is((await before.get('/account')).status, 303, 'the other session has ended');

    // Only the new app lets power out now, and only it replaces itself.
    const next = await ada.submit('/account', paths.codes);
    clock.advance(31_000);
    for (const code of [codes[1] ?? '', dashboard.code(token)]) {
      assert.is((await confirm(ada, paths.codes, next, { code })).status, 403);
      clock.advance(31_000);
    }
    assert.not.match((await ada.submit('/account', paths.app)).text, 'name="current"');
    const made = await confirm(ada, paths.codes, next, { code: codeOf(secret, stepAt(clock.nowMs())) });
    assert.equal([made.status, codesOf(made).length], [200, 10]);
    assert.equal((await database().audit.list(50)).filter(({ after }) => after?.by === 'recovery code').length, 1);
  }));

test('new recovery codes end the old ones and the other sessions, behind the second factor, and are counted', () =>
  withDashboard(async (dashboard) => {
    const { token } = await dashboard.invite('Ada', operator);
    const claimed = { password: PASSWORD, code: dashboard.code(token) };
    const ada = dashboard.visitor();
    const before = codesOf(await ada.post(`/link/${token}`, claimed));
    dashboard.api.clock.advance(SUDO_ENDED_MS);
    const other = dashboard.visitor();
    await other.post('/sign-in', { name: 'Ada', password: PASSWORD, code: dashboard.code(token) });
    dashboard.api.clock.advance(31_000);
    const review = await ada.submit('/account', paths.codes);
    const refused = await confirm(ada, paths.codes, review);
    assert.equal([refused.status, codesOf(refused).length], [403, 0], 'without the second factor');
    const made = await confirm(ada, paths.codes, review, { code: dashboard.code(token) });
    const codes = codesOf(made);
    assert.equal([made.status, codes.length, new Set([...codes, ...before]).size], [200, 10, 20]);
    assert.is((await other.get('/account')).status, 303, 'the other session has ended');
    assert.not.match((await ada.get('/account')).text, codes[0] ?? '', 'they are shown once');

    const signIn = async (code = '') =>
      (await dashboard.visitor().post('/sign-in', { name: 'Ada', password: PASSWORD, code })).status;
    for (const code of before.slice(0, 2)) assert.is(await signIn(code), 403, 'a code of before');
    for (const code of codes.slice(0, 7)) assert.is(await signIn(code), 303);
    assert.is(await signIn(codes[0]), 403, 'used');
    assert.match(textOf((await ada.get('/account')).text), /Recovery codes left 3 make new ones/);
    assert.ok((await commandsOf(dashboard)).includes('make recovery codes'));
  }));

test('the password changes with the present one and the second factor, and ends the other sessions', () =>
  withDashboard(async (dashboard) => {
    const { clock } = dashboard.api;
    const { ada, other, signIn } = await signedInTwice(dashboard);
    const typed = { current: PASSWORD, password: NEW_PASSWORD };
    const review = await ada.submit('/account', paths.password);
    const unproved = await confirm(ada, paths.password, review, { ...typed, password: `${NEW_PASSWORD}!` });
    assert.is(unproved.status, 403, 'without the second factor');
    const first = { ...typed, code: dashboard.code(ada.token) };
    const weak = await confirm(ada, paths.password, review, { ...first, password: 'quaysidequayside' });
    assert.equal([weak.status, /easy to guess/.test(weak.text)], [403, true]);
    assert.not.match(weak.text, /name="code"/, 'the second factor was proved: it is not asked for once more');
    for (const text of [PASSWORD, 'quaysidequayside']) assert.not.match(weak.text, text, 'no page has what was typed');
    const done = await confirm(ada, paths.password, weak, typed);
    assert.equal([done.status, done.headers.get('location')?.split('?')[0]], [303, '/account']);
    assert.is((await other.get('/account')).status, 303, 'the other session has ended');
    assert.is((await ada.get('/account')).status, 200, 'this one has not');
    clock.advance(31_000);
    assert.is(await signIn(PASSWORD, dashboard.code(ada.token)), 403, 'the password of before');
    assert.is(await signIn(NEW_PASSWORD, dashboard.code(ada.token)), 303);
    assert.ok((await commandsOf(dashboard)).includes('change password'));
    const { database } = dashboard.api;
    for (const text of [PASSWORD, NEW_PASSWORD, 'scrypt']) {
      assert.not.match(JSON.stringify(await database().audit.list(50)), text);
    }
  }));

test('a wrong present password changes nothing, and several make the account wait as at the sign-in', () =>
  withDashboard(async (dashboard) => {
    const { clock } = dashboard.api;
    const ada = await dashboard.person('Ada', operator);
    const review = await ada.submit('/account', paths.password);
    const change = (current: string, more = {}) =>
      confirm(ada, paths.password, review, { current, password: NEW_PASSWORD, ...more });
    for (let one = 0; one < 6; one++) {
      const { status, text } = await change(`wrong ${one}`);
      assert.equal([status, /not your current password/.test(text)], [403, true]);
    }
    assert.is((await change(PASSWORD)).status, 403, 'right, but the account waits');
    clock.advance(31_000);
    const signIn = { name: 'Ada', password: PASSWORD, code: dashboard.code(ada.token) };
    for (let one = 0; one < 3; one++) await change(`again ${one}`);
    assert.is((await ada.post('/sign-in', signIn)).status, 403, 'so does the sign-in of this browser');
    clock.advance(900_000);
    assert.is((await change(PASSWORD, { code: dashboard.code(ada.token) })).status, 303);
  }));

test('the app of before works until the new one has shown a code, and not after', () =>
  withDashboard(async (dashboard) => {
    const { clock } = dashboard.api;
    const { ada, other, signIn } = await signedInTwice(dashboard);
    const review = await ada.submit('/account', paths.app);
    const secret = secretOf(review);
    assert.is(secret.length, 40);
    assert.match(review.text, 'role="img" aria-label="QR code');
    const newCode = () => codeOf(secret, stepAt(clock.nowMs()));
    assert.is(
      (await confirm(ada, paths.app, review, { new_code: newCode() })).status,
      403,
      'without the app of before',
    );
    const wrong = await confirm(ada, paths.app, review, { new_code: '000000', code: dashboard.code(ada.token) });
    assert.equal([wrong.status, secretOf(wrong)], [403, secret], 'the same secret again');
    clock.advance(31_000);
    assert.is(await signIn(PASSWORD, newCode()), 403, 'not yet');
    assert.is(await signIn(PASSWORD, dashboard.code(ada.token)), 303, 'still');
    clock.advance(31_000);
    const used = newCode();
    assert.is((await confirm(ada, paths.app, wrong, { new_code: used })).status, 303);
    assert.is((await other.get('/account')).status, 303, 'the other session has ended');
    assert.is(await signIn(PASSWORD, dashboard.code(ada.token)), 403, 'the app of before');
    assert.is(await signIn(PASSWORD, used), 403, 'a code works once, also the one that set it up');
    clock.advance(31_000);
    assert.is(await signIn(PASSWORD, dashboard.code(ada.token)), 403, 'the next code of the app of before');
    assert.is(await signIn(PASSWORD, newCode()), 303);
    assert.ok((await commandsOf(dashboard)).includes('replace authenticator app'));
    assert.not.match((await ada.get('/account')).text, 'otpauth');
    assert.is.not(secretOf(await ada.submit('/account', paths.app)), secret, 'each form has another secret');
  }));

test('who was signing in while the password or the app was replaced is not signed in', () =>
  withDashboard(async ({ api, person }) => {
    const database = api.database();
    const ada = await person('Ada', operator);
    const act = { atMs: api.clock.nowMs(), operator: 'Ada (dashboard)', command: 'sign in', reason: null };
    const own = { personId: ada.id, formToken: await formTokenOf(ada) };
    const step = stepAt(api.clock.nowMs());
    let signIns = 0;
    const signIn = async (totpStep: number, totpSecret: string, password: string) => {
      const names = { hash: `hash ${++signIns}`, formToken: `token ${signIns}`, device: 'A browser', address: '::1' };
      const times = { startedAtMs: act.atMs, seenAtMs: act.atMs, sudoUntilMs: 0 };
      const proved = { factor: { totpStep, totpSecret }, password };
      return database.signIns.complete({ ...names, ...times, personId: ada.id }, proved, act);
    };
    const first = await database.signIns.findSecrets('Ada');
    assert.ok(first?.totpSecret);
    await database.people.changeSecret(own, { password: 'another' }, act);
    assert.is(await signIn(step + 1, first.totpSecret, first.password), false, 'the password of before');
    assert.is(await signIn(step + 1, first.totpSecret, 'another'), true);
    await database.people.changeSecret(own, { totpSecret: 'ab'.repeat(20), totpStep: step }, act);
    assert.is(await signIn(step + 2, first.totpSecret, 'another'), false, 'the app of before');
    assert.is(await signIn(step + 2, 'ab'.repeat(20), 'another'), true);
  }));

test('forms without the token of the session, or from elsewhere, change nothing', () =>
  withDashboard(async (dashboard) => {
    const ada = await dashboard.person('Ada', operator);
    const form_token = await formTokenOf(ada);
    const fields = { confirmed: 'yes', once: 'x', current: PASSWORD, password: NEW_PASSWORD };
    for (const path of Object.values(paths)) {
      assert.is((await ada.post(path, fields)).status, 403, path);
      const elsewhere = { 'sec-fetch-site': 'cross-site' };
      assert.is((await ada.post(path, { ...fields, form_token }, elsewhere)).status, 403, path);
    }
    dashboard.api.clock.advance(31_000);
    const secrets = { name: 'Ada', password: PASSWORD, code: dashboard.code(ada.token) };
    assert.is((await dashboard.visitor().post('/sign-in', secrets)).status, 303);
    assert.match(textOf((await ada.get('/account')).text), /Recovery codes left 10 /);
  }));

test('a session that was ended meanwhile changes nothing', () =>
  withDashboard(async ({ api, person }) => {
    const ada = await person('Ada', operator);
    const act = { atMs: api.clock.nowMs(), operator: 'Ada (dashboard)', command: 'change password', reason: null };
    const session = { personId: ada.id, formToken: await formTokenOf(ada) };
    await api.database().signIns.endWebSessions(ada.id, { allBut: '' }, act);
    assert.is(await api.database().people.changeSecret(session, { password: 'x' }, act), false);
    assert.is(await api.database().people.changeSecret(session, { recoveryHashes: [] }, act), false);
    assert.is(await api.database().people.countRecoveryCodes(ada.id), 10);
  }));

for (const [userAgent, browser, system] of [
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox', 'Linux'],
  [
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36',
    'Chrome',
    'Linux',
  ],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36 Edg/139.0.0.0',
    'Edge',
    'Windows',
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
    'Safari',
    'macOS',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/139.0.0.0 Mobile/15E148 Safari/604.1',
    'Chrome',
    'iPhone',
  ],
  [
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36',
    'Samsung Internet',
    'Android',
  ],
] as const) {
  test(`${browser} on ${system} is called so`, () => {
    assert.equal(browserName(userAgent), { browser, system });
  });
}

test('the list of sessions names browsers as people do, and others as they call themselves', () =>
  withDashboard(async (dashboard) => {
    const ada = await dashboard.person('Ada', operator);
    dashboard.api.clock.advance(31_000);
    const device = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
    const secrets = { name: 'Ada', password: PASSWORD, code: dashboard.code(ada.token) };
    await dashboard.visitor().post('/sign-in', secrets, { 'user-agent': device, 'x-forwarded-for': '2001:db8::17' });
    const { text } = await ada.get('/account');
    assert.match(text, `<span title="${device}"><bdi>Firefox</bdi> on <bdi>Linux</bdi></span>`);
    assert.match(text, '<bdi>A browser</bdi>');
    assert.match(text, '<bdi class="network">2001:<wbr>db8:<wbr>:<wbr>17<wbr></bdi>');
    assert.match(textOf(text), 'Sign out everywhere else');
    assert.is(browserName('curl/8.5.0'), null);
  }));

test.run();
