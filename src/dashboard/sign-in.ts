/**
 * Signing in and out. Name, password and second factor are sent together and refused with one answer, so that nobody
 * learns which of them was wrong, and no session is ever half signed in. Who has no factor yet leaves the code empty. A
 * passkey is enough by itself. A recovery code leads to a one-time link for a new password and app.
 */
import type { Express, Request, Response } from 'express';
import type { Person, UsedFactor } from '../database/people.ts';
import { queryOf, readForm } from '../lib/form.ts';
import { type Html, html } from '../lib/html.ts';
import { hashOf, newToken } from '../lib/id.ts';
import { createAddressLimiter } from '../lib/rate-limit.ts';
import { actOf, type SignInDeps } from './deps.ts';
import { documentOf, languageSwitch, refuse } from './frame.ts';
import { passkeyButton } from './passkeys.ts';
import { isRecoveryCode, recoveryHash, usedFactor } from './second-factor.ts';
import { faultMessage } from './show.ts';
import { chosenLanguage, setLanguage, wordsFor } from './texts.ts';
import { isFormToken } from './web-session.ts';

const FORM_BYTES_MAX = 4096;
/** Attempts of one subscriber, beside the delay of each account. */
const ATTEMPTS_PER_SECOND = 1 / 3;
const ATTEMPTS_BURST = 20;
const SUBSCRIBERS_MAX = 10_000;

/** The purpose for which a passkey signs. */
const PURPOSE = 'sign in';
const RECOVERY_LIFE_MS = 30 * 60_000;

/** Serves `/sign-in` and `/sign-out`. */
export function serveSignIn(app: Express, deps: SignInDeps): void {
  const { sessions, database, clock, languages } = deps;
  const limiter = createAddressLimiter({
    perSecond: ATTEMPTS_PER_SECOND,
    burst: ATTEMPTS_BURST,
    namesMax: SUBSCRIBERS_MAX,
    clock,
  });

  app.get('/sign-in', async (request, response) => {
    if (await sessions.visitorOf(request)) response.redirect(303, '/');
    else sendForm(deps, response, 200, null);
  });

  app.post('/sign-in', async (request, response) => {
    const words = wordsFor(languages, response);
    const waitS = limiter.take(request.ip ?? '');
    if (waitS > 0) {
      response.set('Retry-After', String(waitS));
      sendForm(
        deps,
        response,
        429,
        words.html('Too many attempts from your address. Try again in {seconds} s.', { seconds: waitS }),
      );
      return;
    }
    const form = await readForm(request, FORM_BYTES_MAX);
    const outcome = await signIn(deps, request, response, form);
    if (outcome === 'wrong') {
      sendForm(
        deps,
        response,
        403,
        words.say(
          form.passkey
            ? 'That passkey was refused: the page was open for too long, or the passkey was removed or belongs to another account. Try again, or sign in with your password and a code.'
            : 'Name, password or code is wrong, the code was used before, or the account waits after several wrong attempts. Wait a minute for a new code and try again.',
        ),
      );
    } else if (outcome === 'busy')
      sendForm(deps, response, 503, words.say('Others are signing in right now. Try again in a few seconds.'));
    else response.redirect(303, outcome.to);
  });

  app.post('/sign-out', async (request, response) => {
    const visitor = await sessions.visitorOf(request);
    const form = await readForm(request, FORM_BYTES_MAX);
    if (visitor) {
      if (!isFormToken(visitor, form.form_token)) {
        setLanguage(response, visitor.person.language);
        const words = wordsFor(languages, response);
        refuse(words, response, 403, words.say('This form is out of date. Go back, reload the page and try again.'));
        return;
      }
      const { person, session } = visitor;
      await database.signIns.endWebSessions(person.id, { only: session.hash }, actOf(person, 'sign out', clock));
    }
    sessions.forget(response);
    response.redirect(303, '/sign-in');
  });
}

/** `to`: where it leads. */
type Outcome = Readonly<{ to: string }> | 'wrong' | 'busy';

