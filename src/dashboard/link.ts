/**
 * The page of a one-time link: somebody sets a password and a second factor, and is signed in. While every network is
 * simulated, the second factor may wait.
 */
import type { Express, Request, Response } from 'express';
import type { Person } from '../database/people.ts';
import { readForm } from '../lib/form.ts';
import { type Html, html } from '../lib/html.ts';
import { hashOf } from '../lib/id.ts';
import { qrSvg } from '../lib/qr.ts';
import { actOf, type DashboardDeps, type SignInDeps } from './deps.ts';
import { copyWords, documentOf, languageSwitch, refuse } from './frame.ts';
import { whyWeak } from './passwords.ts';
import {
  isFactorRequired,
  newApp,
  newRecoveryCodes,
  newSecretOf,
  recoveryHash,
  secretText,
  setUpUri,
} from './second-factor.ts';
import { sentenceText } from './sentence.ts';
import { faultMessage } from './show.ts';
import { keepLanguage } from './sign-in.ts';
import { chosenLanguage, type Words, wordsFor } from './texts.ts';

const FORM_BYTES_MAX = 4096;

/** Serves `/link/:token`. */
export function serveLinks(app: Express, deps: SignInDeps): void {
  const { database, clock, languages } = deps;
  const refuseGone = (response: Response): void => {
    const words = wordsFor(languages, response);
    refuse(
      words,
      response,
      404,
      words.html(
        'This link was used, is too old, or never existed. Whoever runs this installation makes another with `quayside user link NAME`.',
      ),
    );
  };
  const find = (request: Request): Promise<OpenLink | null> =>
    database.signIns.findLink(hashOf(String(request.params.token)), clock.nowMs());

  app.get('/link/:token', async (request, response) => {
    const link = await find(request);
    if (link) sendForm(deps, request, response, { ...link, status: 200, fault: null });
    else refuseGone(response);
  });

  app.post('/link/:token', async (request, response) => {
    const form = await readForm(request, FORM_BYTES_MAX);
    const link = await find(request);
    const words = wordsFor(languages, response);
    const outcome = link && (await claim(deps, words, request, { ...link, form }));
    if (!link || outcome === null) refuseGone(response);
    else if ('fault' in outcome) sendForm(deps, request, response, { ...link, ...outcome });
    else {
      outcome.give(response);
      await keepLanguage(deps, response, link.person);
      if (outcome.codes === null) response.redirect(303, '/');
      else response.type('html').send(documentOf(words, words.say('Recovery codes'), codesPage(words, outcome.codes)));
    }
  });
}

/** A link that is not used yet. */
type OpenLink = Readonly<{ person: Person; salt: string }>;

type Refused = Readonly<{ status: number; fault: string }>;
/** `codes`: for recovery; null where the second factor is set up later. */
type Claimed = Readonly<{ codes: readonly string[] | null; give(response: Response): void }>;

/** @returns null when the link was used meanwhile */
async function claim(
  { database, sessions, passwords, clock, config }: SignInDeps,
  words: Words,
  request: Request,
  { person, salt, form }: OpenLink & Readonly<{ form: Readonly<Record<string, string>> }>,
): Promise<Claimed | Refused | null> {
  const { password = '', code = '', later } = form;
  const weak = whyWeak(password, person.name);
  if (weak !== null) return { status: 400, fault: sentenceText(words, weak) };
  const token = String(request.params.token);
  const codes = later === 'yes' && !isFactorRequired(config.networks) ? null : newRecoveryCodes();
  const app = codes && newApp(newSecretOf(token, salt), code, clock.nowMs());
  if (codes && !app)
    return {
      status: 400,
      fault: words.say(
        'That is not the code that the app shows now. Check the clock of your phone, and try the next code.',
      ),
    };
  const stored = await passwords.hash(password);
  if (stored === null)
    return { status: 503, fault: words.say('Others are signing in right now. Try again in a few seconds.') };
  const { session, give } = sessions.prepare(request, person.id);
  const factor = codes && app && { ...app, recoveryHashes: codes.map(recoveryHash) };
  const claimed = { hash: hashOf(token), secrets: { password: stored, factor }, session };
  const isClaimed = await database.signIns.claimLink(claimed, actOf(person, 'use a one-time link', clock));
  return isClaimed ? { codes, give } : null;
}

