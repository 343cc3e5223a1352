/**
 * How a page changes something. The form is read into a plan; the plan is shown with what follows from it, confirmed
 * on that page (with the second factor again, where it lets money or power out), and done once. What it changes is
 * recorded with the person, in the same transaction.
 * @module
 */
import { createHash } from 'node:crypto';
import type { OperatorAct } from '../database/audit-log.ts';
import type { Database } from '../database/database.ts';
import { type Html, html } from '../lib/html.ts';
import { actOf, type DashboardDeps } from './deps.ts';
import { formTokenField } from './frame.ts';
import { createOnce, onceField } from './once.ts';
import type { CommonPage, Reply, StoreAt, StorePage, Visit } from './page.ts';
import { maySudo, proveAgain } from './sudo.ts';

/** The page that confirms. */
export type Review = Readonly<{
  title: string;
  /** What follows from it, with what cannot be undone. */
  consequence: Html;
  button: string;
  /** Where Cancel leads. */
  back: string;
  /** It lets money or power out: the second factor is asked for again. */
  needsSudo: boolean;
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
  /** `database` records what it changes as this act. */
  act(database: Database, act: OperatorAct): Promise<Reply>;
}>;

/** A plan; or an answer at once: a form with its fault, or null where there is nothing by that name. */
export type Planned = Plan | Reply;

type PlanOf<At> = (visit: Visit<At>) => Promise<Planned>;

/** A form of one store and mode. */
export const storeChange = (
  deps: DashboardDeps,
  { plan, ...page }: Pick<StorePage, 'path' | 'needs'> & Readonly<{ plan: PlanOf<StoreAt> }>,
): StorePage => ({ ...page, method: 'post', answer: answering(deps, plan) });

/** A form about the installation, or of the person who is signed in. */
export const commonChange = (
  deps: DashboardDeps,
  { plan, ...page }: Pick<CommonPage, 'path' | 'needs'> & Readonly<{ plan: PlanOf<null> }>,
): CommonPage => ({ ...page, method: 'post', answer: answering(deps, plan) });

/** The hidden fields of every form that changes something. */
export const changeFields = ({ visitor, nowMs }: Pick<Visit<unknown>, 'visitor' | 'nowMs'>): Html =>
  html`${formTokenField(visitor.formToken)}${onceField(nowMs)}`;

function answering<At>(deps: DashboardDeps, plan: PlanOf<At>): (visit: Visit<At>) => Promise<Reply> {
  const once = createOnce<Reply>();
  return (visit) => {
    const { visitor, path, form, nowMs } = visit;
    if (form.once === undefined) return answer(deps, visit, plan);
    const sent = createHash('sha256').update(JSON.stringify(form)).digest('hex');
    return once(`${visitor.session.hash} ${path} ${sent}`, nowMs, () => answer(deps, visit, plan));
  };
}

async function answer<At>(deps: DashboardDeps, visit: Visit<At>, plan: PlanOf<At>): Promise<Reply> {
  const { visitor, form, nowMs } = visit;
  const planned = await plan(visit);
  if (planned === null || !('act' in planned)) return planned;
  const { review, command, target, reason = null } = planned;
  if (review) {
    if (form.confirmed !== 'yes') return reviewPage(visit, review, null);
    if (review.typed !== undefined && form.typed?.trim() !== review.typed) {
      return reviewPage(visit, review, `That is not “${review.typed}”. Nothing was changed.`);
    }
    if (review.needsSudo && !maySudo(visitor, nowMs)) {
      const code = (form.code ?? '').trim();
      if (code === '') return reviewPage(visit, review, NO_CODE);
      if (!(await proveAgain(deps, visitor, code))) return reviewPage(visit, review, WRONG_CODE);
    }
  }
  const act = { ...actOf(visitor.person, command, deps.clock), reason };
  return deps.database.recordAs({ ...act, target }, (database) => planned.act(database, act));
}

const NO_CODE = 'Nothing was changed yet: enter a code from your app, to show that it is still you.';

const WRONG_CODE =
  'The code is wrong, was used before, or the account waits after several wrong attempts. Nothing was changed. ' +
  'Wait for a new code and try again.';

const ownFields = ['form_token', 'confirmed', 'typed', 'code'];

function reviewPage<At>({ visitor, path, form, nowMs }: Visit<At>, review: Review, fault: string | null): Reply {
  const { title, consequence, button, back, typed, needsSudo, isDangerous = false } = review;
  const carried = Object.entries(form).filter(([name]) => !ownFields.includes(name));
  const content = html`${fault === null ? null : html`<p class="message fault" role="alert">${fault}</p>`}
<form method="post" action="${path}" class="card confirm">
${formTokenField(visitor.formToken)}${form.once === undefined ? onceField(nowMs) : null}<input type="hidden" name="confirmed" value="yes">
${carried.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${consequence}
${
  typed === undefined
    ? null
    : html`<label>Type <code>${typed}</code> to go on <input name="typed" autocomplete="off" autocapitalize="none" spellcheck="false" required></label>`
}
${needsSudo && !maySudo(visitor, nowMs) ? codeField : null}
<p class="actions"><a class="button plain" href="${back}">Cancel</a> <button${isDangerous ? html` class="danger"` : null}>${button}</button></p>
</form>`;
  return { title, content, status: fault === null ? 200 : 403 };
}

const codeField = html`<label>Code from your app <input name="code" autocomplete="one-time-code" spellcheck="false" required></label>
<p class="hint">Asked again because this lets money or power out. It is good for ten minutes. A recovery code works too.</p>`;
