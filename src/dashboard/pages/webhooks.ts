/**
 * Webhooks of a store: where its events go, whether they are taken, and why one was not.
 */
import { isAllowed, type StorePermission } from '../../core/access.ts';
import { documentedPaymentEvents, documentedRefundEvents, extendedEvents } from '../../core/event.ts';
import type { PastAttempt } from '../../database/attempts.ts';
import type { Delivery, DeliverySearch, DeliveryState } from '../../database/deliveries.ts';
import type { Endpoint } from '../../database/endpoints.ts';
import {
  ACTIVITY_EVENTS_MAX,
  type EndpointActivity,
  type EndpointHealth,
  RECENT_EVENTS,
  WAITING_COUNTED_MAX,
} from '../../database/redelivery.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, list } from '../../web/list.ts';
import { changeFields } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { failingEndpoints } from '../failing-endpoints.ts';
import { type Chosen, type Field, limitForm, pager, queryOf, readChosen } from '../listing.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { badge, data, faultMessage, plainText, type Tone, time } from '../show.ts';
import { endpointsOf, findEndpoint, storeEndpoints } from '../store-endpoints.ts';
import type { Words } from '../texts.ts';
import { webhookCall } from '../webhook-call.ts';

const DELIVERIES_SHOWN = 50;
/** So many events and deliveries are looked at for each page. */
const LOOK_MAX = 5_000;
const ENDPOINTS_SHOWN = 100;
const RECENT_SHOWN = 20;

export const webhooksPath = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/webhooks`;

/** How far back failed deliveries are sent again, in hours. */
export const recoverySpans = ['1', '6', '24', '72', '168'] as const;

export const webhookPages = (deps: DashboardDeps): readonly StorePage[] => [
  {
    method: 'get',
    path: '/s/:store/:mode/webhooks',
    needs: 'webhooks:read',
    answer: (visit) => webhooksPage(deps, visit, null),
  },
  {
    method: 'get',
    path: '/s/:store/:mode/webhooks/:endpoint',
    needs: 'webhooks:read',
    async answer(visit) {
      const endpoint = await findEndpoint(deps, visit);
      return endpoint && endpointPage(deps, visit, endpoint, null);
    },
  },
  {
    method: 'get',
    path: '/s/:store/:mode/webhooks/deliveries/:delivery',
    needs: 'webhooks:read',
    answer: (visit) => deliveryPage(deps, visit),
  },
];

const may = ({ at, visitor }: Visit<StoreAt>, permission: StorePermission): boolean =>
  isAllowed(visitor.person.memberships, { permission, ...at });

/** Returns the delivery that the path names, with its event; null where the store has none in this mode. */
export async function findDelivery({ database }: DashboardDeps, { at, params }: Visit<StoreAt>) {
  const [delivery] = await database.deliveries.list({ id: params.delivery ?? '', limit: 1 });
  const event = delivery ? await database.events.find(delivery.eventId) : null;
  return delivery && event?.storeId === at.storeId && event.mode === at.mode ? { delivery, event } : null;
}

export async function webhooksPage(
  { database }: DashboardDeps,
  visit: Visit<StoreAt>,
  fault: Html | string | null,
): Promise<Reply> {
  const { at, query, words } = visit;
  const own = await storeEndpoints(database, at, ENDPOINTS_SHOWN);
  const [id, eventId] = [query.get('after'), query.get('event') ?? ''];
  const after = id !== null && eventId !== '' ? { id, eventId } : null;
  const fields = deliveryFields(words, own);
  const chosen = readChosen(fields, query);
  const page = { after, limit: DELIVERIES_SHOWN, lookMax: LOOK_MAX };
  const { deliveries: shown, goOn } = await database.deliveries.ofStore(at, searchOf(chosen), page);
  const older = goOn && { event: goOn.eventId, after: goOn.id };
  const isLimited = Object.keys(chosen).length > 0;
  return {
    title: words.say('frame.webhooks'),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}
<section aria-labelledby="endpoints"><h2 id="endpoints">${words.say('webhooks.endpoints')}</h2>${endpointTable(visit, own, await failingEndpoints(database, visit.nowMs))}</section>
${may(visit, 'webhooks:manage') ? addForm(visit) : null}
<section aria-labelledby="deliveries"><h2 id="deliveries">${words.say('webhooks.deliveries')}</h2>
${limitForm(words, webhooksPath(at), fields, chosen)}${
  shown.length === 0
    ? noDeliveries(visit, isLimited, goOn !== null)
    : deliveryTable(visit, shown, await endpointsOf(database, shown))
}${pager(words, { path: webhooksPath(at), chosen, isFirst: after === null, older })}</section>`,
  };
}

