/**
 * What people do about webhooks: add, change, disable and remove endpoints, test them, rotate their secrets, and send
 * again what failed.
 */
import type { Act, Outcome } from '../../acts/act.ts';
import { addEndpoint, removeEndpoint, rotateSecret, setEndpoint } from '../../acts/webhooks.ts';
import { sendErrors } from '../../core/delivery.ts';
import { eventIdAt, extendedEvents } from '../../core/event.ts';
import type { Database } from '../../database/database.ts';
import type { Endpoint } from '../../database/endpoints.ts';
import { RECOVERY_PACE_MS, type RecoveryCursor } from '../../database/redelivery.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts } from '../../web/list.ts';
import { actFacts, planAct } from '../act-form.ts';
import { type Planned, storeChange } from '../change.ts';
import { actOf, type DashboardDeps, type TestAnswer } from '../deps.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { sentence } from '../sentence.ts';
import { badge, data, plainText } from '../show.ts';
import { findEndpoint } from '../store-endpoints.ts';
import type { Words } from '../texts.ts';
import { endpointPage, findDelivery, recoverySpans, webhooksPage, webhooksPath } from './webhooks.ts';

const HOUR_S = 3600;

type PlanOf = (deps: DashboardDeps, visit: Visit<StoreAt>, endpoint: Endpoint) => Promise<Planned>;

export const webhookChanges = (deps: DashboardDeps): readonly StorePage[] => [
  storeChange(deps, {
    path: '/s/:store/:mode/webhooks',
    needs: 'webhooks:manage',
    plan: (visit) => planEndpoint(deps, visit),
  }),
  storeChange(deps, {
    path: '/s/:store/:mode/webhooks/deliveries/:delivery/resend',
    needs: 'webhooks:resend',
    plan: (visit) => planResend(deps, visit),
  }),
  ...(
    [
      ['test', 'webhooks:resend', planTest],
      ['recover', 'webhooks:manage', planRecovery],
      ['secret', 'webhooks:manage', planSecret],
      ['events', 'webhooks:manage', planEvents],
      ['enable', 'webhooks:manage', planEnabling],
      ['remove', 'webhooks:manage', planRemoval],
    ] as const
  ).map(([act, needs, planOf]) =>
    storeChange(deps, {
      path: `/s/:store/:mode/webhooks/:endpoint/${act}`,
      needs,
      async plan(visit) {
        const endpoint = await findEndpoint(deps, visit);
        return endpoint && planOf(deps, visit, endpoint);
      },
    }),
  ),
];

const pathOf = (at: StoreAt, { id }: Pick<Endpoint, 'id'>): string => `${webhooksPath(at)}/${id}`;

const chosenEvents = ({ form }: Visit<StoreAt>): string =>
  extendedEvents.filter((name) => form[name] === 'on').join(',');

/** Shows a secret, once. */
const secretPage =
  (visit: Visit<StoreAt>, path: string) =>
  ({ said, facts: made = [] }: Outcome): Reply => {
    const { words } = visit;
    return {
      title: words.say('webhook-changes.secret_title'),
      content: html`<section class="card"><p class="message attention">${sentence(words, said)}</p>
${actFacts(visit, made)}
<p class="hint">${words.html('webhook-changes.checks')}</p>
<p><a class="button" href="${path}">${words.say('webhook-changes.saved')}</a></p></section>`,
    };
  };

function planEndpoint(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const { at, form } = visit;
  return planAct(deps, visit, addEndpoint, {
    texts: { url: form.url ?? '', mode: at.mode, events: chosenEvents(visit) },
    back: webhooksPath(at),
    refused: (fault) => webhooksPage(deps, visit, fault),
    page: (outcome) => secretPage(visit, pathOf(at, { id: String(outcome.json.id) }))(outcome),
  });
}

async function planResend(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const found = await findDelivery(deps, visit);
  if (!found) return null;
  const { delivery } = found;
  const path = `${webhooksPath(visit.at)}/deliveries/${delivery.id}`;
  return {
    command: 'resend webhook',
    target: delivery.id,
    review: null,
    async act(database) {
      const isDue = await database.deliveries.resend(delivery.id, visit.nowMs);
      return {
        to: path,
        said: visit.words.say(isDue ? 'webhook-changes.resent' : 'webhook-changes.endpoint_removed'),
      };
    },
  };
}

/** Sends outside of the database's turn: the endpoint may take long to answer. */
const planTest: PlanOf = async (deps, visit, endpoint) => {
  const sent = await deps.sendTestEvent(endpoint);
  if (!sent) return null;
  const after = { answer: sent.status ?? sent.error ?? 'none' };
  const act = actOf(visit.visitor.person, 'send test webhook', deps.clock);
  await deps.database.audit.record(act, { target: endpoint.id, before: null, after });
  return testPage(visit, endpoint, sent);
};