/** Renders the secret of one-time codes, to be scanned or typed into an app. */
export function secretShown(
  { url }: Pick<DashboardDeps, 'url'>,
  words: Words,
  { secret, name }: Readonly<{ secret: string; name: string }>,
): Html {
  const uri = setUpUri(secret, name, new URL(url).host);
  return html`${qrSvg(uri, words.say('QR code for your authenticator app'))}
<p><a href="${uri}">${words.say('On this phone: open your authenticator app')}</a></p>
<p>${words.html('Or type {secret} into it, by time, six digits.', { secret: html`<code>${secretText(secret)}</code>` })}</p>`;
}

function sendForm(
  deps: SignInDeps,
  request: Request,
  response: Response,
  { person, salt, status, fault }: OpenLink & Readonly<{ status: number; fault: string | null }>,
): void {
  const { languages, config } = deps;
  const secret = newSecretOf(String(request.params.token), salt);
  const words = wordsFor(languages, response);
  const language = chosenLanguage(languages, response);
  const later = isFactorRequired(config.networks)
    ? null
    : html` <button class="plain" name="later" value="yes" formnovalidate>${words.say('Set it up later')}</button>`;
  const page = html`<main id="main" class="narrow">
<h1>${words.say('Welcome, {name}', { name: person.name })}</h1>
${faultMessage(fault)}
<form method="post" action="${request.path}${language === null ? '' : `?lang=${language}`}" class="card">
<input type="hidden" name="username" autocomplete="username" value="${person.name}">
<h2>${words.say('1. Choose a password')}</h2>
<label>${words.say('Password')} <input name="password" type="password" autocomplete="new-password" minlength="12" required></label>
<p class="hint">${words.say('At least 12 characters. Four words that nobody would guess are good.')}</p>
<h2>${words.say('2. Scan this with an authenticator app')}</h2>
${secretShown(deps, words, { secret, name: person.name })}
<label>${words.say('The code that it shows now')} <input name="code" dir="ltr" autocomplete="one-time-code" inputmode="numeric" pattern="[0-9 ]*" required></label>
<p class="actions"><button>${words.say('Set and sign in')}</button>${later}</p>
${later === null ? null : html`<p class="hint">${words.say('While every network is simulated, your password is enough. A second factor is required before a network with real transactions is used.')}</p>`}
</form>
</main>${languageSwitch(languages, words)}`;
  response
    .status(status)
    .type('html')
    .send(documentOf(words, words.say('Welcome'), page));
}

/** Renders recovery codes, which are shown once. */
export const codesShown = (words: Words, codes: readonly string[]): Html =>
  html`<ol class="codes card">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ol>
<p><a class="button plain" download="quayside-recovery-codes.txt" href="${codesFile(codes)}">${words.say('Save as a file')}</a> <button type="button" class="plain" data-print hidden>${words.say('Print')}</button></p>
<label class="screen-only">${words.say('All of them, to copy')} <input readonly data-copy dir="ltr" spellcheck="false" value="${codes.join(' ')}"></label>`;

/** Returns the codes as a file in a link, so that saving them needs no script, and no second answer with them. */
const codesFile = (codes: readonly string[]): string =>
  `data:text/plain;charset=utf-8,${encodeURIComponent(codes.map((code) => `${code}\n`).join(''))}`;

const codesPage = (words: Words, codes: readonly string[]): Html => html`<main id="main" class="narrow">
<h1>${words.say('Your recovery codes')}</h1>
<p>${words.say('Each opens your account once, instead of a code from your app. Print or save them now: they are not shown again.')}</p>
${codesShown(words, codes)}
<p><a class="button" href="/">${words.say('I have saved them')}</a></p>${copyWords(words)}
</main>`;
