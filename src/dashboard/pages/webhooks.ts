/**
 * Webhooks of a store: where its events go, whether they are taken, and why one was not.
 * @module
 */
import { isAllowed, type StorePermission } from '../../core/access.ts';
import { extendedEvents } from '../../core/event.ts';
import type { Attempt, Delivery, Endpoint } from '../../database/database.ts';
import { type EndpointHealth, RECENT_EVENTS, WAITING_COUNTED_MAX } from '../../database/redelivery.ts';
import { type Html, html } from '../../lib/html.ts';
import { changeFields } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { badge, facts, faultMessage, plainText, type Tone, table, time } from '../show.ts';

const DELIVERIES_SHOWN = 50;
const ENDPOINTS_SHOWN = 100;
const RECENT_SHOWN = 20;

export const webhooksPath = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/webhooks`;

/** How far back failed deliveries are sent again, in hours. */
export const recoverySpans: readonly (readonly [string, string])[] = [
  ['1', 'the last hour'],
  ['6', 'the last 6 hours'],
  ['24', 'the last day'],
  ['72', 'the last 3 days'],
  ['168', 'the last week'],
];

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

/** Returns the endpoint that the path names; null where the store has none by that id in this mode. */
export async function findEndpoint({ database }: DashboardDeps, visit: Visit<StoreAt>): Promise<Endpoint | null> {
  const { at, params } = visit;
  const all = await database.listEndpoints(at.storeId);
  return all.find(({ id, mode, perSession }) => id === params.endpoint && mode === at.mode && !perSession) ?? null;
}

/** Returns the delivery that the path names, with its event; null where the store has none in this mode. */
export async function findDelivery({ database }: DashboardDeps, { at, params }: Visit<StoreAt>) {
  const [delivery] = await database.listDeliveries({ id: params.delivery ?? '', limit: 1 });
  const event = delivery ? await database.findEvent(delivery.eventId) : null;
  return delivery && event?.storeId === at.storeId && event.mode === at.mode ? { delivery, event } : null;
}

export async function webhooksPage(
  { database }: DashboardDeps,
  visit: Visit<StoreAt>,
  fault: string | null,
): Promise<Reply> {
  const { at, query } = visit;
  const all = await database.listEndpoints(at.storeId);
  const own = all.filter(({ mode, perSession }) => mode === at.mode && !perSession).slice(0, ENDPOINTS_SHOWN);
  const [id, eventId] = [query.get('after') ?? '', query.get('event') ?? ''];
  const after = id !== '' && eventId !== '' ? { after: { id, eventId } } : {};
  const found = await database.listDeliveries({ ...at, ...after, limit: DELIVERIES_SHOWN + 1 });
  const shown = found.slice(0, DELIVERIES_SHOWN);
  const last = found.length > DELIVERIES_SHOWN ? shown.at(-1) : undefined;
  const older = last
    ? html`<p class="pager"><a href="${webhooksPath(at)}?event=${last.eventId}&after=${last.id}" rel="next">Older</a></p>`
    : null;
  return {
    title: 'Webhooks',
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}
<section aria-labelledby="endpoints"><h2 id="endpoints">Endpoints</h2>${
      own.length === 0
        ? html`<p class="card">There is no ${at.mode} endpoint: your shop is told nothing, and has to ask.</p>`
        : endpointTable(at, own)
    }</section>
${may(visit, 'webhooks:manage') ? addForm(visit) : null}
<section aria-labelledby="deliveries"><h2 id="deliveries">Deliveries</h2>${
      shown.length === 0 ? html`<p class="card">Nothing was sent yet.</p>` : deliveryTable(at, shown)
    }${older}</section>`,
  };
}

const endpointTable = (at: StoreAt, endpoints: readonly Endpoint[]): Html =>
  table(
    'Endpoints',
    ['URL', 'Events', 'Since', 'State'],
    endpoints.map((one) => [
      html`<a href="${webhooksPath(at)}/${one.id}">${one.url}</a>`,
      one.extendedEvents.length === 0 ? 'the usual ones' : `the usual ones, ${one.extendedEvents.join(', ')}`,
      time(one.createdAtMs),
      one.disabledAtMs === null ? badge('enabled', 'good') : badge('disabled', 'attention'),
    ]),
  );

