/**
 * Signing in and out, and the one-time link with which somebody sets a password, an app and recovery codes. There are
 * three steps: a person proves who they are, which starts a session or makes a link; the link replaces what they sign
 * in with, and starts a session; signing out ends it. Name, password and second factor are sent together and refused
 * with one answer, so that nobody learns which of them was wrong. Without a factor the code stays empty, and a passkey
 * is enough by itself. A recovery code makes a link, and so does a person who wants to change what they sign in with.
 */
import type { Express, Request, Response } from 'express';
import { type Person, SANDBOX_PERSON, type UsedFactor } from '../database/people.ts';
import { isLoopback } from '../lib/address-range.ts';
import { queryOf, readForm } from '../lib/form.ts';
import { type Html, html } from '../lib/html.ts';
import { hashOf, newToken } from '../lib/id.ts';
import { qrSvg } from '../lib/qr.ts';
import { createAddressLimiter } from '../lib/rate-limit.ts';
import { faultMessage } from '../web/show.ts';
import { actOf, type SignInDeps } from './deps.ts';
import { copyWords, documentOf, refuse } from './frame.ts';
import { passkeyButton } from './passkeys.ts';
import { whyWeak } from './passwords.ts';
import {
  isFactorRequired,
  isRecoveryCode,
  newApp,
  newRecoveryCodes,
  newSecretOf,
  recoveryHash,
  secretText,
  setUpUri,
  usedFactor,
} from './second-factor.ts';
import { sentenceText, type TextKey, type Words, wordsFor } from './texts.ts';
import { isFormToken } from './web-session.ts';

const FORM_BYTES_MAX = 4096;
/** Attempts of one subscriber, beside the delay of each account. */
const ATTEMPTS_PER_SECOND = 1 / 3;
const ATTEMPTS_BURST = 20;
const SUBSCRIBERS_MAX = 10_000;

/** Where somebody who is signed in proves who they are once more, for a link. */
export const CHANGE_PATH = '/sign-in?change=yes';

/** The purpose for which a passkey signs. */
const PURPOSE = 'sign in';
const LINK_LIFE_MS = 30 * 60_000;

export const FORM_OUT_OF_DATE = 'This form is out of date. Go back, reload the page and try again.' satisfies TextKey;

type Form = Readonly<Record<string, string>>;
type Refused = Readonly<{ status: number; fault: Html | string }>;
const busy = 'Others are signing in right now. Try again in a few seconds.' satisfies TextKey;

/** Serves `/sign-in`, `/sign-out` and `/link/:token`. */
export function serveSignIn(app: Express, deps: SignInDeps): void {
  const { sessions, database, clock, languages } = deps;
  const limiter = createAddressLimiter({
    perSecond: ATTEMPTS_PER_SECOND,
    burst: ATTEMPTS_BURST,
    namesMax: SUBSCRIBERS_MAX,
    clock,
  });

  app.get('/sign-in', async (request, response) => {
    if (!isChange(request) && (await sessions.visitorOf(request))) response.redirect(303, '/');
    else sendSignIn(deps, response, null);
  });

  app.post('/sign-in', async (request, response) => {
    const words = wordsFor(languages, response);
    const seconds = limiter.take(request.ip ?? '');
    if (seconds > 0) {
      response.set('Retry-After', String(seconds));
      const fault = words.html('Too many attempts from your address. Try again in {seconds} s.', { seconds });
      sendSignIn(deps, response, { status: 429, fault });
      return;
    }
    const form = await readForm(request, FORM_BYTES_MAX);
    const outcome = await signIn(deps, response, form);
    if ('to' in outcome) response.redirect(303, outcome.to);
    else sendSignIn(deps, response, { status: outcome.status, fault: words.say(outcome.why) });
  });

  app.post('/sign-out', async (request, response) => {
    const visitor = await sessions.visitorOf(request);
    const form = await readForm(request, FORM_BYTES_MAX);
    if (visitor) {
      if (!isFormToken(visitor, form.form_token)) {
        refuse(languages, response, 403, FORM_OUT_OF_DATE);
        return;
      }
      const { person, session } = visitor;
      await database.people.endWebSession(session, actOf(person, 'sign out', clock));
    }
    sessions.forget(response);
    response.redirect(303, '/sign-in');
  });

  serveLinks(app, deps);
}