const states: readonly DeliveryState[] = ['waiting', 'delivered', 'failed'];

/** @param endpoints those that can be chosen */
const deliveryFields = (words: Words, endpoints: readonly Endpoint[]): readonly Field[] => [
  {
    ...{ name: 'endpoint', label: words.say('webhooks.endpoint') },
    choices: endpoints.map(({ id, url }) => [id, url, true]),
  },
  {
    ...{ name: 'state', label: words.say('general.state') },
    choices: states.map((one) => [one, words.say(`general.delivery_${one}`)]),
  },
  {
    ...{ name: 'answer', label: words.html('webhooks.answer_filter'), type: 'text', charsMax: 4 },
    read: (text) => (/^(?:none|[1-5](?:\d\d|xx))$/i.test(text) ? text.toLowerCase() : null),
  },
];

/** An answer is `500`, `5xx` or `none`. */
function searchOf({ endpoint, state, answer }: Chosen): DeliverySearch {
  const codes = answer !== undefined && {
    from: Number(answer.replace('xx', '00')),
    to: Number(answer.replace('xx', '99')),
  };
  return {
    endpointId: endpoint ?? null,
    state: states.find((one) => one === state) ?? null,
    answer: answer === 'none' ? 'none' : codes || null,
  };
}

/** An empty part of the list is never shown as the end, nor an empty result as an empty store. */
function noDeliveries({ at, words }: Visit<StoreAt>, isFiltered: boolean, goesOn: boolean): Html {
  const all = html`<a href="${webhooksPath(at)}">${words.say('general.all')}</a>`;
  const text = goesOn
    ? words.html(isFiltered ? 'webhooks.no_match_here' : 'webhooks.rest')
    : isFiltered
      ? words.html('webhooks.no_match', { all })
      : words.html('webhooks.nothing_sent');
  return html`<p class="card">${text}</p>`;
}

const usualEvents: readonly string[] = [...documentedPaymentEvents, ...documentedRefundEvents];

/** Names the events that an endpoint gets: those that every one gets, and which more. */
const eventsText = (more: readonly string[]): Html => data([...usualEvents, ...more].join(', '));

function endpointState(words: Words, { id, disabledAtMs }: Endpoint, failing: ReadonlyMap<string, number>): Html {
  if (disabledAtMs !== null) return badge(words.say('webhooks.disabled'), 'attention');
  const sinceMs = failing.get(id);
  return sinceMs === undefined
    ? badge(words.say('webhooks.enabled'), 'good')
    : words.html('webhooks.failing_since', {
        state: badge(words.say('webhooks.failing'), 'danger'),
        time: time(sinceMs),
      });
}

const endpointTable = (
  { at, words }: Visit<StoreAt>,
  endpoints: readonly Endpoint[],
  failing: ReadonlyMap<string, number>,
): Html =>
  list<Endpoint>({
    caption: words.say('webhooks.endpoints'),
    columns: [
      [words.say('general.url'), ({ id, url }) => html`<a href="${webhooksPath(at)}/${id}">${data(url)}</a>`],
      [words.say('general.events'), (one) => eventsText(one.extendedEvents)],
      [words.say('general.created'), ({ createdAtMs }) => time(createdAtMs)],
      [words.say('general.state'), (one) => endpointState(words, one, failing), 'lead'],
    ],
    rows: endpoints,
    empty: words.say('webhooks.no_endpoint'),
  });

const eventBoxes = (words: Words, chosen: readonly string[]): Html =>
  html`<p class="hint">${words.html('webhooks.always', { events: usualEvents.join(', ') })}</p>
<fieldset><legend>${words.say('webhooks.more_events')}</legend>${extendedEvents.map(
    (name) =>
      html`<label class="check"><input type="checkbox" name="${name}"${chosen.includes(name) ? html` checked` : null}> <code>${name}</code></label>`,
  )}</fieldset>`;