const eventBoxes = (chosen: readonly string[]): Html =>
  html`<fieldset><legend>Events beside the usual ones</legend>${extendedEvents.map(
    (name) =>
      html`<label class="check"><input type="checkbox" name="${name}"${chosen.includes(name) ? html` checked` : null}> <code>${name}</code></label>`,
  )}</fieldset>`;

const addForm = (
  visit: Visit<StoreAt>,
): Html => html`<details class="card"${visit.form.url === undefined ? null : html` open`}><summary>Add an endpoint</summary>
<form method="post" action="${webhooksPath(visit.at)}">${changeFields(visit)}
<label>URL <input name="url" type="url" maxlength="2048" placeholder="https://shop.example/quayside" value="${visit.form.url ?? ''}" required></label>
${eventBoxes(Object.keys(visit.form))}
<button>Go on</button></form></details>`;

const tones: Readonly<Record<Delivery['state'], Tone>> = { delivered: 'good', waiting: 'wait', failed: 'danger' };

const deliveryTable = (at: StoreAt, deliveries: readonly Delivery[]): Html =>
  table(
    'Deliveries',
    ['Created', 'Event', 'Payment', 'Tries', 'Last answer', 'State'],
    deliveries.map((one) => [
      time(one.createdAtMs),
      html`<a href="${webhooksPath(at)}/deliveries/${one.id}">${one.eventType}</a>`,
      html`<a href="/s/${at.storeId}/${at.mode}/payments/${one.sessionId}"><code>${one.sessionId.slice(0, 13)}…</code></a>`,
      String(one.attempts),
      String(one.lastStatus ?? one.lastError ?? '–'),
      badge(one.state, tones[one.state]),
    ]),
  );

