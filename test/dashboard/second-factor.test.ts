/** The second factor may wait while every network is simulated, and nobody passes it once one is not. */
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
const operator = { role: 'operator', storeId: null } as const;
const simulated = { ...plainNetwork, sandbox: true };
const real = network('test', 'sepolia', '11155111', [token('1', 'USDT', 6)]);

/** Runs with simulated networks only; `goLive` adds one that is not, as a start with another configuration does. */
async function withSandbox(work: (dashboard: Dashboard, goLive: () => void) => Promise<void>): Promise<void> {
  const networks = [simulated];
  await withDashboard((dashboard) => work(dashboard, () => networks.push(real)), { networks });
}

/** Somebody who set a password only. */
async function withoutFactor(dashboard: Dashboard, name: string, membership: Parameters<Dashboard['invite']>[1]) {
  const { token, id } = await dashboard.invite(name, membership);
  const visitor = dashboard.visitor();
  const page = await visitor.get(`/link/${token}`);
  assert.match(page.text, 'Set it up later');
  assert.match(textOf(page.text), 'A second factor is required before a network with real transactions is used');
  const claimed = await visitor.post(`/link/${token}`, { password: PASSWORD, later: 'yes' });
  assert.equal([claimed.status, claimed.headers.get('location')], [303, '/']);
  return { ...visitor, id, token };
}

const signIn = (dashboard: Dashboard, fields: Record<string, string>) => {
  const visitor = dashboard.visitor();
  return visitor.post('/sign-in', fields).then(({ status }) => ({ ...visitor, status }));
};

/** The secret (hex) that a page shows to be typed into an app. */
function secretOf({ text }: Answer): string {
  const typed = (/<code>((?:[A-Z2-7]{4} ){7}[A-Z2-7]{4})</.exec(text)?.[1] ?? '').replaceAll(' ', '');
  const bits = [...typed].map((char) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(char).toString(2).padStart(5, '0'));
  return Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2))).toString('hex');
}

async function setUp(dashboard: Dashboard, visitor: Visitor) {
  const page = await visitor.get(APP);
  const secret = secretOf(page);
  const new_code = codeOf(secret, stepAt(dashboard.api.clock.nowMs()));
  return { secret, answer: await confirm(visitor, APP, page, { current: PASSWORD, new_code }) };
}

test('with simulated networks only, a password is enough to sign in and to do what asks for a second factor', () =>
  withSandbox(async (dashboard) => {
    const { api } = dashboard;
    await withoutFactor(dashboard, 'Ada', { role: 'owner', storeId: api.merchantId });
    const again = await signIn(dashboard, { name: 'Ada', password: PASSWORD, code: '' });
    assert.is(again.status, 303);
    assert.is((await signIn(dashboard, { name: 'Ada', password: 'something else', code: '' })).status, 403);
    const act = async (mode: string) => {
      const page = `/s/${api.merchantId}/${mode}/developers`;
      const review = await again.submit(page, `${page}/keys`, { name: 'Shop', 'sessions:read': 'on', expires: '30' });
      return { page, review };
    };
    const { page, review } = await act('test');
    assert.not.match(review.text, 'name="code"');
    const made = await confirm(again, `${page}/keys`, review);
    assert.match(made.text, 'sk_test_');
    const live = await act('live');
    assert.is(live.review.headers.get('location')?.split('?')[0], APP, 'a live key needs a factor');
    assert.not.match((await again.get('/account')).text, 'action="/account/passkeys"', 'an app comes first');
    const sent = { form_token: await formTokenOf(again), passkey: '{}', name: 'x' };
    assert.is((await again.post('/account/passkeys', sent)).headers.get('location'), APP);
  }));