const addForm = (
  visit: Visit<StoreAt>,
): Html => html`<details class="card"${visit.form.url === undefined ? null : html` open`}><summary>${visit.words.say('webhooks.add')}</summary>
<form method="post" action="${webhooksPath(visit.at)}">${changeFields(visit)}
<label>${visit.words.say('general.url')} <input name="url" type="url" dir="ltr" maxlength="2048" placeholder="https://shop.example/quayside" value="${visit.form.url ?? ''}" required></label>
${eventBoxes(visit.words, Object.keys(visit.form))}
<button>${visit.words.say('frame.go_on')}</button></form></details>`;

const tones: Readonly<Record<Delivery['state'], Tone>> = { delivered: 'good', waiting: 'wait', failed: 'danger' };

/** What waits after a try that failed is no quiet waiting. */
const stateBadge = (words: Words, { state, attempts }: Pick<Delivery, 'state' | 'attempts'>): Html =>
  state === 'waiting' && attempts > 0
    ? badge(words.say('webhooks.retrying'), 'attention')
    : badge(words.say(`general.delivery_${state}`), tones[state]);

/** @param endpoints those that deliveries may name; of one endpoint's own deliveries none, and no column */
const deliveryTable = (
  { at, words }: Visit<StoreAt>,
  deliveries: readonly Delivery[],
  endpoints: readonly Endpoint[],
): Html =>
  list<Delivery>({
    caption: words.say('webhooks.deliveries'),
    columns: [
      [words.say('general.created'), ({ createdAtMs }) => time(createdAtMs)],
      [
        words.say('webhooks.event'),
        ({ id, eventType }) => html`<a href="${webhooksPath(at)}/deliveries/${id}">${data(eventType)}</a>`,
        'lead',
      ],
      [
        words.say('webhooks.payment'),
        ({ sessionId }) =>
          html`<a href="/s/${at.storeId}/${at.mode}/payments/${sessionId}"><code>${sessionId.slice(0, 13)}…</code></a>`,
      ],
      ...(endpoints.length === 0
        ? []
        : [
            [
              words.say('webhooks.endpoint'),
              ({ endpointId }: Delivery) => data(endpoints.find(({ id }) => id === endpointId)?.url ?? endpointId),
            ] as const,
          ]),
      [words.say('webhooks.tries'), ({ attempts }) => String(attempts), 'number'],
      [words.say('webhooks.last_answer'), ({ lastStatus, lastError }) => data(lastStatus ?? lastError ?? '–')],
      [words.say('general.state'), (one) => stateBadge(words, one), 'lead'],
    ],
    rows: deliveries,
    empty: words.say('webhooks.nothing_sent_to_it'),
  });

