/**
 * Signing in and out. Name, password and second factor are sent together and refused with one answer, so that nobody
 * learns which of them was wrong, and no session is ever half signed in. Who has no factor yet leaves the code empty.
 */
import type { Express, Request, Response } from 'express';
import type { Person, UsedFactor } from '../database/people/person.ts';
import { queryOf, readForm } from '../lib/form.ts';
import { type Html, html } from '../lib/html.ts';
import { createAddressLimiter } from '../lib/rate-limit.ts';
import { actOf, type SignInDeps } from './deps.ts';
import { documentOf, languageSwitch } from './frame.ts';
import { passkeyButton } from './passkey-button.ts';
import type { UsedPasskey } from './passkeys.ts';
import { refuse } from './refusal.ts';
import { usedFactor } from './second-factor.ts';
import { faultMessage } from './show.ts';
import { chosenLanguage, setLanguage, type Words, wordsFor } from './texts.ts';
import { isFormToken } from './web-session.ts';

const FORM_BYTES_MAX = 4096;
/** Attempts of one subscriber, beside the delay of each account. */
const ATTEMPTS_PER_SECOND = 1 / 3;
const ATTEMPTS_BURST = 20;
const SUBSCRIBERS_MAX = 10_000;

/** What a passkey signs for. */
const PURPOSE = 'sign in';

/** Serves `/sign-in` and `/sign-out`. */
export function serveSignIn(app: Express, deps: SignInDeps): void {
  const { sessions, database, clock, passkeys, languages } = deps;
  const limiter = createAddressLimiter({
    perSecond: ATTEMPTS_PER_SECOND,
    burst: ATTEMPTS_BURST,
    namesMax: SUBSCRIBERS_MAX,
    clock,
  });

  const sendForm = (response: Response, status: number, fault: Html | string | null) => {
    const words = wordsFor(languages, response);
    const asked = passkeys.isPossible ? passkeys.request(null, PURPOSE) : null;
    const query = queryOf(response.req);
    const to = ownPath(query.get('to'));
    const form = signInForm(words, {
      ...{ fault, asked, to, isEnded: query.get('ended') === 'yes' && fault === null },
      language: chosenLanguage(languages, response),
    });
    const page = html`${form}${languageSwitch(languages, words, to === null ? {} : { to })}`;
    response
      .status(status)
      .type('html')
      .send(documentOf(words, words.say('sign-in.title'), page));
  };

  app.get('/sign-in', async (request, response) => {
    if (await sessions.visitorOf(request)) response.redirect(303, '/');
    else sendForm(response, 200, null);
  });

  app.post('/sign-in', async (request, response) => {
    const words = wordsFor(languages, response);
    const waitS = limiter.take(request.ip ?? '');
    if (waitS > 0) {
      response.set('Retry-After', String(waitS));
      sendForm(response, 429, words.html('sign-in.too_many', { seconds: waitS }));
      return;
    }
    const form = await readForm(request, FORM_BYTES_MAX);
    const outcome = await signIn(deps, request, form);
    if (outcome === 'wrong')
      sendForm(response, 403, words.say(form.passkey ? 'sign-in.wrong_passkey' : 'sign-in.wrong'));
    else if (outcome === 'busy') sendForm(response, 503, words.say('sign-in.busy'));
    else {
      await keepLanguage(deps, response, outcome.person);
      outcome.give(response);
      // There the app that is lost is replaced.
      response.redirect(303, outcome.isRecovered ? '/account' : (ownPath(queryOf(request).get('to')) ?? '/'));
    }
  });

  app.post('/sign-out', async (request, response) => {
    const visitor = await sessions.visitorOf(request);
    const form = await readForm(request, FORM_BYTES_MAX);
    if (visitor) {
      if (!isFormToken(visitor, form.form_token)) {
        setLanguage(response, visitor.person.language);
        const words = wordsFor(languages, response);
        refuse(words, response, 403, words.say('general.form_old'));
        return;
      }
      const { person, session } = visitor;
      await database.signIns.endWebSessions(person.id, { only: session.hash }, actOf(person, 'sign out', clock));
    }
    sessions.forget(response);
    response.redirect(303, '/sign-in');
  });
}