const noneOr = (words: Words, value: string | number | null): Html | string =>
  value === null ? words.say('general.none') : data(value);

/** Says what a failed test means, and what to do next. */
const adviceOn = (words: Words, { isDelivered, status, error }: TestAnswer): Html | null => {
  if (isDelivered) return null;
  if (status !== null) return html`<p>${words.html('webhook-changes.error_status', { status })}</p>`;
  const known = sendErrors.find((one) => one === error);
  return known === undefined ? null : html`<p>${words.html(`webhook-changes.error_${known}`)}</p>`;
};

const testPage = ({ at, words }: Visit<StoreAt>, endpoint: Endpoint, sent: TestAnswer): Reply => ({
  title: words.say('webhook-changes.test_title'),
  content: html`<section class="card" aria-labelledby="result"><h2 id="result">${sent.isDelivered ? badge(words.say('general.delivery_delivered'), 'good') : badge(words.say('webhook-changes.not_delivered'), 'danger')}</h2>
${adviceOn(words, sent)}${facts([
  [words.say('general.url'), data(endpoint.url)],
  [words.say('webhooks.answer'), noneOr(words, sent.status)],
  [words.say('general.took'), data(`${sent.durationMs} ms`)],
  ...(sent.detail === null ? [] : [[words.say('webhook-changes.why'), data(plainText(sent.detail))] as const]),
  ...(sent.answer === null
    ? []
    : [[words.say('webhook-changes.it_said'), html`<code>${plainText(sent.answer)}</code>`] as const]),
])}<p><a href="${pathOf(at, endpoint)}">${words.say('webhook-changes.back')}</a></p></section>`,
});

/** Goes through all deliveries of an endpoint since a time. @returns how many were found */
async function recover(
  database: Database,
  input: Readonly<{ endpointId: string; sinceS: number; nowMs: number; isDryRun: boolean }>,
): Promise<number> {
  const { endpointId, sinceS, nowMs, isDryRun } = input;
  let found = 0;
  let after: RecoveryCursor | null = { eventId: eventIdAt(sinceS), endpointId: '' };
  while (after !== null) {
    const batch = await database.deliveries.recoverSome({ endpointId, after, position: found, nowMs, isDryRun });
    found += batch.found;
    after = batch.next;
  }
  return found;
}

const planRecovery: PlanOf = async (deps, visit, endpoint) => {
  const { at, form, nowMs, words } = visit;
  const hours = recoverySpans.find((one) => one === form.hours);
  if (!hours) return endpointPage(deps, visit, endpoint, words.say('webhook-changes.choose_span'));
  const input = { endpointId: endpoint.id, sinceS: Math.floor(nowMs / 1000) - Number(hours) * HOUR_S, nowMs };
  const count = await recover(deps.database, { ...input, isDryRun: true });
  if (count === 0) return endpointPage(deps, visit, endpoint, words.say('webhook-changes.nothing_failed'));
  return {
    command: 'recover webhooks',
    target: endpoint.id,
    review: {
      title: words.say('webhook-changes.recover_title', { count }),
      consequence: html`<p>${words.say('webhook-changes.recover_text', {
        span: words.say(`webhooks.span_${hours}`),
        seconds: Math.ceil((count * RECOVERY_PACE_MS) / 1000),
      })}</p>`,
      button: words.say('webhook-changes.recover_button'),
      back: pathOf(at, endpoint),
      needsSudo: false,
    },
    async act(database) {
      const found = await recover(database, { ...input, isDryRun: false });
      return { to: pathOf(at, endpoint), said: words.say('webhook-changes.recovered', { count: found }) };
    },
  };
};

/** A form on an endpoint's page. */
const planOn =
  <I, P extends object>(
    act: Act<I, P>,
    textsOf: (visit: Visit<StoreAt>) => Readonly<Record<string, string | undefined>>,
    { leadsTo = pathOf, isSecret = false }: Readonly<{ leadsTo?: typeof pathOf; isSecret?: boolean }> = {},
  ): PlanOf =>
  (deps, visit, endpoint) => {
    const back = leadsTo(visit.at, endpoint);
    return planAct(deps, visit, act, {
      texts: { endpoint: endpoint.id, owner: endpoint.id, ...textsOf(visit) },
      back,
      refused: (fault) => endpointPage(deps, visit, endpoint, fault),
      ...(isSecret && visit.form.step === 'start' && { page: secretPage(visit, back) }),
    });
  };

const planSecret = planOn(rotateSecret, ({ form }) => ({ rotate: form.step ?? '' }), { isSecret: true });
const planEvents = planOn(setEndpoint, (visit) => ({ events: chosenEvents(visit) }));
const planEnabling = planOn(setEndpoint, ({ form }) => ({ state: form.step ?? '' }));
const planRemoval = planOn(removeEndpoint, () => ({}), { leadsTo: webhooksPath });
