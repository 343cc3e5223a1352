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
    refuse(words, response, 404, words.html('link.gone'));
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
      else
        response.type('html').send(documentOf(words, words.say('link.codes_title'), codesPage(words, outcome.codes)));
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
  if (codes && !app) return { status: 400, fault: words.say('link.code_wrong') };
  const stored = await passwords.hash(password);
  if (stored === null) return { status: 503, fault: words.say('sign-in.busy') };
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
  return html`${qrSvg(uri, words.say('link.qr'))}
<p><a href="${uri}">${words.say('link.open_app')}</a></p>
<p>${words.html('link.type', { secret: html`<code>${secretText(secret)}</code>` })}</p>`;
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
    : html` <button class="plain" name="later" value="yes" formnovalidate>${words.say('link.later')}</button>`;
  const page = html`<main id="main" class="narrow">
<h1>${words.say('link.welcome', { name: person.name })}</h1>
${faultMessage(fault)}
<form method="post" action="${request.path}${language === null ? '' : `?lang=${language}`}" class="card">
<input type="hidden" name="username" autocomplete="username" value="${person.name}">
<h2>${words.say('link.choose')}</h2>
<label>${words.say('link.password')} <input name="password" type="password" autocomplete="new-password" minlength="12" required></label>
<p class="hint">${words.say('link.hint')}</p>
<h2>${words.say('link.scan')}</h2>
${secretShown(deps, words, { secret, name: person.name })}
<label>${words.say('link.code')} <input name="code" dir="ltr" autocomplete="one-time-code" inputmode="numeric" pattern="[0-9 ]*" required></label>
<p class="actions"><button>${words.say('link.button')}</button>${later}</p>
${later === null ? null : html`<p class="hint">${words.say('link.later_hint')}</p>`}
</form>
</main>${languageSwitch(languages, words)}`;
  response
    .status(status)
    .type('html')
    .send(documentOf(words, words.say('link.title'), page));
}

/** Renders recovery codes, which are shown once. */
export const codesShown = (words: Words, codes: readonly string[]): Html =>
  html`<ol class="codes card">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ol>
<p><a class="button plain" download="quayside-recovery-codes.txt" href="${codesFile(codes)}">${words.say('link.codes_download')}</a> <button type="button" class="plain" data-print hidden>${words.say('link.codes_print')}</button></p>
<label class="screen-only">${words.say('link.codes_copy')} <input readonly data-copy dir="ltr" spellcheck="false" value="${codes.join(' ')}"></label>`;

/** Returns the codes as a file in a link, so that saving them needs no script, and no second answer with them. */
const codesFile = (codes: readonly string[]): string =>
  `data:text/plain;charset=utf-8,${encodeURIComponent(codes.map((code) => `${code}\n`).join(''))}`;

const codesPage = (words: Words, codes: readonly string[]): Html => html`<main id="main" class="narrow">
<h1>${words.say('link.codes')}</h1>
<p>${words.say('link.codes_text')}</p>
${codesShown(words, codes)}
<p><a class="button" href="/">${words.say('general.saved_codes')}</a></p>${copyWords(words)}
</main>`;
