/** Webhooks of a store: its endpoints, one more, and what was sent to them. */
import { addEndpoint } from '../../acts/webhooks.ts';
import { documentedPaymentEvents, documentedRefundEvents } from '../../core/event.ts';
import type { Endpoint } from '../../database/endpoints.ts';
import type { Delivery, DeliverySearch, DeliveryState } from '../../database/events.ts';
import { type Html, html } from '../../lib/html.ts';
import { type Column, list, section } from '../../web/list.ts';
import { formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import { deliveryState, failingEndpoints, failingText, storeEndpoints, urlsOf } from '../endpoints.ts';
import { type Chosen, type Field, type Listing, showList } from '../listing.ts';
import { type Page, pathIn, type Reply, type StoreAt, type Visit } from '../page.ts';
import { badge, data, time } from '../show.ts';
import type { Words } from '../texts.ts';

const PATH = '/s/:store/:mode/webhooks';
/** So many events and deliveries are looked at for each page. */
export const LOOK_MAX = 5_000;
const ENDPOINTS_SHOWN = 100;

const adding = formOf(addEndpoint, {
  path: PATH,
  inputs: ['url', 'events'],
  to: `${PATH}/:id`,
  below: secretHint,
});

export const webhooksPages = (deps: DashboardDeps): readonly Page[] =>
  pageWith(deps, { path: PATH, needs: 'webhooks:read', answer: (visit) => webhooksPage(deps, visit) }, [adding]);

async function webhooksPage({ database }: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { at, words, nowMs } = visit;
  const own = await storeEndpoints(database, at, ENDPOINTS_SHOWN);
  const { form, table } = await showList(deliveryList(database, own), visit);
  const failing = await failingEndpoints(database, nowMs);
  return {
    title: words.say('Webhooks'),
    content: html`${section('endpoints', words.say('Endpoints'), endpointTable(visit, own, failing), 'plain')}
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
  // An empty part of the list is never shown as the end, nor an empty result as an empty store.
  empty({ at, words }, why) {
    if (why === 'rest') return words.html('Nothing here yet; older deliveries may match.');
    const all = html`<a href="${pathIn(at, 'webhooks')}">${words.say('Show all')}</a>`;
    return why === 'no match' ? words.html('No delivery matches. {all}', { all }) : words.html('Nothing was sent yet.');
  },
});

const states: readonly DeliveryState[] = ['waiting', 'delivered', 'failed'];

/** @param endpoints those that can be chosen */
const deliveryFields = (words: Words, endpoints: readonly Endpoint[]): readonly Field[] => [
  {
    ...{ name: 'endpoint', label: words.say('Endpoint') },
    choices: endpoints.map(({ id, url }) => [id, url, true]),
  },
  {
    ...{ name: 'state', label: words.say('State') },
    choices: states.map((one) => [one, words.say(`general.delivery_${one}`)]),
  },
];

const searchOf = ({ endpoint, state }: Chosen): DeliverySearch => ({
  endpointId: endpoint ?? null,
  state: states.find((one) => one === state) ?? null,
});

const usualEvents: readonly string[] = [...documentedPaymentEvents, ...documentedRefundEvents];

/** Names the events that an endpoint gets: those that every one gets, and which more. */
export const eventsText = (more: readonly string[]): Html => data([...usualEvents, ...more].join(', '));

function endpointState(words: Words, { id, disabledAtMs }: Endpoint, failing: ReadonlyMap<string, number>): Html {
  if (disabledAtMs !== null) return badge(words.say('disabled'), 'attention');
  const sinceMs = failing.get(id);
  return sinceMs === undefined ? badge(words.say('enabled'), 'good') : failingText(words, sinceMs);
}

const endpointTable = (
  { at, words }: Visit<StoreAt>,
  endpoints: readonly Endpoint[],
  failing: ReadonlyMap<string, number>,
): Html =>
  list<Endpoint>({
    caption: words.say('Endpoints'),
    columns: [
      [words.say('URL'), ({ id, url }) => html`<a href="${pathIn(at, `webhooks/${id}`)}">${data(url)}</a>`],
      [words.say('Events'), (one) => eventsText(one.extendedEvents)],
      [words.say('Created'), ({ createdAtMs }) => time(createdAtMs)],
      [words.say('State'), (one) => endpointState(words, one, failing), 'lead'],
    ],
    rows: endpoints,
    empty: words.say(
      'There is no endpoint in this mode: your shop gets no notices; it must ask for each payment’s state.',
    ),
  });

/** Says which events every endpoint gets. */
export const alwaysSent = (words: Words): Html =>
  html`<p class="hint">${words.html('Always sent: {events}.', { events: usualEvents.join(', ') })}</p>`;

/** Says what the secret of an endpoint is for. */
export function secretHint(_deps: DashboardDeps, { words }: Visit<unknown>): Html {
  return html`<p class="hint">${words.html('Your shop checks `X-Service-Signature` or `webhook-signature` with it.')}</p>`;
}

function addForm(visit: Visit<StoreAt>): Html | null {
  const { words } = visit;
  const form = adding.show(visit, {
    ...{ button: words.say('Go on'), opens: words.say('Add an endpoint'), look: 'main' },
    below: alwaysSent(words),
  });
  return form && html`<div class="card">${form}</div>`;
}

/** @param urls of the endpoints; null for the deliveries of one, which have no such column */
export const deliveryColumns = (
  { at, words }: Visit<StoreAt>,
  urls: ReadonlyMap<string, string> | null,
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
  ...(urls === null
    ? []
    : [[words.say('Endpoint'), ({ endpointId }: Delivery) => data(urls.get(endpointId) ?? endpointId)] as const]),
  [words.say('Tries'), ({ attempts }) => String(attempts), 'number'],
  [words.say('Last answer'), ({ lastStatus, lastError }) => data(lastStatus ?? lastError ?? '–')],
  [words.say('State'), (one) => deliveryState(words, one), 'lead'],
];
