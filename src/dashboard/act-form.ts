/**
 * Forms of acts. One definition gives the form with its inputs, the route that takes it, the page that confirms it, and
 * what is said or shown afterwards.
 */
import {
  type Act,
  type Context,
  type Field,
  type Fields,
  type InputOf,
  isRefusal,
  type Needs,
  needsReason,
  type Outcome,
  REASON_CHARS_MAX,
  type Refusal,
  readInput,
  refuse,
  type Sentence,
} from '../acts/act.ts';
import { permanent } from '../core/fault.ts';
import { type Html, html } from '../lib/html.ts';
import { inputOf } from '../web/inputs.ts';
import { idOfForm } from '../web/once.ts';
import { faultMessage } from '../web/show.ts';
import { type Answered, actFacts, answeringOnce, changeFields, confirmed, hidden } from './change.ts';
import { actOf, type DashboardDeps } from './deps.ts';
import {
  type CommonPage,
  filled,
  may,
  type Page,
  type Reply,
  type StoreAt,
  type StorePage,
  type Visit,
} from './page.ts';
import { sentence, sentenceText, type TextKey } from './texts.ts';
import { SUDO_MS } from './web-session.ts';

/** So many inputs stand below one another; more are in two columns where there is room. */
const ONE_COLUMN_MAX = 6;

type Texts = Readonly<Record<string, string | undefined>>;
type AnyVisit = Visit<StoreAt | null>;

/** The further context of acts of the browser. */
export type BrowserContext = Context & Readonly<{ deps: DashboardDeps; visit: AnyVisit }>;

type FormAct<I, P extends object> = Act<I, P, Needs, BrowserContext>;

/** Returns an act that the browser alone has. */
export const browserAct = <const F extends Fields, P extends object, N extends Needs>(
  act: Readonly<{ fields: F }> & Act<InputOf<F>, P, N, BrowserContext>,
): Act<InputOf<F>, P, N, BrowserContext> => act;

type How = Readonly<{
  /** Where it is sent. Parameters of the path that are called like a field of the act are its values. */
  path: string;
  /** Fields of the act that are typed, or that the page gives. */
  inputs?: readonly string[];
  /** Where the browser goes afterwards, instead of the page, with `:name` for what the outcome says in its JSON. */
  to?: string;
  /** Stands below the facts on the page that shows what was made. */
  hint?: TextKey;
}>;

/** How a page shows a form. */
type Shown = Readonly<{
  /** Null where `below` has a button. */
  button: string | null;
  /** Values from the page, for fields and for parameters of the path. */
  given?: Texts;
  /** The first values of its inputs. */
  texts?: Texts;
  /** Asks why, under this label. */
  reason?: Sentence;
  /** Only these of its inputs. */
  inputs?: readonly string[];
  /** The choices of its selects, by fields, where they depend on the page. */
  offers?: Readonly<Record<string, NonNullable<Field['offers']>>>;
  /** Stand above and below its inputs. */
  above?: Html | null;
  below?: Html | null;
  /** Names what the button is about, where several say the same. */
  about?: string;
  /** `main`: what most come to the page for; `small`: in a row of a list. */
  look?: 'main' | 'plain' | 'small';
  /** It opens under this title. */
  opens?: Html | string;
  /** Headings above inputs, by the names of those. */
  headings?: Readonly<Record<string, string>>;
}>;

export type Form = Readonly<{
  path: string;
  needs: Needs;
  /** Renders the form; nothing for somebody who may not do it. */
  show(visit: AnyVisit, shown: Shown): Html | null;
  /** Does what was sent, once it is confirmed. */
  answer(deps: DashboardDeps, visit: AnyVisit, page: FormPage): Promise<Answered>;
}>;

/** The page of a form. `again`: shown with what is wrong. */
type FormPage = Readonly<{ path: string; again(visit: AnyVisit, fault: Html): Promise<Reply> }>;

/** Returns the form of an act. */
export function formOf<I, P extends object>(act: FormAct<I, P>, how: How): Form {
  return {
    path: how.path,
    needs: act.needs,
    show: (visit, shown) => (may(visit, act.needs) ? render(visit, act, how, shown) : null),
    answer: (deps, visit, page) => doAct(deps, visit, { act, how, page }),
  };
}

