/** Webhooks of a store: its endpoints, one more, and what was sent to them. */
import { addEndpoint } from '../../acts/webhooks.ts';
import { documentedPaymentEvents, documentedRefundEvents } from '../../core/event.ts';
import type { Delivery, DeliverySearch, DeliveryState } from '../../database/deliveries.ts';
import type { Endpoint } from '../../database/endpoints.ts';
import { type Html, html } from '../../lib/html.ts';
import { list, section } from '../../web/list.ts';
import { formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import { deliveryState, failingEndpoints, failingText, storeEndpoints, urlsOf } from '../endpoints.ts';
import { type Chosen, type Field, limitForm, pager, readChosen } from '../listing.ts';
import { type Page, pathIn, type Reply, type StoreAt, type Visit } from '../page.ts';
import { badge, data, time } from '../show.ts';
import type { Words } from '../texts.ts';

const PATH = '/s/:store/:mode/webhooks';
const DELIVERIES_SHOWN = 50;
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
  const { at, query, words, nowMs } = visit;
  const path = pathIn(at, 'webhooks');
  const own = await storeEndpoints(database, at, ENDPOINTS_SHOWN);
  const [id, eventId] = [query.get('after'), query.get('event') ?? ''];
  const after = id !== null && eventId !== '' ? { id, eventId } : null;
  const fields = deliveryFields(words, own);
  const chosen = readChosen(fields, query);
  const page = { after, limit: DELIVERIES_SHOWN, lookMax: LOOK_MAX };
  const { deliveries, goOn } = await database.deliveries.ofStore(at, searchOf(chosen), page);
  const older = goOn && { event: goOn.eventId, after: goOn.id };
  const isLimited = Object.keys(chosen).length > 0;
  const shown =
    deliveries.length === 0
      ? html`<p class="card">${noDeliveries(visit, isLimited, goOn !== null)}</p>`
      : deliveryTable(visit, deliveries, await urlsOf(database, deliveries));
  const failing = await failingEndpoints(database, nowMs);
  return {
    title: words.say('frame.webhooks'),
    content: html`${section('endpoints', words.say('webhooks.endpoints'), endpointTable(visit, own, failing), 'plain')}
${addForm(visit)}
${section(
  'deliveries',
  words.say('webhooks.deliveries'),
  html`${limitForm(words, path, fields, chosen)}${shown}${pager(words, { path, chosen, isFirst: after === null, older })}`,
  'plain',
)}`,
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
  const codes =
    answer === undefined ? null : { from: Number(answer.replace('xx', '00')), to: Number(answer.replace('xx', '99')) };
  return {
    endpointId: endpoint ?? null,
    state: states.find((one) => one === state) ?? null,
    answer: answer === 'none' ? 'none' : codes,
  };
}

/** An empty part of the list is never shown as the end, nor an empty result as an empty store. */
function noDeliveries({ at, words }: Visit<StoreAt>, isLimited: boolean, goesOn: boolean): Html {
  if (goesOn) return words.html(isLimited ? 'webhooks.no_match_here' : 'webhooks.rest');
  const all = html`<a href="${pathIn(at, 'webhooks')}">${words.say('general.all')}</a>`;
  return isLimited ? words.html('webhooks.no_match', { all }) : words.html('webhooks.nothing_sent');
}

const usualEvents: readonly string[] = [...documentedPaymentEvents, ...documentedRefundEvents];

/** Names the events that an endpoint gets: those that every one gets, and which more. */
export const eventsText = (more: readonly string[]): Html => data([...usualEvents, ...more].join(', '));

function endpointState(words: Words, { id, disabledAtMs }: Endpoint, failing: ReadonlyMap<string, number>): Html {
  if (disabledAtMs !== null) return badge(words.say('webhooks.disabled'), 'attention');
  const sinceMs = failing.get(id);
  return sinceMs === undefined ? badge(words.say('webhooks.enabled'), 'good') : failingText(words, sinceMs);
}

const endpointTable = (
  { at, words }: Visit<StoreAt>,
  endpoints: readonly Endpoint[],
  failing: ReadonlyMap<string, number>,
): Html =>
  list<Endpoint>({
    caption: words.say('webhooks.endpoints'),
    columns: [
      [words.say('general.url'), ({ id, url }) => html`<a href="${pathIn(at, `webhooks/${id}`)}">${data(url)}</a>`],
      [words.say('general.events'), (one) => eventsText(one.extendedEvents)],
      [words.say('general.created'), ({ createdAtMs }) => time(createdAtMs)],
      [words.say('general.state'), (one) => endpointState(words, one, failing), 'lead'],
    ],
    rows: endpoints,
    empty: words.say('webhooks.no_endpoint'),
  });

/** Says which events every endpoint gets. */
export const alwaysSent = (words: Words): Html =>
  html`<p class="hint">${words.html('webhooks.always', { events: usualEvents.join(', ') })}</p>`;

/** Says what the secret of an endpoint is for. */
export function secretHint(_deps: DashboardDeps, { words }: Visit<unknown>): Html {
  return html`<p class="hint">${words.html('webhook-changes.checks')}</p>`;
}

function addForm(visit: Visit<StoreAt>): Html | null {
  const { words } = visit;
  const form = adding.show(visit, {
    ...{ button: words.say('frame.go_on'), opens: words.say('webhooks.add'), look: 'main' },
    below: alwaysSent(words),
  });
  return form && html`<div class="card">${form}</div>`;
}

/** @param urls of the endpoints; null for the deliveries of one, which have no such column */
export const deliveryTable = (
  { at, words }: Visit<StoreAt>,
  deliveries: readonly Delivery[],
  urls: ReadonlyMap<string, string> | null,
): Html =>
  list<Delivery>({
    caption: words.say('webhooks.deliveries'),
    columns: [
      [words.say('general.created'), ({ createdAtMs }) => time(createdAtMs)],
      [
        words.say('webhooks.event'),
        ({ id, eventType }) => html`<a href="${pathIn(at, `webhooks/deliveries/${id}`)}">${data(eventType)}</a>`,
        'lead',
      ],
      [
        words.say('webhooks.payment'),
        ({ sessionId }) =>
          html`<a href="${pathIn(at, `payments/${sessionId}`)}"><code>${sessionId.slice(0, 13)}…</code></a>`,
      ],
      ...(urls === null
        ? []
        : [
            [
              words.say('webhooks.endpoint'),
              ({ endpointId }: Delivery) => data(urls.get(endpointId) ?? endpointId),
            ] as const,
          ]),
      [words.say('webhooks.tries'), ({ attempts }) => String(attempts), 'number'],
      [words.say('webhooks.last_answer'), ({ lastStatus, lastError }) => data(lastStatus ?? lastError ?? '–')],
      [words.say('general.state'), (one) => deliveryState(words, one), 'lead'],
    ],
    rows: deliveries,
    empty: words.say('webhooks.nothing_sent_to_it'),
  });
