/**
 * Passkeys over real HTTP with an authenticator in software, and every way in which one must be refused. Chromium's own
 * authenticator is in `browser.slow.test.ts`.
 */

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createPasskeys } from '../../src/dashboard/passkeys.ts';
import { hashOf } from '../../src/lib/id.ts';
import { type Dashboard, formTokenOf, PASSWORD, type Visitor, withDashboard } from '../support/dashboard.ts';
import { asksFactor, rowsOf, titleOf } from '../support/read-page.ts';
import { type Authenticator, createAuthenticator } from './authenticator.ts';

const operator = { role: 'operator', storeId: null } as const;

/** Reads what the page's button asks the browser for. @param field the name of the field that gets the answer */
function askedBy(text: string, field: string) {
  for (const [, asked = '', name] of text.matchAll(/data-passkey="([^"]*)"[^>]*><input type="hidden" name="(\w+)"/g)) {
    if (name === field) return JSON.parse(asked.replaceAll('&quot;', '"'));
  }
  throw new Error(`no button for ${field}: ${text}`);
}

const asked = async (visitor: Visitor, path: string) => askedBy((await visitor.get(path)).text, 'passkey');

/** Adds a passkey in two steps, as a browser does. */
async function add(visitor: Visitor, passkey: Authenticator, answer?: string) {
  const made = answer ?? passkey.create(await asked(visitor, '/account'));
  const reviewed = await visitor.submit('/account', '/account/passkeys', { name: 'Laptop', passkey: made });
  assert.is(titleOf(reviewed.text), 'Add the passkey “Laptop”?');
  return visitor.submit('/account', '/account/passkeys', { name: 'Laptop', passkey: made, confirmed: 'yes' });
}

async function signInWith(dashboard: Dashboard, passkey: Authenticator, more: Record<string, string> = {}) {
  const visitor = dashboard.visitor();
  const sent = passkey.use(await asked(visitor, '/sign-in'));
  return { visitor, sent, ...(await visitor.post('/sign-in', { passkey: sent, ...more })) };
}

async function withPasskey(dashboard: Dashboard, name = 'Ada', counter = 1) {
  const person = await dashboard.person(name, operator);
  const passkey = createAuthenticator(dashboard.url, counter);
  assert.is((await add(person, passkey)).status, 303);
  assert.is((await dashboard.api.database().people.listPasskeys(person.id)).length, 1);
  return { person, passkey };
}

test('a passkey is added, named, signs in without a password, and is removed', () =>
  withDashboard(async (dashboard) => {
    const { person, passkey } = await withPasskey(dashboard);
    assert.is(rowsOf((await person.get('/account')).text, 'Passkeys')[0]?.Passkey, 'Laptop');
    const { visitor, status } = await signInWith(dashboard, passkey);
    assert.is(status, 303);
    assert.is((await visitor.get('/operator')).status, 200);
    const removal = { id: passkey.id, confirmed: 'yes' };
    assert.is((await visitor.submit('/account', '/account/passkeys/remove', removal)).status, 303);
    assert.is((await person.get('/operator')).status, 303, 'the other session has ended');
    assert.is((await visitor.get('/operator')).status, 200, 'the one that removed it goes on');
    assert.is((await signInWith(dashboard, passkey)).status, 403, 'removed');
    const commands = (await dashboard.api.database().audit.list(20)).map(({ command }) => command);
    for (const command of ['add passkey', 'remove passkey']) assert.ok(commands.includes(command), command);
  }));