function render<I, P extends object>(visit: AnyVisit, act: FormAct<I, P>, how: How, shown: Shown): Html {
  const fields = act.fields as Fields;
  const { form, words, params, path } = visit;
  const { button, given = {}, texts = {}, reason, above = null, below = null, about, look = 'plain', opens } = shown;
  const action = filled(how.path, { ...params, ...given });
  // A form that was refused is shown again with what was typed.
  const isAgain = form.once !== undefined && path === action;
  const inputs = (shown.inputs ?? how.inputs ?? []).map((name) => {
    if (!fields[name]) return null;
    const heading = shown.headings?.[name];
    const offers = shown.offers?.[name];
    const field = { ...fields[name], ...(offers && { offers }) };
    const own = given[name];
    if (own !== undefined) return hidden(name, own);
    const first = texts[name] ?? '';
    const input = inputOf({
      ...field,
      name,
      label: sentence(words, field.label),
      text: (isAgain ? typedIn(form, name, field) : first) ?? '',
      choices: choicesOf(field)?.map((one) => {
        const said = field.offers?.[one];
        return [one, said ? sentenceText(words, said) : null];
      }),
      hint: field.hint ? sentence(words, field.hint) : null,
      isRequired: field.isArgument === true || field.isRequired === true,
      type: field.isSecret ? 'password' : 'text',
    });
    return heading === undefined ? input : html`<h3>${heading}</h3>${input}`;
  });
  const why =
    reason &&
    inputOf({
      name: 'because',
      label: sentence(words, reason),
      text: isAgain ? (form.because ?? '') : '',
      charsMax: REASON_CHARS_MAX,
      isProse: true,
      isRequired: act.needsReason === true,
    });
  const asked = inputs.length > ONE_COLUMN_MAX ? html`<div class="two-columns">${inputs}</div>` : inputs;
  const named =
    about === undefined ? null : html` aria-label="${words.say('{act}: {name}', { act: button ?? '', name: about })}"`;
  const looks = look === 'main' ? null : html` class="${look === 'small' ? 'plain small' : 'plain'}"`;
  const content = html`<form method="post" action="${action}">${changeFields(visit)}${above}${asked}${why ?? null}${below}
${button && html`<button${looks}${named}>${button}</button>`}</form>`;
  return opens === undefined
    ? content
    : html`<details${isAgain ? html` open` : null}><summary>${opens}</summary>${content}</details>`;
}

const choicesOf = ({ offers, choices }: Field) => (offers ? Object.keys(offers) : choices);

/** Returns what a form says of a field: of a list, which boxes are ticked. */
function typedIn(form: Texts, name: string, field: Field): string | undefined {
  return field.isList ? (choicesOf(field) ?? []).filter((one) => form[one] === 'on').join(',') : form[name];
}

/** Returns a page, and the route of each form on it, which shows the page again with what is wrong. */
export function pageWith(
  deps: DashboardDeps,
  page: Omit<StorePage, 'method'> | Omit<CommonPage, 'method'>,
  forms: readonly Form[],
): readonly Page[] {
  const again: FormPage['again'] = async (visit, fault) => {
    const reply = await page.answer(visit as never);
    if (reply === null || !('content' in reply)) return reply;
    return { ...reply, status: 400, content: html`${faultMessage(fault)}${reply.content}` };
  };
  const sent = forms.map(({ path, needs, answer }) => ({
    method: 'post',
    path,
    needs,
    answer: answeringOnce((visit) => answer(deps, visit, { path: page.path, again })),
  }));
  return [{ ...page, method: 'get' }, ...sent] as readonly Page[];
}

/** Returns what a form says by the names of the act's fields: what is in the path, and what was typed. */
function textsOf({ form, params }: AnyVisit, fields: Fields, { inputs = [] }: How): Texts {
  const entries = Object.entries(fields).map(([name, field]) => {
    const typed = inputs.includes(name) ? typedIn(form, name, field) : undefined;
    const isNothing = typed === '' && field.offers?.[''] !== undefined;
    return [name, params[name] ?? (isNothing ? undefined : typed)] as const;
  });
  return Object.fromEntries(entries);
}