function serveLinks(app: Express, deps: SignInDeps): void {
  const { database, clock, languages } = deps;
  const gone = (response: Response): void => {
    const said =
      'This link was used, is too old, or never existed. The operator makes another with `quayside user link NAME`.';
    refuse(languages, response, 404, said);
  };
  const find = (request: Request): Promise<OpenLink | null> =>
    database.people.findLink(hashOf(String(request.params.token)), clock.nowMs());

  app.get('/link/:token', async (request, response) => {
    const link = await find(request);
    if (link) sendLink(deps, response, link, null);
    else if (!(await enterSandbox(deps, response))) gone(response);
  });

  app.post('/link/:token', async (request, response) => {
    const form = await readForm(request, FORM_BYTES_MAX);
    const link = await find(request);
    const words = wordsFor(languages, response);
    const outcome = link && (await claim(deps, words, request, { ...link, form }));
    if (!link || outcome === null) gone(response);
    else if ('fault' in outcome) sendLink(deps, response, link, outcome);
    else {
      outcome.give(response);
      if (outcome.codes === null) response.redirect(303, '/');
      else response.type('html').send(documentOf(words, words.say('Recovery codes'), codesPage(words, outcome.codes)));
    }
  });
}

/**
 * Signs in with the link that a sandbox prints at its start, which leads to the demo store. It works from this machine
 * alone, and only while every network is simulated.
 * @returns false for any other link
 */
async function enterSandbox({ database, sessions, clock, config }: SignInDeps, response: Response): Promise<boolean> {
  const { req: request } = response;
  // A preview of the link asks for its head.
  if (request.method !== 'GET' || !isLoopback(request.ip ?? '') || isFactorRequired(config.networks)) return false;
  const { session, give } = sessions.prepare(SANDBOX_PERSON);
  const person = (await database.people.list()).find(({ id }) => id === SANDBOX_PERSON);
  if (!person) return false;
  const act = actOf(person, 'use a one-time link', clock);
  if (!(await database.people.enter(hashOf(String(request.params.token)), session, act))) return false;
  give(response);
  const store = person.memberships.find(({ storeId }) => storeId !== null);
  response.redirect(303, store ? `/s/${store.storeId}/test/overview` : '/');
  return true;
}

const isChange = (request: Request): boolean => queryOf(request).get('change') === 'yes';

/** Where it leads, or why it was refused. */
type Outcome = Readonly<{ to: string }> | Readonly<{ status: number; why: TextKey }>;

const wrong = {
  status: 403,
  why: 'Name, password or code is wrong, the code was used before, or the account waits after several wrong attempts. Wait a minute for a new code and try again.',
} as const satisfies Outcome;
const wrongPasskey = {
  status: 403,
  why: 'That passkey was refused: the page was open for too long, or the passkey was removed or belongs to another account. Try again, or sign in with your password and a code.',
} as const satisfies Outcome;

async function signIn(deps: SignInDeps, response: Response, form: Form): Promise<Outcome> {
  const { database, passwords, passkeys, clock } = deps;
  const { name = '', password = '', code = '', passkey = '' } = form;
  if (passkey !== '') {
    const used = await passkeys.used(passkey, PURPOSE, (id) => database.people.findPasskey(id));
    const to = used && (await begin(deps, response, used.person, { factor: used.factor, password: null }));
    return to ?? wrongPasskey;
  }
  const nowMs = clock.nowMs();
  const secrets = await database.people.attempt(name.trim(), nowMs);
  const isRight = await passwords.isRight(password, secrets?.password ?? null);
  if (isRight === null) return { status: 503, why: busy };
  if (!secrets || !isRight) return wrong;
  const { person, password: stored } = secrets;
  const isRecovery = person.hasFactor && isRecoveryCode(code);
  const factor = isRecovery ? { recoveryHash: recoveryHash(code) } : usedFactor(secrets, code, nowMs);
  if (person.hasFactor && factor === null) return wrong;
  return (await begin(deps, response, person, { factor, password: stored })) ?? wrong;
}

type Proved = Readonly<{ factor: UsedFactor | Readonly<{ recoveryHash: string }> | null; password: string | null }>;