test('what a passkey signs is refused if anything in it is another’s', () =>
  withDashboard(async (dashboard) => {
    const { passkey } = await withPasskey(dashboard);
    const browser = dashboard.visitor();
    const send = async (bend: (challenge: string) => Parameters<Authenticator['use']>[1]) => {
      const request = await asked(browser, '/sign-in');
      return (await browser.post('/sign-in', { passkey: passkey.use(request, bend(request.challenge)) })).status;
    };
    assert.is(await send(() => ({ origin: 'http://localhost:1' })), 403, 'another port');
    assert.is(await send(() => ({ origin: 'https://evil.example' })), 403, 'another site');
    assert.is(await send(() => ({ rpId: 'evil.example' })), 403, 'for another site');
    assert.is(await send(() => ({ isVerified: false })), 403, 'nobody was verified');
    assert.is(await send(() => ({ userHandle: 'dXNyX290aGVy' })), 403, 'made for another account');
    assert.is(await send(() => ({ challenge: Buffer.alloc(56).toString('base64url') })), 403, 'a challenge of its own');
    assert.is(await send((challenge) => ({ challenge: `${challenge}=` })), 403, 'another spelling of it');
    const stranger = createAuthenticator(dashboard.url);
    const notRegistered = stranger.use(await asked(browser, '/sign-in'));
    assert.is((await browser.post('/sign-in', { passkey: notRegistered })).status, 403, 'an unknown passkey');
    const forged = JSON.stringify({ ...JSON.parse(notRegistered), id: passkey.id, rawId: passkey.id });
    assert.is((await browser.post('/sign-in', { passkey: forged })).status, 403, 'signed with another key');
    for (const nonsense of ['{', 'null', '{}', '{"id":5}', '{"id":"x","response":{"userHandle":{}}}']) {
      assert.is((await browser.post('/sign-in', { passkey: nonsense })).status, 403, nonsense);
    }
    assert.is(await send(() => ({})), 303);
  }));

test('what was signed works once, for ten minutes, and for one purpose', () =>
  withDashboard(async (dashboard) => {
    const { person, passkey } = await withPasskey(dashboard, 'Ada', 0);
    const { sent, status } = await signInWith(dashboard, passkey);
    assert.is(status, 303);
    assert.is((await dashboard.visitor().post('/sign-in', { passkey: sent })).status, 403, 'sent again');
    const request = await asked(dashboard.visitor(), '/sign-in');
    const signed = passkey.use(request);
    const both = await Promise.all([0, 1].map(() => dashboard.visitor().post('/sign-in', { passkey: signed })));
    assert.equal(both.map((one) => one.status).sort(), [303, 403], 'at once in two browsers');
    const registering = await asked(person, '/account');
    const misused = passkey.use({ challenge: registering.challenge, rpId: registering.rp.id });
    assert.is((await dashboard.visitor().post('/sign-in', { passkey: misused })).status, 403, 'asked for adding one');
    const old = await asked(dashboard.visitor(), '/sign-in');
    dashboard.api.clock.advance(10 * 60_000);
    assert.is((await dashboard.visitor().post('/sign-in', { passkey: passkey.use(old) })).status, 403, 'too old');
  }));

test('a passkey that counts must count on: a copy is refused and noticed', () =>
  withDashboard(async (dashboard) => {
    const { passkey } = await withPasskey(dashboard);
    assert.is((await signInWith(dashboard, passkey)).status, 303);
    passkey.setCounter(2);
    assert.is((await signInWith(dashboard, passkey)).status, 403);
    passkey.setCounter(0);
    assert.is((await signInWith(dashboard, passkey)).status, 403, 'it counted before');
    const alarms = (await dashboard.api.database().alarms.list(10)).map(({ code }) => code);
    assert.is(alarms.filter((code) => code === 'passkey_copied').length, 2);
    passkey.setCounter(9);
    assert.is((await signInWith(dashboard, passkey)).status, 303);
  }));

test('wrong passwords make nobody wait who has a passkey', () =>
  withDashboard(async (dashboard) => {
    const { passkey } = await withPasskey(dashboard);
    for (let attempt = 0; attempt < 8; attempt++) {
      await dashboard.visitor().post('/sign-in', { name: 'Ada', password: 'wrong', code: '000000' });
    }
    assert.is((await signInWith(dashboard, passkey)).status, 303);
  }));