/** Renders one endpoint: how it does, its last deliveries, and what can be done about it. */
export async function endpointPage(
  { database }: DashboardDeps,
  visit: Visit<StoreAt>,
  endpoint: Endpoint,
  fault: string | null,
): Promise<Reply> {
  const { at } = visit;
  const health = await database.endpointHealth(endpoint.id);
  if (!health) return null;
  const secret = await database.findWebhookSecret(endpoint.id, endpoint.mode);
  const recent = table(
    'Recent deliveries',
    ['Delivery', 'Tries', 'State'],
    health.recent
      .slice(0, RECENT_SHOWN)
      .map((one) => [
        html`<a href="${webhooksPath(at)}/deliveries/${one.id}">${one.eventType}</a>`,
        String(one.attempts),
        badge(one.state, tones[one.state]),
      ]),
  );
  return {
    title: 'Endpoint',
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}<p><a href="${webhooksPath(at)}">All webhooks</a></p>
<section class="card" aria-labelledby="url"><h2 id="url">${endpoint.url}</h2>${healthFacts(endpoint, health)}
${may(visit, 'webhooks:resend') ? button(visit, endpoint, 'test', 'Send a test event') : null}</section>
<section aria-labelledby="recent"><h2 id="recent">Recent deliveries</h2>${
      health.recent.length === 0 ? html`<p class="card">Nothing was sent to it yet.</p>` : recent
    }</section>
${may(visit, 'webhooks:manage') ? manageForms(visit, endpoint, (secret?.nextSecret ?? null) !== null) : null}`,
  };
}

function healthFacts({ id, extendedEvents: more }: Endpoint, health: EndpointHealth): Html {
  const { recent, waiting, failingSinceMs, disabledAtMs, disabledReason } = health;
  const countOf = (state: string) => recent.filter((one) => one.state === state).length;
  const state =
    disabledAtMs !== null
      ? html`${badge('disabled', 'attention')} since ${time(disabledAtMs)}: ${disabledReason ?? 'by a person'}. Its events wait.`
      : failingSinceMs === null
        ? recent.some(({ attempts, state }) => attempts > 0 || state === 'delivered')
          ? badge('answers', 'good')
          : badge('not tried yet', 'wait')
        : html`${badge('failing', 'danger')} nothing accepted since ${time(failingSinceMs)}`;
  return facts([
    ['State', state],
    ['Endpoint id', html`<code>${id}</code>`],
    ['Events', more.length === 0 ? 'the usual ones' : `the usual ones, ${more.join(', ')}`],
    [`Of the last ${RECENT_EVENTS} events`, `${countOf('delivered')} delivered, ${countOf('failed')} failed for good`],
    ['Waiting', waiting < WAITING_COUNTED_MAX ? String(waiting) : `${WAITING_COUNTED_MAX} or more`],
  ]);
}

const button = (visit: Visit<StoreAt>, { id }: Endpoint, act: string, text: string, more: Html | null = null): Html =>
  html`<form method="post" action="${webhooksPath(visit.at)}/${id}/${act}">${changeFields(visit)}${more}<button class="plain">${text}</button></form>`;

const step = (kind: string): Html => html`<input type="hidden" name="step" value="${kind}">`;

function manageForms(visit: Visit<StoreAt>, endpoint: Endpoint, isRotating: boolean): Html {
  const { at } = visit;
  const isOff = endpoint.disabledAtMs !== null;
  const rotating = isRotating
    ? html`<p>Two secrets are valid. Once your shop checks the new one, finish.</p><div class="actions">
${button(visit, endpoint, 'secret', 'Finish: only the new secret', step('finish'))}
${button(visit, endpoint, 'secret', 'Cancel: keep the old secret', step('cancel'))}</div>`
    : html`<p>A new secret is shown once; both are valid until you finish.</p>${button(visit, endpoint, 'secret', 'Make a new secret', step('start'))}`;
  return html`<section class="card" aria-labelledby="recover"><h2 id="recover">Send again what failed</h2>
<form method="post" action="${webhooksPath(at)}/${endpoint.id}/recover">${changeFields(visit)}
<label>Of <select name="hours">${recoverySpans.map(([hours, text]) => html`<option value="${hours}">${text}</option>`)}</select></label>
<button class="plain">Go on</button></form></section>
<section class="card" aria-labelledby="secret"><h2 id="secret">Secret</h2>${rotating}</section>
<section class="card" aria-labelledby="change"><h2 id="change">Change it</h2>
<form method="post" action="${webhooksPath(at)}/${endpoint.id}/events">${changeFields(visit)}${eventBoxes(endpoint.extendedEvents)}
<button class="plain">Save the events</button></form>
<div class="actions">${button(visit, endpoint, 'enable', isOff ? 'Enable' : 'Disable', step(isOff ? 'on' : 'off'))}
${button(visit, endpoint, 'remove', 'Remove')}</div>
<p class="hint">For another URL, add it and then remove this one.</p></section>`;
}

async function deliveryPage(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const found = await findDelivery(deps, visit);
  if (!found) return null;
  const { at } = visit;
  const { delivery, event } = found;
  const attempts = await deps.database.listAttempts(delivery.id);
  const resend = html`<form method="post" action="${webhooksPath(at)}/deliveries/${delivery.id}/resend">${changeFields(visit)}<button>Send it again</button></form>`;
  return {
    title: event.type,
    content: html`<p><a href="${webhooksPath(at)}">All webhooks</a></p>
<section class="card" aria-labelledby="state"><h2 id="state">${badge(delivery.state, tones[delivery.state])}</h2>${facts(
      [
        ['Event', html`<code>${event.id}</code>`],
        ['Created', time(event.createdAtMs)],
        ['Payment', html`<a href="/s/${at.storeId}/${at.mode}/payments/${event.sessionId}">${event.sessionId}</a>`],
        ['Endpoint', html`<a href="${webhooksPath(at)}/${delivery.endpointId}">${delivery.endpointId}</a>`],
        ...(delivery.nextAttemptAtMs === null ? [] : [['Next try', time(delivery.nextAttemptAtMs)] as const]),
      ],
    )}${may(visit, 'webhooks:resend') ? resend : null}</section>
<section aria-labelledby="attempts"><h2 id="attempts">Attempts</h2>${
      attempts.length === 0 ? html`<p class="card">It was not tried yet.</p>` : attemptTable(attempts)
    }</section>
<section class="card" aria-labelledby="body"><h2 id="body">What is sent</h2><pre tabindex="0"><code>${indented(event.body)}</code></pre></section>`,
  };
}

const attemptTable = (attempts: readonly Attempt[]): Html =>
  table(
    'Attempts',
    ['Started', 'By', 'Took', 'Result', 'Answer'],
    attempts.map((one) => [
      time(one.startedAtMs),
      one.trigger === 'manual' ? 'hand' : 'schedule',
      `${one.durationMs} ms`,
      String(one.status ?? one.error ?? '–'),
      one.responseExcerpt === null ? '–' : html`<code>${plainText(one.responseExcerpt)}</code>`,
    ]),
  );

/** The bytes that are sent have no line breaks; this is for reading. */
const indented = (body: string): string => JSON.stringify(JSON.parse(body), null, 2);
