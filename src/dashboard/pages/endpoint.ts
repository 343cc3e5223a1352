/** One endpoint: how it does, its last deliveries, and what people do about it. */
import type { Act } from '../../acts/act.ts';
import { removeEndpoint, rotateSecret, setEndpoint } from '../../acts/webhooks.ts';
import { sendErrors } from '../../core/delivery.ts';
import { RESEND_PACE_MS } from '../../database/deliveries.ts';
import { RECENT_EVENTS, type ShownHealth, WAITING_COUNTED_MAX } from '../../database/endpoint-health.ts';
import type { Endpoint } from '../../database/endpoints.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, section } from '../../web/list.ts';
import { planAct } from '../act-form.ts';
import { changeForm, hidden, type Planned, storeChange } from '../change.ts';
import { actOf, type DashboardDeps, type TestAnswer } from '../deps.ts';
import { failingText, findEndpoint } from '../endpoints.ts';
import { may, pathIn, type Reply, type StoreAt, type StorePage, type Visit } from '../page.ts';
import { badge, data, faultMessage, plainText, time } from '../show.ts';
import type { Words } from '../texts.ts';
import { deliveryTable, eventBoxes, eventsIn, eventsText, LOOK_MAX, secretPage } from './webhooks.ts';

const RECENT_SHOWN = 20;
const HOUR_MS = 3_600_000;
/** How far back failed deliveries are sent again, in hours. */
const recoverySpans = ['1', '6', '24', '72', '168'] as const;

type PlanOf = (deps: DashboardDeps, visit: Visit<StoreAt>, endpoint: Endpoint) => Promise<Planned>;

export const endpointPages = (deps: DashboardDeps): readonly StorePage[] => [
  {
    method: 'get',
    path: '/s/:store/:mode/webhooks/:endpoint',
    needs: 'webhooks:read',
    async answer(visit) {
      const endpoint = await findEndpoint(deps.database, visit.at, visit.params.endpoint ?? '');
      return endpoint && endpointPage(deps, visit, endpoint, null);
    },
  },
  ...(
    [
      ['test', 'webhooks:resend', planTest],
      ['recover', 'webhooks:manage', planRecovery],
      ['secret', 'webhooks:manage', planOn(rotateSecret, ({ form }) => ({ rotate: form.step ?? '' }))],
      ['events', 'webhooks:manage', planOn(setEndpoint, (visit) => ({ events: eventsIn(visit) }))],
      ['enable', 'webhooks:manage', planOn(setEndpoint, ({ form }) => ({ state: form.step ?? '' }))],
      ['remove', 'webhooks:manage', planOn(removeEndpoint, () => ({}), 'webhooks')],
    ] as const
  ).map(([act, needs, planOf]) =>
    storeChange(deps, {
      path: `/s/:store/:mode/webhooks/:endpoint/${act}`,
      needs,
      async plan(visit) {
        const endpoint = await findEndpoint(deps.database, visit.at, visit.params.endpoint ?? '');
        return endpoint && planOf(deps, visit, endpoint);
      },
    }),
  ),
];

const pathOf = (at: StoreAt, { id }: Endpoint): string => pathIn(at, `webhooks/${id}`);

