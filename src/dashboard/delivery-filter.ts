/**
 * Which deliveries a list shows: the filter in a page's address, as a form, and for the database.
 */
import type { DeliverySearch, DeliveryState } from '../database/deliveries.ts';
import type { Endpoint } from '../database/endpoints.ts';
import { type Html, html } from '../lib/html.ts';
import { choice, chosenOf } from './list-filter.ts';
import type { Words } from './texts.ts';

const states: readonly DeliveryState[] = ['waiting', 'delivered', 'failed'];

/** A filter. What an address says that is none of the choices, filters nothing and is left out. */
type DeliveryFilter = Readonly<{
  chosen: Readonly<Partial<Record<'endpoint' | 'state' | 'answer', string>>>;
  search: DeliverySearch;
}>;

/** Reads `500`, `5xx` or `none`; null for anything else. */
function readAnswer(text: string): DeliverySearch['answer'] {
  if (text === 'none') return 'none';
  if (!/^[1-5](?:\d\d|xx)$/.test(text)) return null;
  return { from: Number(text.replace('xx', '00')), to: Number(text.replace('xx', '99')) };
}

/** @param endpoints those that can be chosen */
export function readDeliveryFilter(query: URLSearchParams, endpoints: readonly Endpoint[]): DeliveryFilter {
  const endpoint = endpoints.find(({ id }) => id === query.get('endpoint'))?.id ?? null;
  const state = states.find((one) => one === query.get('state')) ?? null;
  const text = (query.get('answer') ?? '').trim().toLowerCase();
  const answer = readAnswer(text);
  return {
    chosen: chosenOf({ endpoint, state, answer: answer === null ? null : text }),
    search: { endpointId: endpoint, state, answer },
  };
}

/** Renders the filter as a form of the page at this path. */
export const deliveryFilterForm = (
  words: Words,
  path: string,
  { chosen }: DeliveryFilter,
  endpoints: readonly Endpoint[],
): Html => html`<form method="get" action="${path}" class="controls">
${choice(
  words,
  {
    label: words.say('webhooks.endpoint'),
    name: 'endpoint',
    values: endpoints.map(({ id, url }) => [id, url, true] as const),
  },
  chosen.endpoint,
)}
${choice(
  words,
  {
    label: words.say('general.state'),
    name: 'state',
    values: states.map((one) => [one, words.say(`general.delivery_${one}`)] as const),
  },
  chosen.state,
)}
<label>${words.html('webhooks.answer_filter')} <input name="answer" value="${chosen.answer ?? ''}" maxlength="4" size="6" dir="ltr" autocomplete="off" spellcheck="false"></label>
<button class="plain">${words.say('general.show')}</button></form>`;
