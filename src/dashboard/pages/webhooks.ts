/** Webhooks of a store: its endpoints and deliveries; an endpoint and what people do about it; a delivery. */

import { testEndpoint } from '../../acts/webhook-test.ts';
import { addEndpoint, removeEndpoint, resendWebhooks, rotateSecret, setEndpoint } from '../../acts/webhooks.ts';
import { documentedPaymentEvents, documentedRefundEvents } from '../../core/event.ts';
import type { Endpoint } from '../../database/endpoints.ts';
import type { Attempt, Delivery, DeliverySearch, DeliveryState } from '../../database/events.ts';
import { type Html, html } from '../../lib/html.ts';
import type { Chosen, Field } from '../../web/filters.ts';
import { type Column, facts, list, section } from '../../web/list.ts';
import { badge, data, plainText, type Tone, time } from '../../web/show.ts';
import { formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import { type Listing, showList } from '../listing.ts';
import { may, type Page, pathIn, type Reply, type StoreAt, type Visit } from '../page.ts';
import type { Words } from '../texts.ts';

const PATH = '/s/:store/:mode/webhooks';
const SECRET_HINT = 'Your shop checks `X-Service-Signature` or `webhook-signature` with it.';
/** So many events and deliveries are looked at for each page. */
const LOOK_MAX = 5_000;

/** Sends one delivery again, or all of an endpoint that failed since a time. */
const resending = formOf(resendWebhooks, { path: `${PATH}/resend`, inputs: ['what', 'since'] });
const adding = formOf(addEndpoint, {
  path: PATH,
  inputs: ['url', 'events'],
  to: `${PATH}/:id`,
  hint: SECRET_HINT,
});

export const webhooksPages = (deps: DashboardDeps): readonly Page[] => [
  ...pageWith(deps, { path: PATH, needs: 'webhooks:read', answer: (visit) => webhooksPage(deps, visit) }, [
    ...[adding, resending],
  ]),
  ...pageWith(deps, { path: DELIVERY_PATH, needs: 'webhooks:read', answer: (visit) => deliveryPage(deps, visit) }, []),
  ...pageWith(deps, { path: ENDPOINT_PATH, needs: 'webhooks:read', answer: (visit) => endpointPage(deps, visit) }, [
    ...[testing, rotating, changing, removing],
  ]),
];

async function webhooksPage({ database }: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { at, words } = visit;
  const own = await database.endpoints.ofStore(at);
  const { form, table } = await showList(deliveryList(database, own), visit);
  return {
    title: words.say('Webhooks'),
    content: html`${section('endpoints', words.say('Endpoints'), endpointTable(visit, own), 'plain')}
${addForm(visit)}
${section('deliveries', words.say('Deliveries'), html`${form}${table}`, 'plain')}`,
  };
}

/** A place in the list: a delivery with its event. */
const PLACE = /^([\w-]+):([\w-]+)$/;

/** @param endpoints those that can be chosen */
const deliveryList = (
  database: DashboardDeps['database'],
  endpoints: readonly Endpoint[],
): Listing<StoreAt, Delivery> => ({
  path: PATH,
  caption: ({ words }) => words.say('Deliveries'),
  fields: ({ words }) => deliveryFields(words, endpoints),
  async read({ at }, chosen, place, limit) {
    const [, eventId, id] = PLACE.exec(place ?? '') ?? [];
    const after = eventId !== undefined && id !== undefined ? { eventId, id } : null;
    const { deliveries, goOn } = await database.deliveries.ofStore(at, searchOf(chosen), {
      after,
      limit,
      lookMax: LOOK_MAX,
    });
    return { rows: deliveries, goOn: goOn && `${goOn.eventId}:${goOn.id}` };
  },
  columns: async (visit, deliveries) => deliveryColumns(visit, await urlsOf(database, deliveries)),
  empty: ({ words }) => words.say('Nothing was sent yet.'),
});

const states: readonly DeliveryState[] = ['waiting', 'delivered', 'failed'];

/** @param endpoints those that can be chosen */
const deliveryFields = (words: Words, endpoints: readonly Endpoint[]): readonly Field[] => [
  {
    name: 'endpoint',
    label: words.say('Endpoint'),
    choices: endpoints.map(({ id, url }) => [id, url, true]),
  },
  {
    name: 'state',
    label: words.say('State'),
    choices: states.map((one) => [one, words.say(`general.delivery_${one}`)]),
  },
];

const searchOf = ({ endpoint, state }: Chosen): DeliverySearch => ({
  endpointId: endpoint ?? null,
  state: states.find((one) => one === state) ?? null,
});

const usualEvents: readonly string[] = [...documentedPaymentEvents, ...documentedRefundEvents];

/** Names the events that an endpoint gets: those that every one gets, and which more; a door those of its orders. */
const eventsText = ({ extendedEvents, dialect, pid }: Endpoint): Html =>
  data(dialect === null ? [...usualEvents, ...extendedEvents].join(', ') : `payment.completed (${dialect} ${pid})`);

/** Says whether an endpoint gets what is sent to it, and since when not. */
function endpointState(words: Words, { disabledAtMs, disabledReason, failingSinceMs }: Endpoint): Html {
  if (disabledAtMs !== null) {
    return words.html('{state} since {time}: {reason}. Its events wait.', {
      state: badge(words.say('disabled'), 'attention'),
      time: time(disabledAtMs),
      reason: disabledReason === null ? html`${words.say('by a person')}` : data(disabledReason),
    });
  }
  if (failingSinceMs === null) return badge(words.say('enabled'), 'good');
  return words.html('{state} nothing accepted since {time}', {
    state: badge(words.say('failing'), 'danger'),
    time: time(failingSinceMs),
  });
}

const endpointTable = ({ at, words }: Visit<StoreAt>, endpoints: readonly Endpoint[]): Html =>
  list<Endpoint>({
    caption: words.say('Endpoints'),
    columns: [
      [words.say('URL'), ({ id, url }) => html`<a href="${pathIn(at, `webhooks/${id}`)}">${data(url)}</a>`],
      [words.say('Events'), eventsText],
      [words.say('Created'), ({ createdAtMs }) => time(createdAtMs)],
      [words.say('State'), (one) => endpointState(words, one), 'lead'],
    ],
    rows: endpoints,
    empty: words.say(
      'There is no endpoint in this mode: your shop gets no notices; it must ask for each payment’s state.',
    ),
  });

/** Says which events every endpoint gets. */
const alwaysSent = (words: Words): Html =>
  html`<p class="hint">${words.html('Always sent: {events}.', { events: usualEvents.join(', ') })}</p>`;

function addForm(visit: Visit<StoreAt>): Html | null {
  const { words } = visit;
  const form = adding.show(visit, {
    button: words.say('Continue'),
    opens: words.say('Add an endpoint'),
    look: 'main',
    below: alwaysSent(words),
  });
  return form && html`<div class="card">${form}</div>`;
}

/** @param urls of the endpoints */
const deliveryColumns = (
  { at, words }: Visit<StoreAt>,
  urls: ReadonlyMap<string, string>,
): readonly Column<Delivery>[] => [
  [words.say('Created'), ({ createdAtMs }) => time(createdAtMs)],
  [
    words.say('Event'),
    ({ id, eventType }) => html`<a href="${pathIn(at, `webhooks/deliveries/${id}`)}">${data(eventType)}</a>`,
    'lead',
  ],
  [
    words.say('Payment'),
    ({ sessionId }) =>
      html`<a href="${pathIn(at, `payments/${sessionId}`)}"><code>${sessionId.slice(0, 13)}…</code></a>`,
  ],
  [words.say('Endpoint'), ({ endpointId }) => data(urls.get(endpointId) ?? endpointId)],
  [words.say('Tries'), ({ attempts }) => String(attempts), 'number'],
  [words.say('Last answer'), ({ lastStatus, lastError }) => data(lastStatus ?? lastError ?? '–')],
  [words.say('State'), (one) => deliveryState(words, one), 'lead'],
];

type Reads = Pick<DashboardDeps['database'], 'endpoints'>;

/** Returns an endpoint of a store; null where it has none by that id in this mode. */
const findEndpoint = async ({ endpoints }: Reads, at: StoreAt, id: string): Promise<Endpoint | null> =>
  (await endpoints.ofStore(at)).find((one) => one.id === id) ?? null;

/** Returns the URL of each endpoint of deliveries, by id: also of removed ones, and of those that sessions named. */
async function urlsOf({ endpoints }: Reads, deliveries: readonly Delivery[]) {
  const ids = [...new Set(deliveries.map(({ endpointId }) => endpointId))];
  const found = await Promise.all(ids.map((id) => endpoints.find(id)));
  return new Map(found.flatMap((one) => (one ? [[one.id, one.url] as const] : [])));
}

const tones: Readonly<Record<Delivery['state'], Tone>> = { delivered: 'good', waiting: 'wait', failed: 'danger' };

/** Shows the state of a delivery. A wait after a failed try is no quiet waiting. */
export const deliveryState = (words: Words, { state, attempts }: Pick<Delivery, 'state' | 'attempts'>): Html =>
  state === 'waiting' && attempts > 0
    ? badge(words.say('failed, tried again'), 'attention')
    : badge(words.say(`general.delivery_${state}`), tones[state]);

const ENDPOINT_PATH = '/s/:store/:mode/webhooks/:endpoint';

const testing = formOf(testEndpoint, { path: `${ENDPOINT_PATH}/test` });
const rotating = formOf(rotateSecret, { path: `${ENDPOINT_PATH}/secret`, inputs: ['rotate'], hint: SECRET_HINT });
const changing = formOf(setEndpoint, { path: `${ENDPOINT_PATH}/change`, inputs: ['events', 'state'] });
const removing = formOf(removeEndpoint, { path: `${ENDPOINT_PATH}/remove`, to: '/s/:store/:mode/webhooks' });

async function endpointPage({ database }: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { at, params, words } = visit;
  const endpoint = await findEndpoint(database, at, params.endpoint ?? '');
  if (!endpoint) return null;
  const secret = await database.endpoints.findSecret(endpoint.id, endpoint.mode);
  // A door gets notices of its panel's orders alone, and its key is shown once.
  const test = endpoint.dialect === null ? testing.show(visit, { button: words.say('Send a test event') }) : null;
  const described = facts([
    [words.say('State'), endpointState(words, endpoint)],
    [words.say('Endpoint id'), html`<code>${endpoint.id}</code>`],
    [words.say('Events'), eventsText(endpoint)],
  ]);
  return {
    title: words.say('Endpoint'),
    content: html`<p><a href="${pathIn(at, 'webhooks')}">${words.say('All webhooks')}</a></p>
${section('url', data(endpoint.url), html`${described}${test}`)}
<p><a href="${pathIn(at, 'webhooks')}?endpoint=${endpoint.id}">${words.say('Recent deliveries')}</a></p>
${may(visit, 'webhooks:manage') ? manageForms(visit, endpoint, (secret?.nextSecret ?? null) !== null) : null}`,
  };
}

function manageForms(visit: Visit<StoreAt>, endpoint: Endpoint, isRotating: boolean): Html {
  const { words } = visit;
  const step = (rotate: string, button: string) => rotating.show(visit, { button, given: { rotate } });
  const secret = isRotating
    ? html`<p>${words.say('Two secrets are valid. Once your shop checks the new one, finish.')}</p>${step('finish', words.say('Finish: only the new secret'))}`
    : html`<p>${words.say('A new secret is shown once; both are valid until you finish.')}</p>${step('start', words.say('Make a new secret'))}`;
  const recover = resending.show(visit, {
    button: words.say('Continue'),
    given: { what: endpoint.id },
    texts: { since: '24h' },
  });
  const change = changing.show(visit, {
    button: words.say('Save'),
    texts: { events: endpoint.extendedEvents.join(','), state: endpoint.disabledAtMs === null ? 'on' : 'off' },
    ...(endpoint.dialect === null && { above: alwaysSent(words) }),
  });
  return html`${section('recover', words.say('Send again what failed'), html`${recover}`)}
${endpoint.dialect === null ? section('secret', words.say('Secret'), secret) : null}
${section(
  'change',
  words.say('Change it'),
  html`${change}${removing.show(visit, { button: words.say('Remove') })}
<p class="hint">${words.say('For another URL, add it and then remove this one.')}</p>`,
)}`;
}

const DELIVERY_PATH = '/s/:store/:mode/webhooks/deliveries/:delivery';

/** Returns the delivery that the path names, with its event; null where the store has none in this mode. */
async function findDelivery({ database }: DashboardDeps, { at, params }: Visit<StoreAt>) {
  const [delivery] = await database.deliveries.list({ id: params.delivery ?? '', limit: 1 });
  const event = delivery ? await database.events.find(delivery.eventId) : null;
  return delivery && event?.storeId === at.storeId && event.mode === at.mode ? { delivery, event } : null;
}

async function deliveryPage(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const found = await findDelivery(deps, visit);
  if (!found) return null;
  const { at, words } = visit;
  const { delivery, event } = found;
  const { endpointId, dueAtMs } = delivery;
  const attempts = attemptTable(words, await deps.database.deliveries.attempts(delivery.id));
  const resend = resending.show(visit, {
    button: words.say('Send it again'),
    look: 'main',
    inputs: ['what'],
    given: { what: delivery.id },
  });
  const described = facts([
    [words.say('Event'), html`<code>${event.id}</code>`],
    [words.say('Created'), time(event.createdAtMs)],
    [words.say('Payment'), html`<a href="${pathIn(at, `payments/${event.sessionId}`)}">${data(event.sessionId)}</a>`],
    [words.say('Endpoint'), html`<a href="${pathIn(at, `webhooks/${endpointId}`)}">${data(endpointId)}</a>`],
    dueAtMs === null ? null : [words.say('Next try'), time(dueAtMs)],
  ]);
  // The bytes that are sent have no line breaks; this is for reading.
  const body = html`<pre tabindex="0"><code>${JSON.stringify(JSON.parse(event.body), null, 2)}</code></pre>`;
  return {
    title: words.say('Event {event}', { event: event.type }),
    content: html`<p><a href="${pathIn(at, 'webhooks')}">${words.say('All webhooks')}</a></p>
${section('state', deliveryState(words, delivery), html`${described}${resend}`)}
${section('attempts', words.say('Attempts'), attempts, 'plain')}
${section('body', words.say('What is sent'), body)}`,
  };
}

const attemptTable = (words: Words, attempts: readonly Attempt[]): Html =>
  list<Attempt>({
    caption: words.say('Attempts'),
    columns: [
      [words.say('Started'), ({ startedAtMs }) => time(startedAtMs)],
      [words.say('Took'), ({ durationMs }) => data(`${durationMs} ms`), 'number'],
      [words.say('Result'), ({ status, error }) => data(status ?? error ?? '–'), 'lead'],
      [
        words.say('Answer'),
        ({ responseExcerpt: excerpt }) => (excerpt === null ? '–' : html`<code>${plainText(excerpt)}</code>`),
      ],
    ],
    rows: attempts,
    empty: words.say('It was not tried yet.'),
  });