/** Starts a session, or makes a link where what somebody signs in with is to be set. @returns null if it is refused */
async function begin(
  deps: SignInDeps,
  response: Response,
  person: Person,
  sent: Proved,
): Promise<Readonly<{ to: string }> | null> {
  const { database, clock, sessions, config } = deps;
  const { req: request } = response;
  const proved = { ...sent, address: request.ip ?? 'unknown' };
  const isRecovery = proved.factor !== null && 'recoveryHash' in proved.factor;
  const isMissing = !person.hasFactor && isFactorRequired(config.networks);
  if (isRecovery || isMissing || isChange(request)) {
    const token = newToken();
    const life = { salt: newToken(), expiresAtMs: clock.nowMs() + LINK_LIFE_MS };
    const link = { hash: hashOf(token), ...life, personId: person.id };
    const act = actOf(person, isRecovery ? 'use a recovery code' : 'make an own link', clock);
    const isMade = await database.people.complete(link, proved, act);
    return isMade ? { to: `/link/${token}` } : null;
  }
  const { session, give } = sessions.prepare(person.id);
  if (!(await database.people.complete(session, proved, actOf(person, 'sign in', clock)))) return null;
  give(response);
  return { to: ownPath(queryOf(request).get('to')) ?? '/' };
}

const PATH_CHARS_MAX = 2_000;

/** Returns the page of this dashboard that was asked for before somebody signed in; null for any other address. */
function ownPath(to: string | null): string | null {
  if (to === null || to.length > PATH_CHARS_MAX || !/^\/(?![/\\])[\x21-\x7e]*$/.test(to)) return null;
  return /^\/(sign-in|sign-out|link)\b/.test(to) ? null : to;
}

/** A page for somebody who is not signed in, whose form is sent to its own address. */
type Narrow = Readonly<{ heading: string; refused: Refused | null; said?: Html | null; form: Html; below?: Html }>;

function sendNarrow({ languages }: SignInDeps, response: Response, page: Narrow): void {
  const { heading, refused, said = null, form, below = null } = page;
  const content = html`<main id="main" class="narrow">
<h1>${heading}</h1>
${said}${faultMessage(refused?.fault ?? null)}
<form method="post" class="card">
${form}
</form>
${below}</main>`;
  response
    .status(refused?.status ?? 200)
    .type('html')
    .send(documentOf(wordsFor(languages, response), heading, content));
}

function sendSignIn(deps: SignInDeps, response: Response, refused: Refused | null): void {
  const { languages, passkeys } = deps;
  const words = wordsFor(languages, response);
  const change = isChange(response.req);
  const asked = passkeys.isPossible ? passkeys.request([], PURPOSE) : null;
  const isEnded = queryOf(response.req).get('ended') === 'yes' && refused === null;
  const why = change
    ? 'Show once more that it is you. Then you set a new password, a new app and new recovery codes. Your sessions and passkeys end.'
    : isEnded
      ? 'Your session has ended. Sign in, and you are back where you were.'
      : null;
  sendNarrow(deps, response, {
    heading: words.say(change ? 'Password and codes' : 'Sign in'),
    refused,
    said: why && html`<p class="message attention" role="status">${words.say(why)}</p>`,
    form: html`<label>${words.say('Your name')} <input name="name" autocomplete="username" autocapitalize="none" spellcheck="false" required></label>
<label>${words.say('Password')} <input name="password" type="password" autocomplete="current-password" required></label>
<label>${words.say('Code from your app')} <input name="code" autocomplete="one-time-code" inputmode="text" spellcheck="false" dir="ltr"></label>
<p class="hint">${words.say('Without your phone, enter one of your recovery codes instead. You then set a new password and app.')} ${words.say('Leave it empty if you have set up no app yet.')}</p>
<button>${words.say(change ? 'Continue' : 'Sign in')}</button>
${asked && passkeyButton(words, { field: 'passkey', text: words.say('Sign in with a passkey'), asked })}`,
    below: html`<p class="hint">${words.html('Forgotten? The operator makes you a new link with `quayside user link NAME`.')}</p>\n`,
  });
}

/** A link that is not used yet. */
type OpenLink = Readonly<{ person: Person; salt: string }>;

/** `codes`: for recovery; null where the second factor is set up later. */
type Claimed = Readonly<{ codes: readonly string[] | null; give(response: Response): void }>;

