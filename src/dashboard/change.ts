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
import type { Reply, StoreAt, Visit } from './page.ts';
import { faultMessage } from './show.ts';
import { neededFor, PROOF_FIELDS, proofFields, proveAgain } from './sudo.ts';

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

/** The hidden fields of every form that changes something. */
export const changeFields = ({ visitor, nowMs }: Pick<Visit<unknown>, 'visitor' | 'nowMs'>): Html =>
  html`${formTokenField(visitor.formToken)}${onceField(nowMs)}`;

export const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

/** `token`: the session's new one, where the second factor was proved. */
type Answered = Readonly<{ reply: Reply; token: string | null }>;

/** Returns what answers a form that changes something. */
export function changing<At extends StoreAt | null>(
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
      const proved = await proveAgain(deps, visit, carriedBy(visit, review));
      if ('fault' in proved) return again(words.say(proved.fault));
      token = proved.token;
    }
  }
  const early = await planned.before?.();
  if (early && 'fault' in early) return again(early.fault);
  if (early !== undefined) return { reply: early, token };
  const act = { ...actOf(visitor.person, command, deps.clock), reason };
  const reply = await deps.database.recordAs({ ...act, target }, (database) => planned.act(database, act));
  return { reply, token };
}

const ownFields = ['form_token', 'confirmed', 'typed', ...PROOF_FIELDS];

/** The fields of the form that is confirmed. */
const carriedBy = <At>(
  { form }: Visit<At>,
  { asks = [] }: Pick<Review, 'asks'>,
): readonly (readonly [string, string])[] =>
  Object.entries(form).filter(([name]) => !ownFields.includes(name) && !asks.includes(name));

async function reviewPage(
  deps: DashboardDeps,
  visit: Visit<StoreAt | null>,
  review: Review,
  { fault, asksProof }: Readonly<{ fault: string | null; asksProof: boolean }>,
): Promise<Reply> {
  const { visitor, path, form, nowMs, words } = visit;
  const { title, consequence, button, back, typed, isDangerous = false } = review;
  const carried = carriedBy(visit, review);
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
${asksProof ? await proofFields(deps, visit, carried) : null}
<p class="actions">${back === null ? null : html`<a class="button plain" href="${back}">${words.say('change.cancel')}</a> `}<button${isDangerous ? html` class="danger"` : null}>${button}</button></p>
</form>`;
  return { title, content, status: fault === null ? 200 : 403 };
}
