/** A form of an act: the page that confirms it, and what the page says afterwards. */
import {
  type Act,
  type Context,
  type Fact,
  isRefusal,
  needsReason,
  type Outcome,
  REASON_CHARS_MAX,
  type Refusal,
  readInput,
} from '../acts/act.ts';
import { permanent } from '../core/fault.ts';
import { type Html, html } from '../lib/html.ts';
import { facts } from '../web/list.ts';
import type { Planned } from './change.ts';
import { actOf, type DashboardDeps } from './deps.ts';
import { idOfForm } from './once.ts';
import type { Reply, StoreAt, Visit } from './page.ts';
import { sentence, sentenceText, shownValue } from './sentence.ts';

type Use = Readonly<{
  /** What the form says, by the names of the act's input. */
  texts: Readonly<Record<string, string | undefined>>;
  /** Where Cancel leads, and the page that says what was done. */
  back: string;
  reason?: string | null;
  /** The page of the form, with what is wrong. */
  refused(fault: Html): Promise<Reply> | Reply;
  /** What the page that confirms shows above the facts. */
  above?: Html | null;
  /** The page that shows what was made, once. */
  page?(outcome: Outcome): Reply;
}>;

/** Plans an act as a form asks for it. */
export async function planAct<I, P extends object>(
  deps: DashboardDeps,
  visit: Visit<StoreAt | null>,
  act: Act<I, P>,
  { texts, back, reason = null, refused, page, above = null }: Use,
): Promise<Planned> {
  const { words } = visit;
  const answerTo = async ({ refusal, because }: Refusal) =>
    refusal === 'not_found' ? null : refused(sentence(words, because));
  const given = readInput(act, texts);
  if (isRefusal(given)) return answerTo(given);
  if (act.reason === 'required' && (reason === null || reason.length > REASON_CHARS_MAX)) {
    return refused(sentence(words, needsReason));
  }
  const context = contextOf(deps, visit, { name: act.name, reason });
  const plan = await act.plan(context, given.input);
  if (isRefusal(plan)) return answerTo(plan);
  const asks = typeof act.asks === 'function' ? act.asks(plan) : act.asks;
  const { title, target, facts: shown, notes, button, isDangerous, typed } = act.review(plan);
  return {
    command: act.name,
    target,
    reason,
    review:
      asks === 'nothing'
        ? null
        : {
            title: sentenceText(words, title),
            consequence: html`${above}${actFacts(visit, shown)}${notes.map((note) => html`<p>${sentence(words, note)}</p>`)}`,
            button: sentenceText(words, button),
            back,
            needsSudo: asks === 'second factor',
            ...(typed !== undefined && { typed }),
            ...(isDangerous && { isDangerous }),
          },
    async act(database, own) {
      const outcome = await act.run({ ...context, database, act: own }, plan);
      if (isRefusal(outcome)) return answerTo(outcome);
      return page && !outcome.isRepeated ? page(outcome) : { to: back, said: sentenceText(words, outcome.said) };
    },
  };
}

/** Shows facts of an act. */
export const actFacts = ({ words }: Pick<Visit<unknown>, 'words'>, all: readonly Fact[]): Html =>
  facts(all.map(([label, value]) => [sentence(words, label), shownValue(words, value)]));

/** Returns what an act works on, for its form. */
export function contextOf(
  deps: DashboardDeps,
  { at, visitor, form, nowMs }: Visit<StoreAt | null>,
  { name, reason }: Readonly<{ name: string; reason: string | null }>,
): Context {
  return {
    database: deps.database,
    nowMs,
    act: { ...actOf(visitor.person, name, deps.clock), reason },
    scope: at,
    personId: at === null ? null : visitor.person.id,
    networks: deps.config.networks,
    destinationCheck: async () => deps.checkDestination,
    async readApproval() {
      throw permanent('refused', 'signatures are handed in with `quayside refund approve`');
    },
    checkWebhookUrl: deps.checkWebhookUrl,
    issue: deps.issue,
    dashboardUrl: deps.url,
    newId: idOfForm(visitor, form.once, nowMs),
  };
}