/** @returns null when the link was used meanwhile */
async function claim(
  { database, sessions, passwords, clock, config }: SignInDeps,
  words: Words,
  request: Request,
  { person, salt, form }: OpenLink & Readonly<{ form: Form }>,
): Promise<Claimed | Refused | null> {
  const { password = '', code = '', later } = form;
  const weak = whyWeak(password, person.name);
  if (weak !== null) return { status: 400, fault: sentenceText(words, weak) };
  const token = String(request.params.token);
  const codes = later === 'yes' && !isFactorRequired(config.networks) ? null : newRecoveryCodes();
  const app = codes && newApp(newSecretOf(token, salt), code, clock.nowMs());
  if (codes && !app) {
    const why =
      'That is not the code that the app shows now. Check the clock of your phone, and try the next code.' as const;
    return { status: 400, fault: words.say(why) };
  }
  const stored = await passwords.hash(password);
  if (stored === null) return { status: 503, fault: words.say(busy) };
  const { session, give } = sessions.prepare(person.id);
  const factor = codes && app && { ...app, recoveryHashes: codes.map(recoveryHash) };
  const claimed = { hash: hashOf(token), secrets: { password: stored, factor }, session };
  const isClaimed = await database.people.claimLink(claimed, actOf(person, 'use a one-time link', clock));
  return isClaimed ? { codes, give } : null;
}

function sendLink(
  deps: SignInDeps,
  response: Response,
  { person: { name }, salt }: OpenLink,
  refused: Refused | null,
): void {
  const { languages, config, url } = deps;
  const words = wordsFor(languages, response);
  const secret = newSecretOf(String(response.req.params.token), salt);
  const uri = setUpUri(secret, name, new URL(url).host);
  const mayWait = !isFactorRequired(config.networks);
  const later = html` <button class="plain" name="later" value="yes" formnovalidate>${words.say('Set it up later')}</button>`;
  const why = html`<p class="hint">${words.say('While every network is simulated, your password is enough. A second factor is required before a network with real transactions is used.')}</p>`;
  sendNarrow(deps, response, {
    heading: words.say('Welcome, {name}', { name }),
    refused,
    form: html`<input type="hidden" name="username" autocomplete="username" value="${name}">
<h2>${words.say('1. Choose a password')}</h2>
<label>${words.say('Password')} <input name="password" type="password" autocomplete="new-password" minlength="12" required></label>
<p class="hint">${words.say('At least 12 characters. Four words that nobody would guess are good.')}</p>
<h2>${words.say('2. Scan this with an authenticator app')}</h2>
${qrSvg(uri, words.say('QR code for your authenticator app'))}
<p><a href="${uri}">${words.say('On this phone: open your authenticator app')}</a></p>
<p>${words.html('Or type {secret} into it, by time, six digits.', { secret: html`<code>${secretText(secret)}</code>` })}</p>
<label>${words.say('The code that it shows now')} <input name="code" dir="ltr" autocomplete="one-time-code" inputmode="numeric" pattern="[0-9 ]*" required></label>
<p class="actions"><button>${words.say('Set and sign in')}</button>${mayWait ? later : null}</p>
${mayWait ? why : null}`,
  });
}

/** Returns the codes as a file in a link, so that saving them needs no script, and no second answer with them. */
const codesFile = (codes: readonly string[]): string =>
  `data:text/plain;charset=utf-8,${encodeURIComponent(codes.map((code) => `${code}\n`).join(''))}`;

/** Renders recovery codes, which are shown once. */
const codesPage = (words: Words, codes: readonly string[]): Html => html`<main id="main" class="narrow">
<h1>${words.say('Your recovery codes')}</h1>
<p>${words.say('Each opens your account once, instead of a code from your app. Print or save them now: they are not shown again.')}</p>
<ol class="codes card">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ol>
<p><a class="button plain" download="quayside-recovery-codes.txt" href="${codesFile(codes)}">${words.say('Save as a file')}</a></p>
<label class="screen-only">${words.say('All of them, to copy')} <input readonly data-copy dir="ltr" spellcheck="false" value="${codes.join(' ')}"></label>
<p><a class="button" href="/">${words.say('I have saved them')}</a></p>${copyWords(words)}
</main>`;
