/**
 * The page of a one-time link: somebody sets a password and a second factor, and is signed in.
 * @module
 */
import type { Express, Request, Response } from 'express';
import type { Person } from '../database/people.ts';
import { readForm } from '../lib/form.ts';
import { type Html, html } from '../lib/html.ts';
import { qrSvg } from '../lib/qr.ts';
import { actOf, type SignInDeps } from './deps.ts';
import { documentOf } from './frame.ts';
import { whyWeak } from './passwords.ts';
import { refuse } from './refusal.ts';
import { newRecoveryCodes, recoveryHash, secretOfLink, secretText, setUpUri, stepOf } from './second-factor.ts';
import { hashOf } from './web-session.ts';

const FORM_BYTES_MAX = 4096;
const GONE =
  'This link was used, is too old, or never existed. Whoever runs this installation makes another with ' +
  '`quayside user reset NAME`.';

/** Serves `/link/:token`. */
export function serveLinks(app: Express, deps: SignInDeps): void {
  const { database, clock } = deps;
  const find = (request: Request): Promise<Person | null> =>
    database.findSignInLink(hashOf(String(request.params.token)), clock.nowMs());

  app.get('/link/:token', async (request, response) => {
    const person = await find(request);
    if (person) sendForm(deps, request, response, { person, status: 200, fault: null });
    else refuse(response, 404, GONE);
  });

  app.post('/link/:token', async (request, response) => {
    const form = await readForm(request, FORM_BYTES_MAX);
    const person = await find(request);
    if (!person) {
      refuse(response, 404, GONE);
      return;
    }
    const outcome = await claim(deps, request, person, form);
    if ('codes' in outcome) {
      outcome.give(response);
      response.type('html').send(documentOf('Recovery codes', codesPage(outcome.codes)));
    } else if (outcome.status === 404) refuse(response, 404, GONE);
    else sendForm(deps, request, response, { person, ...outcome });
  });
}

type Refused = Readonly<{ status: number; fault: string }>;
type Claimed = Readonly<{ codes: readonly string[]; give(response: Response): void }>;

async function claim(
  { database, sessions, passwords, clock }: SignInDeps,
  request: Request,
  person: Person,
  { password = '', code = '' }: Readonly<Record<string, string>>,
): Promise<Claimed | Refused> {
  const weak = whyWeak(password, person.name);
  if (weak !== null) return { status: 400, fault: weak };
  const token = String(request.params.token);
  const totpSecret = secretOfLink(token);
  const totpStep = stepOf(totpSecret, code.replace(/\s/g, ''), clock.nowMs(), 0);
  if (totpStep === null) {
    return {
      status: 400,
      fault: 'That is not the code that the app shows now. Check the clock of your phone, and try the next code.',
    };
  }
  const stored = await passwords.hash(password);
  if (stored === null) return { status: 503, fault: 'Others are signing in right now. Try again in a few seconds.' };
  const codes = newRecoveryCodes();
  const { session, give } = sessions.prepare(request, person.id);
  const secrets = { password: stored, totpSecret, totpStep, recoveryHashes: codes.map(recoveryHash) };
  const act = actOf(person, 'use a one-time link', clock);
  const isClaimed = await database.claimSignInLink({ hash: hashOf(token), secrets, session }, act);
  return isClaimed ? { codes, give } : { status: 404, fault: GONE };
}

type Shown = Readonly<{ person: Person; status: number; fault: string | null }>;

function sendForm({ url }: SignInDeps, request: Request, response: Response, { person, status, fault }: Shown): void {
  const secret = secretOfLink(String(request.params.token));
  const uri = setUpUri(secret, person.name, new URL(url).host);
  const page = html`<main id="main" class="narrow">
<h1>Welcome, ${person.name}</h1>
${fault === null ? null : html`<p class="message fault" role="alert">${fault}</p>`}
<form method="post" action="${request.path}" class="card">
<input type="hidden" name="username" autocomplete="username" value="${person.name}">
<h2>1. Scan this with an authenticator app</h2>
${qrSvg(uri, 'QR code for your authenticator app')}
<p>Or type <code>${secretText(secret)}</code> into it, by time, six digits.</p>
<label>The code that it shows now <input name="code" autocomplete="one-time-code" inputmode="numeric" pattern="[0-9 ]*" required></label>
<h2>2. Choose a password</h2>
<label>Password <input name="password" type="password" autocomplete="new-password" minlength="12" required></label>
<p class="hint">At least 12 characters. Four words that nobody would guess are good.</p>
<button>Set and sign in</button>
</form>
</main>`;
  response.status(status).type('html').send(documentOf('Welcome', page));
}

const codesPage = (codes: readonly string[]): Html => html`<main id="main" class="narrow">
<h1>Your recovery codes</h1>
<p>Each opens your account once, instead of a code from your app. Print or save them now: they are not shown again.</p>
<ol class="codes card">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ol>
<p><a class="button" href="/">I have saved them</a></p>
</main>`;
