/**
 * How a page changes something. The form is read into a plan; the plan is shown with what follows from it, confirmed
 * on that page (with the second factor again, where it lets money or power out), and done once. What it changes is
 * recorded with the person, in the same transaction.
 */
import { createHash } from 'node:crypto';
import { invariant } from '../core/fault.ts';
import type { OperatorAct } from '../database/audit-log.ts';
import type { Database } from '../database/database.ts';
import { type Html, html } from '../lib/html.ts';
import { actOf, type DashboardDeps } from './deps.ts';
import { formTokenField } from './frame.ts';
import { createOnce, onceField } from './once.ts';
import type { CommonPage, Reply, StoreAt, StorePage, Visit } from './page.ts';
import { passkeyButton } from './passkey-button.ts';
import { faultMessage } from './show.ts';
import { neededFor, type Proof, proveAgain, purposeOf } from './sudo.ts';
import type { Words } from './texts.ts';

/** The page that confirms. */
export type Review = Readonly<{
  title: string;
  /** What follows from it, with what cannot be undone. */
  consequence: Html;
  button: string;
  /** Where Cancel leads; null for what cannot wait. */
  back: string | null;
  /** It lets money or power out: the second factor is asked for again. */
  needsSudo: boolean;
  /** Names of the fields that `consequence` asks for. They are typed on this page each time, and never carried on. */
  asks?: readonly string[];
  /** What has to be typed exactly, such as the amount. */
  typed?: string;
  isDangerous?: boolean;
}>;

/** What a form asks for. */
export type Plan = Readonly<{
  /** What is done, for the audit log: `create API key`. */
  command: string;
  /** The id that the audit log names if the database command names none. */
  target: string;
  /** Why, in the person's words. */
  reason?: string | null;
  /** Null for what needs no confirmation. */
  review: Review | null;
  /**
   * Done before `act`, once all is confirmed: what waits for somebody else, such as a mail server, which the database
   * must not. @returns an answer instead of acting, or why the page that confirms is shown again; undefined to act
   */
  before?(): Promise<Reply | Readonly<{ fault: string }> | undefined>;
  /** `database` records what it changes as this act. */
  act(database: Database, act: OperatorAct): Promise<Reply>;
}>;

/** A plan; or an answer at once: a form with its fault, or null where there is nothing by that name. */
export type Planned = Plan | Reply;

/** Where somebody sets up the first second factor. */
export const FIRST_FACTOR_PATH = '/account/app';

type PlanOf<At> = (visit: Visit<At>) => Promise<Planned>;

/** A form of one store and mode. */
export const storeChange = (
  deps: DashboardDeps,
  { plan, ...page }: Pick<StorePage, 'path' | 'needs' | 'formBytesMax'> & Readonly<{ plan: PlanOf<StoreAt> }>,
): StorePage => ({ ...page, method: 'post', answer: answering(deps, plan) });

/** A form about the installation, or of the person who is signed in. */
export const commonChange = (
  deps: DashboardDeps,
  { plan, ...page }: Pick<CommonPage, 'path' | 'needs' | 'formBytesMax'> & Readonly<{ plan: PlanOf<null> }>,
): CommonPage => ({ ...page, method: 'post', answer: answering(deps, plan) });

/** The hidden fields of every form that changes something. */
export const changeFields = ({ visitor, nowMs }: Pick<Visit<unknown>, 'visitor' | 'nowMs'>): Html =>
  html`${formTokenField(visitor.formToken)}${onceField(nowMs)}`;

type FormOf = Readonly<{ fields?: Html | null; attributes?: Html | null; isMain?: boolean }>;

/** Renders a form that changes something. `isMain`: its button is what most come to the page for. */
export const changeForm = (
  visit: Pick<Visit<unknown>, 'visitor' | 'nowMs'>,
  action: string,
  button: Html | string,
  { fields = null, attributes = null, isMain = false }: FormOf = {},
): Html =>
  html`<form method="post" action="${action}"${attributes}>${changeFields(visit)}${fields}
<button${isMain ? null : html` class="plain"`}>${button}</button></form>`;

export const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

/** `token`: the session's new one, where the second factor was proved. */
type Answered = Readonly<{ reply: Reply; token: string | null }>;

function answering<At extends StoreAt | null>(
  deps: DashboardDeps,
  plan: PlanOf<At>,
): (visit: Visit<At>) => Promise<Reply> {
  const once = createOnce<Answered>();
  return async (visit) => {
    const { visitor, path, form, nowMs } = visit;
    const work = () => answer(deps, visit, plan);
    const sent = createHash('sha256').update(JSON.stringify(form)).digest('hex');
    const { reply, token } = await (form.once === undefined
      ? work()
      : once(`${visitor.formToken} ${path} ${sent}`, nowMs, work));
    if (token !== null) visit.renew(token);
    return reply;
  };
}