/** Does an act as a form asks for it. The change is recorded with the person, in the same transaction. */
async function doAct<I, P extends object>(
  deps: DashboardDeps,
  visit: AnyVisit,
  { act, how, page }: Readonly<{ act: FormAct<I, P>; how: How; page: FormPage }>,
): Promise<Answered> {
  const { form, visitor } = visit;
  const reason = form.because?.trim() || null;
  const hasReason = reason !== null || !act.needsReason;
  const isFit = hasReason && (reason ?? '').length <= REASON_CHARS_MAX;
  const given = isFit ? readInput(act, textsOf(visit, act.fields as Fields, how)) : refuse('usage', needsReason);
  if (isRefusal(given)) return refused(visit, page, given);
  const context = contextOf(deps, visit, { name: act.name, reason });
  const plan = await act.plan(context, given.input);
  if (isRefusal(plan)) return refused(visit, page, plan);
  const { review, asks = review ? 'confirmation' : 'nothing' } = act;
  const asked = await confirmed(deps, visit, {
    asks: typeof asks === 'function' ? asks(plan) : asks,
    review: review?.(plan),
    back: filled(page.path, visit.params),
  });
  if ('reply' in asked) return asked;
  const { token } = asked;
  const session = { ...visitor.session, ...(token !== null && { sudoUntilMs: visit.nowMs + SUDO_MS }) };
  const proved = { ...visit, visitor: { ...visitor, session } };
  const learned = act.before ? await act.before(context, plan) : plan;
  if (isRefusal(learned)) return { ...(await refused(proved, page, learned)), token };
  const outcome = await act.run(context, learned);
  if (isRefusal(outcome)) return { reply: (await refused(proved, page, outcome)).reply, token };
  return { reply: doneReply(visit, { how, page, outcome }), token };
}

/** Shows the page of the form again, with why nothing is done. */
const refused = async (visit: AnyVisit, page: FormPage, { refusal, because }: Refusal): Promise<Answered> => ({
  reply: refusal === 'not_found' ? null : await page.again(visit, sentence(visit.words, because)),
  token: null,
});

/** Shows what was made, once; or leads on, with what was done. */
function doneReply(
  visit: AnyVisit,
  { how, page, outcome }: Readonly<{ how: How; page: FormPage; outcome: Outcome }>,
): Reply {
  const { words, params } = visit;
  const { made, said, isRepeated, json, facts: shown = [] } = outcome;
  const to = filled(how.to ?? page.path, { ...params, ...json });
  if (!made || isRepeated) return { to, said: sentenceText(words, said) };
  const content = html`<section class="card"><p class="message attention">${sentence(words, said)}</p>
${actFacts(visit, shown)}${how.hint ? html`<p class="hint">${words.html(how.hint)}</p>` : null}
<p><a class="button" href="${to}">${words.say('Continue')}</a></p></section>`;
  return { title: sentenceText(words, made), content };
}

/** Returns what an act works on, for its form. */
export function contextOf(
  deps: DashboardDeps,
  visit: AnyVisit,
  { name, reason }: Readonly<{ name: string; reason: string | null }>,
): BrowserContext {
  const { at, visitor, form, nowMs } = visit;
  return {
    deps,
    visit,
    database: deps.database,
    nowMs,
    act: { ...actOf(visitor.person, name, deps.clock), reason },
    scope: at,
    personId: visitor.person.id,
    networks: deps.config.networks,
    destinationCheck: async () => deps.checkDestination,
    async readApproval() {
      throw permanent('refused', 'signatures are handed in with `quayside refund approve`');
    },
    checkWebhookUrl: deps.checkWebhookUrl,
    sendTestEvent: deps.sendTestEvent,
    issue: deps.issue,
    dashboardUrl: deps.url,
    checkoutUrl: deps.config.checkoutUrl,
    newId: idOfForm(visitor, form.once, nowMs),
  };
}
