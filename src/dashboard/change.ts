/**
 * Asks before an act is done: a page shows its consequences, and what lets money or power out asks for the second
 * factor again, by a code or by a passkey that signs for this very form. The session gets another token then. Recovery
 * codes do not count here. Without a factor nothing is proved while every network is simulated, except for what is
 * live. A form that is sent twice is done once.
 */

import { createHash } from 'node:crypto';
import type { Asks, Fact, Review } from '../acts/act.ts';
import type { UsedFactor } from '../database/people.ts';
import { type Html, html } from '../lib/html.ts';
import { hashOf, newToken } from '../lib/id.ts';
import { facts } from '../web/list.ts';
import { createOnce, onceField } from '../web/once.ts';
import { faultMessage } from '../web/show.ts';
import { actOf, type DashboardDeps } from './deps.ts';
import { formTokenField } from './frame.ts';
import type { Reply, StoreAt, Visit } from './page.ts';
import { passkeyButton } from './passkeys.ts';
import { isFactorRequired, isRecoveryCode, usedFactor } from './second-factor.ts';
import { sentence, sentenceText, shownValue, type TextKey } from './texts.ts';
import { SUDO_MS } from './web-session.ts';

/** An act's review, and the proof that it asks for. */
type Asked = Readonly<{
  /** Undefined for what is done at once. */
  review: Review | undefined;
  /** Where Cancel leads. */
  back: string;
  /** The second factor is asked for again where money or power goes out. */
  asks: Asks;
}>;

type AnyVisit = Visit<StoreAt | null>;

/** The hidden fields of every form that changes something. */
export const changeFields = ({ visitor, nowMs }: Pick<Visit<unknown>, 'visitor' | 'nowMs'>): Html =>
  html`${formTokenField(visitor.formToken)}${onceField(nowMs)}`;

export const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

/** `token`: the session's new one, where the second factor was proved. */
export type Answered = Readonly<{ reply: Reply; token: string | null }>;

/** Returns what answers a form that changes something, once for what is sent twice. */
export function answeringOnce(answer: (visit: AnyVisit) => Promise<Answered>): (visit: AnyVisit) => Promise<Reply> {
  const once = createOnce<Answered>();
  return async (visit) => {
    const { visitor, path, form, nowMs } = visit;
    const work = () => answer(visit);
    const sent = createHash('sha256').update(JSON.stringify(form)).digest('hex');
    const { reply, token } = await (form.once === undefined
      ? work()
      : once(`${visitor.formToken} ${path} ${sent}`, nowMs, work));
    if (token !== null) visit.renew(token);
    return reply;
  };
}

/** Returns the page that asks; without a reply, all is confirmed. */
export async function confirmed(
  deps: DashboardDeps,
  visit: AnyVisit,
  asked: Asked,
): Promise<Answered | Readonly<{ token: string | null }>> {
  const { form, words } = visit;
  const { review, asks, back } = asked;
  if (!review || asks === 'nothing') return { token: null };
  const needed = asks === 'second factor' ? neededFor(deps, visit) : 'nothing';
  if (needed === 'a factor') {
    return {
      reply: {
        to: '/account',
        said: words.say('This needs a second factor. Set up an authenticator app, then try again.'),
      },
      token: null,
    };
  }
  const carried = Object.entries(form).filter(([name]) => !ownFields.includes(name));
  const ask = async (fault: string | null): Promise<Answered> => {
    const proof = needed === 'a proof' ? await proofFields(deps, visit, carried) : null;
    return { reply: reviewPage(visit, { review, back, fault, carried, proof }), token: null };
  };
  if (form.confirmed !== 'yes') return ask(null);
  if (needed === 'nothing') return { token: null };
  const proved = await proveAgain(deps, visit, carried);
  return 'fault' in proved ? ask(words.say(proved.fault)) : proved;
}

/** The fields of the page that confirms, and of the proof; the others are carried on. */
const ownFields = ['form_token', 'confirmed', 'code', 'proof'];

/** `proof`: the fields that ask for it. */
type Asking = Readonly<{ review: Review; back: string; fault: string | null; carried: Said; proof: Html | null }>;

function reviewPage(visit: AnyVisit, { review, back, fault, carried, proof }: Asking): Reply {
  const { visitor, path, form, nowMs, words } = visit;
  const { title, facts: shown = [], notes = [], button, isDangerous } = review;
  const content = html`${faultMessage(fault)}
<form method="post" action="${path}" class="card confirm">
${formTokenField(visitor.formToken)}${form.once === undefined ? onceField(nowMs) : null}${hidden('confirmed', 'yes')}
${carried.map(([name, value]) => hidden(name, value))}
${actFacts(visit, shown)}${notes.map((note) => html`<p>${sentence(words, note)}</p>`)}
${proof}
<p class="actions"><a class="button plain" href="${back}">${words.say('Cancel')}</a> <button${isDangerous ? html` class="danger"` : null}>${sentenceText(words, button)}</button></p>
</form>`;
  return { title: sentenceText(words, title), content, status: fault === null ? 200 : 403 };
}

