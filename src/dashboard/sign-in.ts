/**
 * Signing in and out. Name, password and second factor are sent together and refused with one answer, so that nobody
 * learns which of them was wrong, and no session is ever half signed in.
 * @module
 */
import type { Express, Request, Response } from 'express';
import type { Person, UsedFactor } from '../database/people.ts';
import { readForm } from '../lib/form.ts';
import { type Html, html } from '../lib/html.ts';
import { createLimiter, subscriberOf } from '../lib/rate-limit.ts';
import { actOf, type SignInDeps } from './deps.ts';
import { documentOf } from './frame.ts';
import { passkeyButton } from './passkey-button.ts';
import type { UsedPasskey } from './passkeys.ts';
import { refuse } from './refusal.ts';
import { usedFactor } from './second-factor.ts';
import { isFormToken } from './web-session.ts';

const FORM_BYTES_MAX = 4096;
/** Attempts of one subscriber, beside the delay of each account. */
const ATTEMPTS_PER_SECOND = 1 / 3;
const ATTEMPTS_BURST = 20;
const SUBSCRIBERS_MAX = 10_000;

const WRONG =
  'Name, password or code is wrong, the code was used before, or the account waits after several wrong attempts. ' +
  'Wait a minute for a new code and try again.';

const WRONG_PASSKEY =
  'That passkey was refused: the page was open for too long, or the passkey was removed or belongs to another account. ' +
  'Try again, or sign in with your password and a code.';

/** What a passkey signs for. */
const PURPOSE = 'sign in';

/** Serves `/sign-in` and `/sign-out`. */
export function serveSignIn(app: Express, deps: SignInDeps): void {
  const { sessions, database, clock, passkeys } = deps;
  const limiter = createLimiter({
    perSecond: ATTEMPTS_PER_SECOND,
    burst: ATTEMPTS_BURST,
    namesMax: SUBSCRIBERS_MAX,
    clock,
  });

  const sendForm = (response: Response, status: number, fault: string | null) => {
    const asked = passkeys.isPossible ? passkeys.request(null, PURPOSE) : null;
    response
      .status(status)
      .type('html')
      .send(documentOf('Sign in', signInForm(fault, asked)));
  };

  app.get('/sign-in', async (request, response) => {
    if (await sessions.visitorOf(request)) response.redirect(303, '/');
    else sendForm(response, 200, null);
  });

  app.post('/sign-in', async (request, response) => {
    const waitS = limiter.take(subscriberOf(request.ip ?? ''));
    if (waitS > 0) {
      response.set('Retry-After', String(waitS));
      sendForm(response, 429, `Too many attempts from your address. Try again in ${waitS} s.`);
      return;
    }
    const form = await readForm(request, FORM_BYTES_MAX);
    const outcome = await signIn(deps, request, form);
    if (outcome === 'wrong') sendForm(response, 403, form.passkey ? WRONG_PASSKEY : WRONG);
    else if (outcome === 'busy')
      sendForm(response, 503, 'Others are signing in right now. Try again in a few seconds.');
    else {
      outcome.give(response);
      response.redirect(303, '/');
    }
  });

  app.post('/sign-out', async (request, response) => {
    const visitor = await sessions.visitorOf(request);
    const form = await readForm(request, FORM_BYTES_MAX);
    if (visitor) {
      if (!isFormToken(visitor, form.form_token)) {
        refuse(response, 403, 'This form is out of date. Go back, reload the page and try again.');
        return;
      }
      const { person, session } = visitor;
      await database.endWebSessions(person.id, { only: session.hash }, actOf(person, 'sign out', clock));
    }
    sessions.forget(response);
    response.redirect(303, '/sign-in');
  });
}

type SignedIn = Readonly<{ give(response: Response): void }>;

type Form = Readonly<Record<string, string>>;

/** A passkey is enough by itself, and takes the place of the code if a password is typed too. */
async function signIn(deps: SignInDeps, request: Request, form: Form): Promise<SignedIn | 'wrong' | 'busy'> {
  const { database, sessions, passkeys, clock } = deps;
  const { name = '', password = '', code = '', passkey = '' } = form;
  const used = passkey === '' ? null : await passkeys.used(passkey, PURPOSE, (id) => database.findPasskey(id));
  if (passkey !== '' && !used) return 'wrong';
  let proved: Proved | 'wrong' | 'busy' | null = used;
  if (!used || password !== '') {
    const device = sessions.deviceOf(request);
    proved = await checkPassword(deps, { name: name.trim(), password, device }, used ?? { code });
  }
  if (proved === null || proved === 'wrong' || proved === 'busy') return proved ?? 'wrong';
  const { session, give } = sessions.prepare(request, proved.person.id);
  return (await database.signIn(session, proved.factor, actOf(proved.person, 'sign in', clock))) ? { give } : 'wrong';
}

type Proved = Readonly<{ person: Person; factor: UsedFactor }>;

async function checkPassword(
  { database, passwords, clock }: SignInDeps,
  { name, password, device }: Readonly<{ name: string; password: string; device: string | null }>,
  second: UsedPasskey | Readonly<{ code: string }>,
): Promise<Proved | 'wrong' | 'busy'> {
  const secrets = await database.findSignInSecrets(name);
  const nowMs = clock.nowMs();
  const waits = secrets !== null && (await database.beginSignIn(secrets.person.id, device, nowMs)) > 0;
  const isRight = await passwords.isRight(password, secrets && !waits ? secrets.password : null);
  if (isRight === null) return 'busy';
  if (!secrets || !isRight) return 'wrong';
  if ('person' in second) return second.person.id === secrets.person.id ? second : 'wrong';
  const factor = usedFactor(secrets, second.code, nowMs);
  return factor ? { person: secrets.person, factor } : 'wrong';
}

/** @param asked what a passkey is asked for; null where browsers cannot use any */
const signInForm = (fault: string | null, asked: string | null): Html => html`<main id="main" class="narrow">
<h1>Sign in</h1>
${fault === null ? null : html`<p class="message fault" role="alert">${fault}</p>`}
<form method="post" action="/sign-in" class="card">
<label>Name <input name="name" autocomplete="username" autocapitalize="none" spellcheck="false" required></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<label>Code from your app <input name="code" autocomplete="one-time-code" inputmode="text" spellcheck="false" required></label>
<p class="hint">Without your phone, enter one of your recovery codes instead.</p>
<button>Sign in</button>
${asked === null ? null : passkeyButton('passkey', 'Sign in with a passkey', asked)}
</form>
<p class="hint">Forgotten? Whoever runs this installation makes you a new link with <code>quayside user reset NAME</code>.</p>
</main>`;