/** `isRecovered`: with a recovery code. */
type SignedIn = Readonly<{ person: Person; isRecovered: boolean; give(response: Response): void }>;

type Form = Readonly<Record<string, string>>;

/** A passkey is enough by itself, and takes the place of the code if a password is typed too. */
async function signIn(deps: SignInDeps, request: Request, form: Form): Promise<SignedIn | 'wrong' | 'busy'> {
  const { database, sessions, passkeys, clock } = deps;
  const { name = '', password = '', code = '', passkey = '' } = form;
  const used = passkey === '' ? null : await passkeys.used(passkey, PURPOSE, (id) => database.people.findPasskey(id));
  if (passkey !== '' && !used) return 'wrong';
  let proved: Proved | 'wrong' | 'busy' | null = used && { ...used, password: null };
  if (!used || password !== '') {
    proved = await checkPassword(deps, { name: name.trim(), password }, used ?? { code });
  }
  if (proved === null || proved === 'wrong' || proved === 'busy') return proved ?? 'wrong';
  const { session, give } = sessions.prepare(request, proved.person.id);
  const { person } = proved;
  const isRecovered = proved.factor !== null && 'recoveryHash' in proved.factor;
  return (await database.signIns.complete(session, proved, actOf(person, 'sign in', clock)))
    ? { person, isRecovered, give }
    : 'wrong';
}

/** `password`: as it is stored; null if a passkey was enough. `factor`: null for a person who has none. */
type Proved = Readonly<{ person: Person; factor: UsedFactor | null; password: string | null }>;

async function checkPassword(
  { database, passwords, clock }: SignInDeps,
  { name, password }: Readonly<{ name: string; password: string }>,
  second: UsedPasskey | Readonly<{ code: string }>,
): Promise<Proved | 'wrong' | 'busy'> {
  const secrets = await database.signIns.findSecrets(name);
  const nowMs = clock.nowMs();
  const waits = secrets !== null && (await database.signIns.begin(secrets.person.id, nowMs)) > 0;
  const isRight = await passwords.isRight(password, secrets && !waits ? secrets.password : null);
  if (isRight === null) return 'busy';
  if (!secrets || !isRight) return 'wrong';
  const { person, password: stored } = secrets;
  if ('person' in second) return second.person.id === person.id ? { ...second, password: stored } : 'wrong';
  if (!person.hasFactor) return { person, factor: null, password: stored };
  const factor = usedFactor(secrets, second.code, nowMs);
  return factor ? { person, factor, password: stored } : 'wrong';
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

/** `to`: where it leads; `isEnded`: a session of this browser is over. */
type Shown = Readonly<{
  fault: Html | string | null;
  asked: string | null;
  language: string | null;
  to: string | null;
  isEnded: boolean;
}>;

/** The address of the form, which keeps the language and where it leads. */
function actionOf({ language, to }: Pick<Shown, 'language' | 'to'>): string {
  const query = new URLSearchParams({ ...(language !== null && { lang: language }), ...(to !== null && { to }) });
  return query.size === 0 ? '/sign-in' : `/sign-in?${query}`;
}

/** @param shown `asked`: what a passkey is asked for; null where browsers cannot use any */
const signInForm = (
  words: Words,
  { fault, asked, language, to, isEnded }: Shown,
): Html => html`<main id="main" class="narrow">
<h1>${words.say('sign-in.title')}</h1>
${isEnded ? html`<p class="message attention" role="status">${words.say('sign-in.ended')}</p>` : null}${faultMessage(fault)}
<form method="post" action="${actionOf({ language, to })}" class="card">
<label>${words.say('sign-in.name')} <input name="name" autocomplete="username" autocapitalize="none" spellcheck="false" required></label>
<label>${words.say('sign-in.password')} <input name="password" type="password" autocomplete="current-password" required></label>
<label>${words.say('general.code')} <input name="code" autocomplete="one-time-code" inputmode="text" spellcheck="false" dir="ltr"></label>
<p class="hint">${words.say('sign-in.recovery')} ${words.say('sign-in.no_factor')}</p>
<button>${words.say('sign-in.button')}</button>
${asked === null ? null : passkeyButton(words, { field: 'passkey', text: words.say('sign-in.passkey'), asked })}
</form>
<p class="hint">${words.html('sign-in.forgotten')}</p>
</main>`;