test('from the first network on that is not simulated, whoever has no factor sets one up before anything else', () =>
  withSandbox(async (dashboard, goLive) => {
    const ada = await withoutFactor(dashboard, 'Ada', operator);
    assert.is((await ada.get('/operator')).status, 200);
    goLive();
    const signedIn = await signIn(dashboard, { name: 'Ada', password: PASSWORD, code: '' });
    for (const visitor of [ada, signedIn]) {
      for (const path of ['/', '/operator', '/account', '/operator/audit?who=Ada']) {
        const { status, headers } = await visitor.get(path);
        assert.equal([status, headers.get('location')], [303, APP], path);
      }
      const form_token = /name="form_token" value="([^"]+)"/.exec((await visitor.get(APP)).text)?.[1] ?? '';
      const { headers } = await visitor.post('/account/password', { form_token, once: 'x', confirmed: 'yes' });
      assert.is(headers.get('location'), APP);
    }
    const page = await ada.get(APP);
    assert.match(textOf(page.text), 'everybody needs a second factor');
    const new_code = codeOf(secretOf(page), stepAt(dashboard.api.clock.nowMs()));
    for (const fields of [{ new_code }, { new_code, current: 'wrong' }, { current: PASSWORD, new_code: '000000' }]) {
      assert.is((await confirm(ada, APP, page, fields)).status, 403, JSON.stringify(fields));
      dashboard.api.clock.advance(2_000);
    }
    const { answer } = await setUp(dashboard, ada);
    assert.is([...answer.text.matchAll(/<li><code>[A-Z2-7-]{19}<\/code>/g)].length, 10);
    assert.is((await ada.get('/operator')).status, 200);
    assert.is((await signedIn.get('/operator')).headers.get('location'), '/sign-in?to=%2Foperator&ended=yes');

    const { token: linkToken } = await dashboard.invite('Grace', operator);
    assert.not.match((await dashboard.visitor().get(`/link/${linkToken}`)).text, 'Set it up later');
    const refused = await dashboard.visitor().post(`/link/${linkToken}`, { password: PASSWORD, later: 'yes' });
    assert.is(refused.status, 400, 'nor by a form of one’s own');
  }));

test('a factor that was set up is asked for, simulated or not, and the password alone takes it away by no form', () =>
  withSandbox(async (dashboard) => {
    const { api } = dashboard;
    const ada = await withoutFactor(dashboard, 'Ada', operator);
    const { secret } = await setUp(dashboard, ada);
    const withCode = async () => ({ name: 'Ada', password: PASSWORD, code: codeOf(secret, stepAt(api.clock.nowMs())) });
    assert.is((await signIn(dashboard, { name: 'Ada', password: PASSWORD, code: '' })).status, 403);
    api.clock.advance(60_000);
    const thief = await signIn(dashboard, await withCode());
    api.clock.advance(11 * 60_000);
    const { answer } = await setUp(dashboard, thief);
    assert.is(answer.status, 403, 'another app asks for a code of the one before');
    assert.match(answer.text, 'name="code"');
    const { person } = (await api.database().signIns.findSecrets('Ada')) ?? {};
    assert.is(person?.hasFactor, true);
    const act = { atMs: api.clock.nowMs(), operator: 'Ada (dashboard)', command: 'sign in', reason: null };
    const session = { personId: ada.id, formToken: await formTokenOf(thief) };
    const first = { totpSecret: 'ab'.repeat(20), totpStep: 0, recoveryHashes: [] };
    assert.is(
      await api.database().people.changeSecret(session, { first }, act),
      false,
      'nor a form that was open before',
    );
    const secrets = await api.database().signIns.findSecrets('Ada');
    const names = { hash: 'h', formToken: 't', device: 'A browser', address: '::1', personId: ada.id };
    const times = { startedAtMs: act.atMs, seenAtMs: act.atMs, sudoUntilMs: 0 };
    const proved = { factor: null, password: secrets?.password ?? '' };
    assert.is(
      await api.database().signIns.complete({ ...names, ...times }, proved, act),
      false,
      'nor a sign-in of that moment',
    );
    assert.is(secrets?.totpSecret, secret);
  }));

test.run();