async function signIn(
  deps: SignInDeps,
  request: Request,
  response: Response,
  form: Readonly<Record<string, string>>,
): Promise<Outcome> {
  const { database, passwords, passkeys, clock } = deps;
  const { name = '', password = '', code = '', passkey = '' } = form;

  async function start(person: Person, factor: UsedFactor | null, password: string | null): Promise<Outcome> {
    const { session, give } = deps.sessions.prepare(request, person.id);
    const act = actOf(person, 'sign in', clock);
    if (!(await database.signIns.complete(session, { factor, password }, act))) return 'wrong';
    await keepLanguage(deps, response, person);
    give(response);
    return { to: ownPath(queryOf(request).get('to')) ?? '/' };
  }

  if (passkey !== '') {
    const used = await passkeys.used(passkey, PURPOSE, (id) => database.signIns.findPasskey(id));
    return used ? start(used.person, used.factor, null) : 'wrong';
  }
  const nowMs = clock.nowMs();
  const secrets = await database.signIns.attempt(name.trim(), nowMs);
  const isRight = await passwords.isRight(password, secrets?.password ?? null);
  if (isRight === null) return 'busy';
  if (!secrets || !isRight) return 'wrong';
  const { person, password: stored } = secrets;
  if (!person.hasFactor) return start(person, null, stored);
  if (isRecoveryCode(code)) {
    const token = newToken();
    const link = { hash: hashOf(token), salt: newToken(), expiresAtMs: nowMs + RECOVERY_LIFE_MS };
    const used = { password: stored, recoveryHash: recoveryHash(code), address: request.ip ?? 'unknown', link };
    const isUsed = await database.signIns.recover(person.id, used, actOf(person, 'use a recovery code', clock));
    const language = chosenLanguage(deps.languages, response);
    return isUsed ? { to: `/link/${token}${language === null ? '' : `?lang=${language}`}` } : 'wrong';
  }
  const factor = usedFactor(secrets, code, nowMs);
  return factor ? start(person, factor, stored) : 'wrong';
}

/** Keeps the language that somebody chose before they signed in. */
export async function keepLanguage(
  { database, languages, clock }: SignInDeps,
  response: Response,
  person: Person,
): Promise<void> {
  const chosen = chosenLanguage(languages, response);
  if (chosen !== null) await database.people.setLanguage(person.id, chosen, actOf(person, 'set language', clock));
}

const PATH_CHARS_MAX = 2_000;

/** Returns the page of this dashboard that was asked for before somebody signed in; null for any other address. */
function ownPath(to: string | null): string | null {
  if (to === null || to.length > PATH_CHARS_MAX || !/^\/(?![/\\])[\x21-\x7e]*$/.test(to)) return null;
  return /^\/(sign-in|sign-out|link)\b/.test(to) ? null : to;
}

function sendForm(
  { languages, passkeys }: SignInDeps,
  response: Response,
  status: number,
  fault: Html | string | null,
): void {
  const words = wordsFor(languages, response);
  const query = queryOf(response.req);
  const [to, language] = [ownPath(query.get('to')), chosenLanguage(languages, response)];
  const isEnded = query.get('ended') === 'yes' && fault === null;
  // The address keeps the language, and where it leads.
  const kept = new URLSearchParams({ ...(language !== null && { lang: language }), ...(to !== null && { to }) });
  const asked = passkeys.isPossible ? passkeys.request([], PURPOSE) : null;
  const page = html`<main id="main" class="narrow">
<h1>${words.say('Sign in')}</h1>
${isEnded ? html`<p class="message attention" role="status">${words.say('Your session has ended. Sign in, and you are back where you were.')}</p>` : null}${faultMessage(fault)}
<form method="post" action="${kept.size === 0 ? '/sign-in' : `/sign-in?${kept}`}" class="card">
<label>${words.say('Your name')} <input name="name" autocomplete="username" autocapitalize="none" spellcheck="false" required></label>
<label>${words.say('Password')} <input name="password" type="password" autocomplete="current-password" required></label>
<label>${words.say('Code from your app')} <input name="code" autocomplete="one-time-code" inputmode="text" spellcheck="false" dir="ltr"></label>
<p class="hint">${words.say('Without your phone, enter one of your recovery codes instead. You then set a new password and app.')} ${words.say('Leave it empty if you have set up no app yet.')}</p>
<button>${words.say('Sign in')}</button>
${asked === null ? null : passkeyButton(words, { field: 'passkey', text: words.say('Sign in with a passkey'), asked })}
</form>
<p class="hint">${words.html('Forgotten? Whoever runs this installation makes you a new link with `quayside user link NAME`.')}</p>
</main>${languageSwitch(languages, words, to === null ? {} : { to })}`;
  response
    .status(status)
    .type('html')
    .send(documentOf(words, words.say('Sign in'), page));
}