/** How long requests that were on their way are still taken with the token of before. */
const PREVIOUS_MS = 10_000;

/** Returns what a visitor needs for what lets money or power out: nothing, a proof, or first of all a factor. */
function neededFor(
  { config }: Pick<DashboardDeps, 'config'>,
  { visitor: { session, person }, at, nowMs }: Pick<AnyVisit, 'visitor' | 'at' | 'nowMs'>,
): 'nothing' | 'a proof' | 'a factor' {
  if (!person.hasFactor) return isFactorRequired(config.networks) || at?.mode === 'live' ? 'a factor' : 'nothing';
  return session.sudoUntilMs > nowMs ? 'nothing' : 'a proof';
}

type Said = readonly (readonly [string, string])[];

/** Returns what a passkey signs for: one form with what it says, of one session. */
const purposeOf = ({ visitor, path }: AnyVisit, said: Said): string =>
  createHash('sha256')
    .update(JSON.stringify([visitor.formToken, path, said.filter(([name]) => name !== 'once')]))
    .digest('base64url');

/** Asks for a code, or for a passkey where the person has one. @param said what the form says */
async function proofFields(
  { database, passkeys }: DashboardDeps,
  visit: Visit<StoreAt | null>,
  said: Said,
): Promise<Html> {
  const { visitor, words } = visit;
  const own = passkeys.isPossible ? await database.people.listPasskeys(visitor.person.id) : [];
  const asked = passkeys.request(
    own.map(({ id }) => id),
    purposeOf(visit, said),
  );
  return html`<label>${words.say('Code from your app')} <input name="code" autocomplete="one-time-code" spellcheck="false" dir="ltr" required></label>
<p class="hint">${words.say('Asked again because this lets money or power out. It is good for ten minutes. A recovery code is not enough: it is for signing in.')}</p>
${own.length === 0 ? null : passkeyButton(words, { field: 'proof', text: words.say('Use a passkey instead'), asked })}`;
}

/**
 * Checks what `proofFields` asked for, and lets the session do more for a while. Attempts with codes count together
 * with those to sign in.
 * @returns the session's new token, or why the proof is refused
 */
async function proveAgain(
  deps: DashboardDeps,
  visit: AnyVisit,
  said: Said,
): Promise<Readonly<{ token: string }> | Readonly<{ fault: TextKey }>> {
  const { database, clock } = deps;
  const { visitor, form, nowMs } = visit;
  const { proof = '', code = '' } = form;
  if (proof === '' && code.trim() === '')
    return { fault: 'Nothing was changed yet: enter a code from your app, to show that it is still you.' };
  const factor = await factorOf(deps, visit, said);
  const token = newToken();
  const renewed = { hash: hashOf(token), previousUntilMs: nowMs + PREVIOUS_MS, sudoUntilMs: nowMs + SUDO_MS };
  const act = actOf(visitor.person, 'prove the second factor again', clock);
  if (factor && (await database.people.confirmWebSession(visitor.session, factor, renewed, act))) return { token };
  if (proof !== '')
    return {
      fault:
        'That passkey was refused: the page was open for too long, or it is not one of yours. Nothing was changed. Try again, or enter a code from your app.',
    };
  return {
    fault: isRecoveryCode(code)
      ? 'A recovery code is for signing in, and does not confirm this. Nothing was changed. If the app is lost, sign in with a recovery code and set up a new one.'
      : 'The code is wrong, was used before, or the account waits after several wrong attempts. Nothing was changed. Wait for a new code and try again.',
  };
}

async function factorOf(
  { database, passkeys }: DashboardDeps,
  visit: AnyVisit,
  said: Said,
): Promise<UsedFactor | null> {
  const { visitor, form, nowMs } = visit;
  const { person } = visitor;
  const { proof = '', code = '' } = form;
  if (proof !== '') {
    const used = await passkeys.used(proof, purposeOf(visit, said), (id) => database.people.findPasskey(id));
    return used?.person.id === person.id ? used.factor : null;
  }
  const secrets = await database.people.attempt(person.name, nowMs);
  return secrets && usedFactor(secrets, code, nowMs);
}

/** Shows facts of an act. */
export const actFacts = ({ words }: Pick<AnyVisit, 'words'>, all: readonly Fact[]): Html =>
  facts(all.map(([label, value]) => [sentence(words, label), shownValue(words, value)]));