async function answer<At extends StoreAt | null>(
  deps: DashboardDeps,
  visit: Visit<At>,
  plan: PlanOf<At>,
): Promise<Answered> {
  const { visitor, form, words } = visit;
  const planned = await plan(visit);
  if (planned === null || !('act' in planned)) return { reply: planned, token: null };
  const { review, command, target, reason = null } = planned;
  const needed = review?.needsSudo ? neededFor(deps, visit) : 'nothing';
  if (needed === 'a factor')
    return { reply: { to: FIRST_FACTOR_PATH, said: words.say('change.no_factor') }, token: null };
  let token: string | null = null;
  const again = async (fault: string | null): Promise<Answered> => {
    invariant(review, 'only what is reviewed is shown again');
    const asksProof = needed === 'a proof' && token === null;
    return { reply: await reviewPage(deps, visit, review, { fault, asksProof }), token };
  };
  if (review) {
    if (form.confirmed !== 'yes') return again(null);
    if (review.typed !== undefined && form.typed?.trim() !== review.typed) {
      return again(words.say('change.not_typed', { text: review.typed }));
    }
    if (needed === 'a proof') {
      const proof = proofOf(visit, review);
      if (!proof) return again(words.say('change.no_code'));
      token = await proveAgain(deps, visitor, proof);
      if (token === null) {
        return again(words.say('passkey' in proof ? 'change.wrong_passkey' : wrongCode(proof.code)));
      }
    }
  }
  const early = await planned.before?.();
  if (early && 'fault' in early) return again(early.fault);
  if (early !== undefined) return { reply: early, token };
  const act = { ...actOf(visitor.person, command, deps.clock), reason };
  const reply = await deps.database.recordAs({ ...act, target }, (database) => planned.act(database, act));
  return { reply, token };
}

/** Says why a code does not count: one with letters is a recovery code. */
const wrongCode = (code: string) => (/[a-z]/i.test(code) ? 'change.recovery_code' : 'change.wrong_code');

/** Returns what the form proves the second factor with; null if it does not. */
function proofOf<At>(visit: Visit<At>, review: Review): Proof | null {
  const { visitor, form, path } = visit;
  const { proof = '', code = '' } = form;
  if (proof !== '') return { passkey: proof, purpose: purposeOf(visitor, path, carriedBy(visit, review)) };
  return code.trim() === '' ? null : { code: code.trim() };
}

const ownFields = ['form_token', 'confirmed', 'typed', 'code', 'proof'];

/** The fields of the form that is confirmed. */
const carriedBy = <At>(
  { form }: Visit<At>,
  { asks = [] }: Pick<Review, 'asks'>,
): readonly (readonly [string, string])[] =>
  Object.entries(form).filter(([name]) => !ownFields.includes(name) && !asks.includes(name));

async function reviewPage<At>(
  { database, passkeys }: DashboardDeps,
  visit: Visit<At>,
  review: Review,
  { fault, asksProof }: Readonly<{ fault: string | null; asksProof: boolean }>,
): Promise<Reply> {
  const { visitor, path, form, nowMs, words } = visit;
  const { title, consequence, button, back, typed, isDangerous = false } = review;
  const carried = carriedBy(visit, review);
  const own = asksProof && passkeys.isPossible ? await database.people.listPasskeys(visitor.person.id) : [];
  const ids = own.map(({ id }) => id);
  const content = html`${faultMessage(fault)}
<form method="post" action="${path}" class="card confirm">
${formTokenField(visitor.formToken)}${form.once === undefined ? onceField(nowMs) : null}<input type="hidden" name="confirmed" value="yes">
${carried.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${consequence}
${
  typed === undefined
    ? null
    : html`<label>${words.html('change.type', { text: html`<code>${typed}</code>` })} <input name="typed" autocomplete="off" autocapitalize="none" spellcheck="false" required></label>`
}
${asksProof ? codeField(words, ids.length === 0 ? null : passkeys.request(ids, purposeOf(visitor, path, carried))) : null}
<p class="actions">${back === null ? null : html`<a class="button plain" href="${back}">${words.say('change.cancel')}</a> `}<button${isDangerous ? html` class="danger"` : null}>${button}</button></p>
</form>`;
  return { title, content, status: fault === null ? 200 : 403 };
}

const codeField = (words: Words, asked: string | null): Html =>
  html`<label>${words.say('general.code')} <input name="code" autocomplete="one-time-code" spellcheck="false" dir="ltr" required></label>
<p class="hint">${words.say('change.code_hint')}</p>
${asked === null ? null : passkeyButton(words, { field: 'proof', text: words.say('change.passkey'), asked })}`;