async function endpointPage(
  { database }: DashboardDeps,
  visit: Visit<StoreAt>,
  endpoint: Endpoint,
  fault: Html | string | null,
): Promise<Reply> {
  const { at, words } = visit;
  const health = await database.endpoints.health(endpoint.id);
  if (!health) return null;
  const secret = await database.endpoints.findSecret(endpoint.id, endpoint.mode);
  const search = { endpointId: endpoint.id, state: null, answer: null };
  const page = { after: null, limit: RECENT_SHOWN, lookMax: LOOK_MAX };
  const { deliveries } = await database.deliveries.ofStore(at, search, page);
  const test = changeForm(visit, `${pathOf(at, endpoint)}/test`, words.say('webhooks.test'));
  return {
    title: words.say('webhooks.endpoint'),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}<p><a href="${pathIn(at, 'webhooks')}">${words.say('webhooks.all')}</a></p>
${section('url', data(endpoint.url), html`${healthFacts(words, endpoint, health)}${may(visit, 'webhooks:resend') ? test : null}`)}
${section('recent', words.say('webhooks.recent'), deliveryTable(visit, deliveries, null), 'plain')}
${may(visit, 'webhooks:manage') ? manageForms(visit, endpoint, (secret?.nextSecret ?? null) !== null) : null}`,
  };
}

function stateOf(words: Words, { recent, failingSinceMs, disabledAtMs, disabledReason }: ShownHealth): Html {
  if (disabledAtMs !== null) {
    return words.html('webhooks.disabled_since', {
      state: badge(words.say('webhooks.disabled'), 'attention'),
      time: time(disabledAtMs),
      reason: disabledReason === null ? html`${words.say('webhooks.by_person')}` : data(disabledReason),
    });
  }
  if (failingSinceMs !== null) return failingText(words, failingSinceMs);
  return recent.some(({ attempts, state }) => attempts > 0 || state === 'delivered')
    ? badge(words.say('webhooks.answers'), 'good')
    : badge(words.say('webhooks.untried'), 'wait');
}

function healthFacts(words: Words, { id, extendedEvents: more }: Endpoint, health: ShownHealth): Html {
  const { recent, waiting } = health;
  const countOf = (state: string) => recent.filter((one) => one.state === state).length;
  return facts([
    [words.say('general.state'), stateOf(words, health)],
    [words.say('webhooks.endpoint_id'), html`<code>${id}</code>`],
    [words.say('general.events'), eventsText(more)],
    [
      words.say('webhooks.last_events', { count: RECENT_EVENTS }),
      words.say('webhooks.counts', { delivered: countOf('delivered'), failed: countOf('failed') }),
    ],
    [
      words.say('webhooks.waiting'),
      waiting < WAITING_COUNTED_MAX ? String(waiting) : words.say('webhooks.or_more', { count: WAITING_COUNTED_MAX }),
    ],
  ]);
}

function manageForms(visit: Visit<StoreAt>, endpoint: Endpoint, isRotating: boolean): Html {
  const { at, words } = visit;
  const form = (act: string, text: string, fields: Html | null = null) =>
    changeForm(visit, `${pathOf(at, endpoint)}/${act}`, text, { fields });
  const rotating = isRotating
    ? html`<p>${words.say('webhooks.rotating')}</p><div class="actions">${form('secret', words.say('webhooks.finish'), hidden('step', 'finish'))}
${form('secret', words.say('webhooks.cancel'), hidden('step', 'cancel'))}</div>`
    : html`<p>${words.say('webhooks.start_hint')}</p>${form('secret', words.say('webhooks.start'), hidden('step', 'start'))}`;
  const spans = recoverySpans.map(
    (hours) => html`<option value="${hours}">${words.say(`webhooks.span_${hours}`)}</option>`,
  );
  const span = html`<label>${words.say('webhooks.span')} <select name="hours">${spans}</select></label>`;
  const [step, text] =
    endpoint.disabledAtMs === null ? ['off', words.say('webhooks.disable')] : ['on', words.say('webhooks.enable')];
  const changing = html`${form('events', words.say('webhooks.save_events'), eventBoxes(words, endpoint.extendedEvents))}
<div class="actions">${form('enable', text, hidden('step', step))}
${form('remove', words.say('general.remove'))}</div>
<p class="hint">${words.say('webhooks.other_url')}</p>`;
  return html`${section('recover', words.say('webhooks.recover'), form('recover', words.say('frame.go_on'), span))}
${section('secret', words.say('general.secret'), rotating)}
${section('change', words.say('webhooks.change'), changing)}`;
}

/** Plans an act about the endpoint. @param leadsTo the store's page that is shown after it, if not the endpoint's */
function planOn<I, P extends object>(
  act: Act<I, P>,
  textsOf: (visit: Visit<StoreAt>) => Readonly<Record<string, string | undefined>>,
  leadsTo?: string,
): PlanOf {
  return (deps, visit, endpoint) => {
    const back = leadsTo === undefined ? pathOf(visit.at, endpoint) : pathIn(visit.at, leadsTo);
    return planAct(deps, visit, act, {
      texts: { endpoint: endpoint.id, owner: endpoint.id, ...textsOf(visit) },
      back,
      refused: (fault) => endpointPage(deps, visit, endpoint, fault),
      ...(visit.form.step === 'start' && { page: (outcome) => secretPage(visit, back, outcome) }),
    });
  };
}

/** Sends outside of the database's turn: the endpoint may take long to answer. */
async function planTest(deps: DashboardDeps, visit: Visit<StoreAt>, endpoint: Endpoint): Promise<Planned> {
  const { at, words } = visit;
  const sent = await deps.sendTestEvent(endpoint);
  if (!sent) return null;
  const { isDelivered, status, error, detail, answer, durationMs } = sent;
  const act = actOf(visit.visitor.person, 'send test webhook', deps.clock);
  const entry = { target: endpoint.id, before: null, after: { answer: status ?? error ?? 'none' } };
  await deps.database.audit.record(act, entry);
  const state = isDelivered
    ? badge(words.say('general.delivery_delivered'), 'good')
    : badge(words.say('webhook-changes.not_delivered'), 'danger');
  const shown = facts([
    [words.say('general.url'), data(endpoint.url)],
    [words.say('webhooks.answer'), status === null ? words.say('general.none') : data(status)],
    [words.say('general.took'), data(`${durationMs} ms`)],
    detail === null ? null : [words.say('webhook-changes.why'), data(plainText(detail))],
    answer === null ? null : [words.say('webhook-changes.it_said'), html`<code>${plainText(answer)}</code>`],
  ]);
  const back = html`<p><a href="${pathOf(at, endpoint)}">${words.say('webhook-changes.back')}</a></p>`;
  return {
    title: words.say('webhook-changes.test_title'),
    content: section('result', state, html`${adviceOn(words, sent)}${shown}${back}`),
  };
}

/** Says what a failed test means, and what to do next. */
function adviceOn(words: Words, { isDelivered, status, error }: TestAnswer): Html | null {
  if (isDelivered) return null;
  if (status !== null) return html`<p>${words.html('webhook-changes.error_status', { status })}</p>`;
  const known = sendErrors.find((one) => one === error);
  return known === undefined ? null : html`<p>${words.html(`webhook-changes.error_${known}`)}</p>`;
}

async function planRecovery(deps: DashboardDeps, visit: Visit<StoreAt>, endpoint: Endpoint): Promise<Planned> {
  const { at, form, nowMs, words } = visit;
  const hours = recoverySpans.find((one) => one === form.hours);
  if (!hours) return endpointPage(deps, visit, endpoint, words.say('webhook-changes.choose_span'));
  const which = { endpointId: endpoint.id, sinceMs: nowMs - Number(hours) * HOUR_MS };
  const count = await deps.database.deliveries.resend(which, nowMs, true);
  if (count === 0) return endpointPage(deps, visit, endpoint, words.say('webhook-changes.nothing_failed'));
  const seconds = Math.ceil((count * RESEND_PACE_MS) / 1000);
  const text = words.say('webhook-changes.recover_text', { span: words.say(`webhooks.span_${hours}`), seconds });
  return {
    command: 'recover webhooks',
    target: endpoint.id,
    review: {
      title: words.say('webhook-changes.recover_title', { count }),
      consequence: html`<p>${text}</p>`,
      button: words.say('webhook-changes.recover_button'),
      back: pathOf(at, endpoint),
      needsSudo: false,
    },
    async act({ deliveries }) {
      const found = await deliveries.resend(which, nowMs);
      return { to: pathOf(at, endpoint), said: words.say('webhook-changes.recovered', { count: found }) };
    },
  };
}