test('a passkey is proved again for one form of one session, whose token changes then', () =>
  withDashboard(async (dashboard) => {
    const { person, passkey } = await withPasskey(dashboard);
    const other = await withPasskey(dashboard, 'Grace');
    dashboard.api.clock.advance(10 * 60_000);
    const remove = '/account/passkeys/remove';
    const review = async (id = passkey.id) => (await person.submit('/account', remove, { id })).text;
    const confirm = (id: string, proof: string) => person.submit('/account', remove, { id, confirmed: 'yes', proof });
    const theirs = other.passkey.use(askedBy(await review(), 'proof'));
    assert.is((await confirm(passkey.id, theirs)).status, 403, 'another person’s passkey');
    const forSignIn = passkey.use(await asked(dashboard.visitor(), '/sign-in'));
    assert.is((await confirm(passkey.id, forSignIn)).status, 403, 'signed for signing in');
    const make = { name: 'Phone', passkey: '{}' };
    const forAnother = askedBy((await person.submit('/account', '/account/passkeys', make)).text, 'proof');
    assert.is((await confirm(passkey.id, passkey.use(forAnother))).status, 403, 'signed for another form');
    const before = person.cookie();
    assert.is((await confirm(passkey.id, passkey.use(askedBy(await review(), 'proof')))).status, 303);
    assert.is.not(person.cookie(), before);
    assert.is((await person.get('/account')).status, 200);
    const withOld = dashboard.visitor();
    assert.is((await withOld.get('/account', { cookie: before })).status, 200, 'what was on its way');
    const more = { form_token: await formTokenOf(person), name: 'Thief', passkey: '{}' };
    const asking = await withOld.post('/account/passkeys', more, { cookie: before });
    assert.ok(asksFactor(asking.text), 'it lets nobody do more');
    dashboard.api.clock.advance(10_000);
    assert.is((await withOld.get('/account', { cookie: before })).status, 303, 'then the old token is no good');
  }));

test('ten passkeys are the most, nobody adds another’s, and a reset removes all', () =>
  withDashboard(async (dashboard) => {
    const { person, passkey } = await withPasskey(dashboard);
    for (let more = 1; more < 11; more++) await add(person, createAuthenticator(dashboard.url));
    const { database, clock } = dashboard.api;
    assert.is((await database().people.listPasskeys(person.id)).length, 10);
    const grace = await dashboard.person('Grace', operator);
    await add(grace, passkey);
    assert.equal(await database().people.listPasskeys(grace.id), []);
    const act = { atMs: clock.nowMs(), operator: 'root', command: 'user reset', reason: null };
    const { token } = await dashboard.invite('Unused', operator);
    const link = { hash: hashOf(`${token}x`), salt: 'salt', expiresAtMs: clock.nowMs() + 1e6 };
    await database().people.addLink(person.id, link, act);
    const claimed = await dashboard
      .visitor()
      .post(`/link/${token}x`, { password: PASSWORD, code: dashboard.code(`${token}x`) });
    assert.is(claimed.status, 200);
    assert.equal(await database().people.listPasskeys(person.id), []);
    assert.is((await signInWith(dashboard, passkey)).status, 403);
  }));

test('a new passkey must be made here, now, for this session, by a verified user', () =>
  withDashboard(async (dashboard) => {
    const ada = await dashboard.person('Ada', operator);
    const grace = await dashboard.person('Grace', operator);
    const refused = async (bent: Parameters<Authenticator['create']>[1], from: Visitor = ada) => {
      const passkey = createAuthenticator(dashboard.url);
      await add(ada, passkey, passkey.create(await asked(from, '/account'), bent));
      assert.equal(await dashboard.api.database().people.listPasskeys(ada.id), []);
    };
    await refused({ origin: 'http://localhost:1' });
    await refused({ rpId: 'evil.example' });
    await refused({ isVerified: false });
    await refused({ challenge: 'AAAA' });
    await refused({}, grace);
  }));

test('browsers know passkeys on https and on localhost, and on no IP address', () => {
  const clock = { nowMs: () => 0 };
  for (const [url, isPossible] of [
    ['http://localhost:8421', true],
    ['https://pay.example', true],
    ['https://192.0.2.1', false],
    ['https://[2001:db8::1]', false],
    ['http://127.0.0.1:8421', false],
    ['http://shop.lan', false],
  ] as const) {
    assert.is(createPasskeys(url, clock, null as never).isPossible, isPossible, url);
  }
});

test.run();
