/**
 * Asks before an act is done: a page shows its consequences, and what lets money or power out asks for the
 * second factor again. A form that is sent twice is done once.
 */
import { createHash } from 'node:crypto';
import { type Html, html } from '../lib/html.ts';
import type { DashboardDeps } from './deps.ts';
import { formTokenField } from './frame.ts';
import { createOnce, onceField } from './once.ts';
import type { Reply, StoreAt, Visit } from './page.ts';
import { faultMessage } from './show.ts';
import { neededFor, PROOF_FIELDS, proofFields, proveAgain } from './sudo.ts';

/** The page that confirms. */
type Review = Readonly<{
  title: string;
  /** Its consequences, with those that cannot be undone. */
  consequence: Html;
  button: string;
  /** Where Cancel leads. */
  back: string;
  /** It lets money or power out: the second factor is asked for again. */
  needsSudo: boolean;
  /** The text to be typed exactly, such as the amount. */
  typed: string | undefined;
  isDangerous: boolean;
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
  review: Review,
): Promise<Answered | Readonly<{ token: string | null }>> {
  const { form, words } = visit;
  const needed = review.needsSudo ? neededFor(deps, visit) : 'nothing';
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
  const ask = async (fault: string | null): Promise<Answered> => ({
    reply: await reviewPage(deps, visit, review, { fault, carried, asksProof: needed === 'a proof' }),
    token: null,
  });
  if (form.confirmed !== 'yes') return ask(null);
  if (review.typed !== undefined && form.typed?.trim() !== review.typed) {
    return ask(words.say('That is not “{text}”. Nothing was changed.', { text: review.typed }));
  }
  if (needed === 'nothing') return { token: null };
  const proved = await proveAgain(deps, visit, carried);
  return 'fault' in proved ? ask(words.say(proved.fault)) : proved;
}

/** The fields of the page that confirms; the others are carried on. */
const ownFields = ['form_token', 'confirmed', 'typed', ...PROOF_FIELDS];

async function reviewPage(
  deps: DashboardDeps,
  visit: AnyVisit,
  { title, consequence, button, back, typed, isDangerous }: Review,
  {
    fault,
    carried,
    asksProof,
  }: Readonly<{ fault: string | null; carried: readonly (readonly [string, string])[]; asksProof: boolean }>,
): Promise<Reply> {
  const { visitor, path, form, nowMs, words } = visit;
  const content = html`${faultMessage(fault)}
<form method="post" action="${path}" class="card confirm">
${formTokenField(visitor.formToken)}${form.once === undefined ? onceField(nowMs) : null}${hidden('confirmed', 'yes')}
${carried.map(([name, value]) => hidden(name, value))}
${consequence}
${
  typed === undefined
    ? null
    : html`<label>${words.html('Type {text} to go on', { text: html`<code>${typed}</code>` })} <input name="typed" autocomplete="off" autocapitalize="none" spellcheck="false" required></label>`
}
${asksProof ? await proofFields(deps, visit, carried) : null}
<p class="actions"><a class="button plain" href="${back}">${words.say('Cancel')}</a> <button${isDangerous ? html` class="danger"` : null}>${button}</button></p>
</form>`;
  return { title, content, status: fault === null ? 200 : 403 };
}