/** Renders one endpoint: how it does, its last deliveries, and what can be done about it. */
export async function endpointPage(
  { database }: DashboardDeps,
  visit: Visit<StoreAt>,
  endpoint: Endpoint,
  fault: Html | string | null,
): Promise<Reply> {
  const { at, words } = visit;
  const health = await database.endpoints.health(endpoint.id);
  if (!health) return null;
  const activity = await database.endpoints.activity(endpoint.id, visit.nowMs - DAY_MS);
  const secret = await database.endpoints.findSecret(endpoint.id, endpoint.mode);
  const search = { endpointId: endpoint.id, state: null, answer: null };
  const page = { after: null, limit: RECENT_SHOWN, lookMax: LOOK_MAX };
  const { deliveries: recent } = await database.deliveries.ofStore(at, search, page);
  return {
    title: words.say('webhooks.endpoint'),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}<p><a href="${webhooksPath(at)}">${words.say('webhooks.all')}</a></p>
<section class="card" aria-labelledby="url"><h2 id="url">${data(endpoint.url)}</h2>${healthFacts(words, endpoint, health)}
${activity ? activityFacts(visit, endpoint, activity) : null}${may(visit, 'webhooks:resend') ? button(visit, endpoint, 'test', words.say('webhooks.test')) : null}</section>
<section aria-labelledby="recent"><h2 id="recent">${words.say('webhooks.recent')}</h2>${deliveryTable(visit, recent, [])}</section>
${may(visit, 'webhooks:manage') ? manageForms(visit, endpoint, (secret?.nextSecret ?? null) !== null) : null}`,
  };
}

function healthFacts(words: Words, { id, extendedEvents: more }: Endpoint, health: EndpointHealth): Html {
  const { recent, waiting, failingSinceMs, disabledAtMs, disabledReason } = health;
  const countOf = (state: string) => recent.filter((one) => one.state === state).length;
  const state =
    disabledAtMs !== null
      ? words.html('webhooks.disabled_since', {
          state: badge(words.say('webhooks.disabled'), 'attention'),
          time: time(disabledAtMs),
          reason: disabledReason === null ? html`${words.say('webhooks.by_person')}` : data(disabledReason),
        })
      : failingSinceMs === null
        ? recent.some(({ attempts, state }) => attempts > 0 || state === 'delivered')
          ? badge(words.say('webhooks.answers'), 'good')
          : badge(words.say('webhooks.untried'), 'wait')
        : words.html('webhooks.failing_since', {
            state: badge(words.say('webhooks.failing'), 'danger'),
            time: time(failingSinceMs),
          });
  return facts([
    [words.say('general.state'), state],
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

/** What it accepted last, and what became of the events of the last 24 hours, by state as links to them. */
function activityFacts({ at, words }: Visit<StoreAt>, { id }: Endpoint, activity: EndpointActivity): Html {
  const { accepted, counts, hasMore } = activity;
  const listed = (state: DeliveryState) =>
    html`<a href="${webhooksPath(at)}${queryOf({ endpoint: id, state })}">${words.say(`general.delivery_${state}`)}</a> ${data(counts[state])}`;
  const last = accepted && {
    event: html`<a href="${webhooksPath(at)}/deliveries/${accepted.deliveryId}">${data(accepted.eventType)}</a>`,
    time: time(accepted.atMs),
  };
  return facts([
    [words.say('webhooks.accepted'), last ? words.html('webhooks.accepted_at', last) : words.say('general.none')],
    [
      words.say('webhooks.day'),
      html`<span>${listed('delivered')} · ${listed('failed')} · ${listed('waiting')}${
        hasMore ? html` · ${words.say('webhooks.day_cut', { count: ACTIVITY_EVENTS_MAX })}` : null
      }</span>`,
    ],
  ]);
}

const button = (visit: Visit<StoreAt>, { id }: Endpoint, act: string, text: string, more: Html | null = null): Html =>
  html`<form method="post" action="${webhooksPath(visit.at)}/${id}/${act}">${changeFields(visit)}${more}<button class="plain">${text}</button></form>`;

const step = (kind: string): Html => html`<input type="hidden" name="step" value="${kind}">`;

function manageForms(visit: Visit<StoreAt>, endpoint: Endpoint, isRotating: boolean): Html {
  const { at, words } = visit;
  const isOff = endpoint.disabledAtMs !== null;
  const rotating = isRotating
    ? html`<p>${words.say('webhooks.rotating')}</p><div class="actions">
${button(visit, endpoint, 'secret', words.say('webhooks.finish'), step('finish'))}
${button(visit, endpoint, 'secret', words.say('webhooks.cancel'), step('cancel'))}</div>`
    : html`<p>${words.say('webhooks.start_hint')}</p>${button(visit, endpoint, 'secret', words.say('webhooks.start'), step('start'))}`;
  return html`<section class="card" aria-labelledby="recover"><h2 id="recover">${words.say('webhooks.recover')}</h2>
<form method="post" action="${webhooksPath(at)}/${endpoint.id}/recover">${changeFields(visit)}
<label>${words.say('webhooks.span')} <select name="hours">${recoverySpans.map((hours) => html`<option value="${hours}">${words.say(`webhooks.span_${hours}`)}</option>`)}</select></label>
<button class="plain">${words.say('frame.go_on')}</button></form></section>
<section class="card" aria-labelledby="secret"><h2 id="secret">${words.say('general.secret')}</h2>${rotating}</section>
<section class="card" aria-labelledby="change"><h2 id="change">${words.say('webhooks.change')}</h2>
<form method="post" action="${webhooksPath(at)}/${endpoint.id}/events">${changeFields(visit)}${eventBoxes(words, endpoint.extendedEvents)}
<button class="plain">${words.say('webhooks.save_events')}</button></form>
<div class="actions">${button(visit, endpoint, 'enable', words.say(isOff ? 'webhooks.enable' : 'webhooks.disable'), step(isOff ? 'on' : 'off'))}
${button(visit, endpoint, 'remove', words.say('general.remove'))}</div>
<p class="hint">${words.say('webhooks.other_url')}</p></section>`;
}

async function deliveryPage(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const found = await findDelivery(deps, visit);
  if (!found) return null;
  const { at, words } = visit;
  const { delivery, event } = found;
  const attempts = await deps.database.deliveries.attempts(delivery.id);
  const resend = html`<form method="post" action="${webhooksPath(at)}/deliveries/${delivery.id}/resend">${changeFields(visit)}<button>${words.say('webhooks.resend')}</button></form>`;
  return {
    title: words.say('webhooks.event_title', { event: event.type }),
    content: html`<p><a href="${webhooksPath(at)}">${words.say('webhooks.all')}</a></p>
<section class="card" aria-labelledby="state"><h2 id="state">${stateBadge(words, delivery)}</h2>${facts([
      [words.say('webhooks.event'), html`<code>${event.id}</code>`],
      [words.say('general.created'), time(event.createdAtMs)],
      [
        words.say('webhooks.payment'),
        html`<a href="/s/${at.storeId}/${at.mode}/payments/${event.sessionId}">${data(event.sessionId)}</a>`,
      ],
      [
        words.say('webhooks.endpoint'),
        html`<a href="${webhooksPath(at)}/${delivery.endpointId}">${data(delivery.endpointId)}</a>`,
      ],
      ...(delivery.nextAttemptAtMs === null
        ? []
        : [[words.say('webhooks.next_try'), time(delivery.nextAttemptAtMs)] as const]),
    ])}${may(visit, 'webhooks:resend') ? resend : null}</section>
<section aria-labelledby="attempts"><h2 id="attempts">${words.say('webhooks.attempts')}</h2>${attemptTable(words, attempts)}</section>
${await callSection(deps, visit, found, attempts)}
<section class="card" aria-labelledby="body"><h2 id="body">${words.say('webhooks.body')}</h2><pre tabindex="0"><code>${indented(event.body)}</code></pre></section>`,
  };
}

/** The newest attempt as a command, or the one that the address names: only what was sent, so no secret. */
async function callSection(
  { database }: DashboardDeps,
  { query, words }: Visit<StoreAt>,
  { delivery, event }: NonNullable<Awaited<ReturnType<typeof findDelivery>>>,
  attempts: readonly PastAttempt[],
): Promise<Html | null> {
  const asked = Number(query.get('attempt') ?? attempts.length);
  const chosen = attempts[asked - 1];
  const endpoint = await database.endpoints.find(delivery.endpointId);
  if (!chosen || !endpoint) return null;
  const command = chosen.stamp && webhookCall(endpoint.url, event, chosen.stamp);
  return html`<section class="card" aria-labelledby="call"><h2 id="call">${words.say('webhooks.call', { number: asked })}</h2>${
    command === null
      ? html`<p>${words.say('webhooks.call_none')}</p>`
      : html`<p class="hint">${words.say('webhooks.call_text')}</p><pre tabindex="0" data-copy="curl"><code>${command}</code></pre>`
  }</section>`;
}

const attemptTable = (words: Words, attempts: readonly PastAttempt[]): Html =>
  list<readonly [number, PastAttempt]>({
    caption: words.say('webhooks.attempts'),
    columns: [
      [
        words.say('webhooks.number'),
        ([number]) =>
          html`<a href="?attempt=${number}#call" aria-label="${words.say('webhooks.call', { number })}">${data(number)}</a>`,
      ],
      [words.say('webhooks.started'), ([, { startedAtMs }]) => time(startedAtMs)],
      [
        words.say('webhooks.by'),
        ([, { trigger }]) => words.say(trigger === 'manual' ? 'webhooks.by_manual' : 'webhooks.by_schedule'),
      ],
      [words.say('general.took'), ([, { durationMs }]) => data(`${durationMs} ms`), 'number'],
      [words.say('webhooks.result'), ([, { status, error }]) => data(status ?? error ?? '–'), 'lead'],
      [
        words.say('webhooks.answer'),
        ([, { responseExcerpt }]) =>
          responseExcerpt === null ? '–' : html`<code>${plainText(responseExcerpt)}</code>`,
      ],
    ],
    rows: attempts.map((one, at) => [at + 1, one]),
    empty: words.say('webhooks.not_tried'),
  });

/** The bytes that are sent have no line breaks; this is for reading. */
const indented = (body: string): string => JSON.stringify(JSON.parse(body), null, 2);
