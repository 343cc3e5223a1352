/**
 * A store's payments: the list, with one search box and filters, which live in the address; and the list as CSV.
 */
import { isAllowed } from '../../core/access.ts';
import type { Mode } from '../../core/transfer.ts';
import type { SessionSummary } from '../../database/session.ts';
import { type Html, html } from '../../lib/html.ts';
import { parseSessionId } from '../../lib/session-id.ts';
import { list } from '../../web/list.ts';
import type { DashboardDeps } from '../deps.ts';
import type { StartExport } from '../export.ts';
import { pager, queryOfChosen } from '../list-filter.ts';
import { findPlaces, type Place } from '../named-place.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { exportPayments } from '../payment-export.ts';
import { filterFields, type PaymentFilter, readFilter } from '../payment-filter.ts';
import { confirmedText, networksOf, refundedText } from '../received.ts';
import { readSearch, SEARCHED_CHARS_MAX } from '../search.ts';
import { data, networkTitle, price, sessionState, time } from '../show.ts';
import type { Words } from '../texts.ts';

const PAGE_ROWS = 50;
/** Currencies of prices that the filter offers. */
const PRICES_MAX = 50;

export const paymentsPages = (deps: DashboardDeps, startExport: StartExport): readonly StorePage[] => [
  {
    method: 'get',
    path: '/s/:store/:mode/payments',
    needs: 'payments:read',
    async answer(visit) {
      const text = (visit.query.get('q') ?? '').trim();
      return text === '' ? listPage(deps, visit) : find(deps, visit, text);
    },
  },
  exportPage(deps, startExport),
];

async function listPage(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { at, query, visitor, zone, words } = visit;
  const { networks } = deps.config;
  const filter = readFilter(at, query, networks, zone);
  const beforeId = parseSessionId(query.get('before') ?? '');
  const page = await deps.database.sessions.list({ ...filter.sessions, beforeId, limit: PAGE_ROWS });
  const { sessions: shown, goOnId } = page;
  const isFiltered = Object.keys(filter.chosen).length > 0;
  const mayExport = isAllowed(visitor.person.memberships, { permission: 'payments:export', ...at });
  const links = pager(words, {
    ...{ path: pathOf(at), chosen: filter.chosen, isFirst: beforeId === null },
    older: goOnId === null ? null : { before: goOnId },
    csv: mayExport ? `${pathOf(at)}.csv` : null,
  });
  // A list by network or coin with a status looks at a bounded number of payments for each page.
  const rest = html`<p class="card">${words.say('payments.rest')}</p>`;
  const empty = goOnId === null ? emptyList(words, at, isFiltered || beforeId !== null) : html`${rest}${links}`;
  const content = shown.length > 0 ? html`${await rows(deps, visit, shown)}${links}` : empty;
  return { title: titleOf(words, at), content: html`${await controls(deps, visit, '', filter)}${content}` };
}

const exportPage = (deps: DashboardDeps, startExport: StartExport): StorePage => ({
  method: 'get',
  path: '/s/:store/:mode/payments.csv',
  needs: 'payments:export',
  async answer(visit) {
    const { at, query, zone, words } = visit;
    const filter = readFilter(at, query, deps.config.networks, zone);
    return startExport(visit, {
      name: `payments-${at.storeId}-${at.mode}`,
      command: 'export payments',
      target: at.storeId,
      chosen: { mode: at.mode, ...filter.chosen },
      back: html`<a href="${pathOf(at)}${queryOfChosen(filter.chosen)}">${words.say('payments.back')}</a>`,
      parts: exportPayments(deps, filter.sessions),
    });
  },
});

/** An empty result is never shown as an empty store. */
const emptyList = (words: Words, at: StoreAt, isFiltered: boolean): Html =>
  html`<p class="card">${
    isFiltered ? words.html('payments.no_match', { all: allLink(words, at) }) : words.html(`payments.empty_${at.mode}`)
  }</p>`;

const allLink = (words: Words, at: StoreAt): Html => html`<a href="${pathOf(at)}">${words.say('general.all')}</a>`;

async function find(deps: DashboardDeps, visit: Visit<StoreAt>, text: string): Promise<Reply> {
  const { at, zone, words } = visit;
  const found = await search(deps, at, text);
  const places = await findPlaces(deps, visit, at, text);
  const hrefs = [...found.map(({ id }) => `${pathOf(at)}/${id}`), ...places.map(({ href }) => href)];
  if (hrefs.length === 1 && hrefs[0]) return { to: hrefs[0] };
  const other: StoreAt = { ...at, mode: otherMode(at.mode) };
  const elsewhere = (await search(deps, other, text)).length + (await findPlaces(deps, visit, other, text)).length;
  const hint =
    elsewhere > 0
      ? html`<p><a href="${pathOf(other)}?q=${encodeURIComponent(text)}">${words.say(`payments.found_${other.mode}`, { count: elsewhere })}</a></p>`
      : null;
  const content =
    hrefs.length > 0
      ? html`${places.length > 0 ? placeList(words, places) : null}${found.length > 0 ? await rows(deps, visit, found) : null}`
      : html`<p class="card">${words.html(`payments.none_${at.mode}`, { text, all: allLink(words, at) })}</p>`;
  const filter = readFilter(at, new URLSearchParams(), deps.config.networks, zone);
  return { title: titleOf(words, at), content: html`${await controls(deps, visit, text, filter)}${content}${hint}` };
}

const placeList = (words: Words, places: readonly Place[]): Html =>
  html`<ul class="card">${places.map(
    ({ kind, name, href }) => html`<li><a href="${href}">${words.html(`payments.place_${kind}`, { name })}</a></li>`,
  )}</ul>`;

async function search(
  { database, config }: DashboardDeps,
  at: StoreAt,
  text: string,
): Promise<readonly SessionSummary[]> {
  const found = new Map<string, SessionSummary>();
  for (const one of readSearch(text, config.networks)) {
    if (one.kind === 'session') {
      const session = await database.sessions.find(one.id);
      if (session && session.storeId === at.storeId && session.mode === at.mode) return [session];
    } else {
      const some = await database.sessions.search(one, { ...at, limit: PAGE_ROWS });
      for (const session of some) found.set(session.id, session);
      // A number may be an order's and an amount; all else is one thing.
      if (some.length > 0 && one.kind !== 'order') break;
    }
  }
  return [...found.values()].slice(0, PAGE_ROWS);
}

const otherMode = (mode: Mode): Mode => (mode === 'live' ? 'test' : 'live');

const titleOf = (words: Words, { mode }: StoreAt): string =>
  words.say(mode === 'test' ? 'frame.test_payments' : 'frame.payments');

export const pathOf = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/payments`;

export const paymentPath = (at: StoreAt, { id }: Pick<SessionSummary, 'id'>): string => `${pathOf(at)}/${id}`;

async function controls(
  { database, config }: DashboardDeps,
  { at, words }: Visit<StoreAt>,
  text: string,
  filter: PaymentFilter,
): Promise<Html> {
  const shown = { networks: config.networks, prices: await database.sessions.listPriceCurrencies(at, PRICES_MAX) };
  return html`<form method="get" action="${pathOf(at)}" class="controls" role="search">
<label>${words.say('payments.find')} <input name="q" type="search" value="${text}" maxlength="${SEARCHED_CHARS_MAX}" placeholder="${words.say('payments.find_what')}"></label>
<button class="plain">${words.say('payments.find')}</button>
</form>
<details class="filter"${Object.keys(filter.chosen).length > 0 ? html` open` : null}><summary>${words.say('payments.filter')}</summary>
<form method="get" action="${pathOf(at)}" class="controls">${filterFields(words, filter, at, shown)}
<button class="plain">${words.say('general.show')}</button></form></details>`;
}

/** What came over what was asked, with the rate. */
const amounts = (words: Words, session: SessionSummary): Html => {
  const { conversion } = session;
  const asked = data(price(session));
  return html`${data(confirmedText(session) ?? '–')}<small>${conversion ? words.html('payments.asked_at', { asked, rate: data(conversion.rate) }) : asked}</small>`;
};

async function rows(
  { database, config }: DashboardDeps,
  { at, words }: Visit<StoreAt>,
  sessions: readonly SessionSummary[],
): Promise<Html> {
  const refunds = await database.refunds.ofSession(sessions.map(({ id }) => id));
  return list<SessionSummary>({
    caption: titleOf(words, at),
    columns: [
      [words.say('payments.created'), ({ createdAtS }) => time(createdAtS * 1000), 'newest'],
      [
        words.say('payments.order'),
        ({ id, request }) =>
          html`<a href="${pathOf(at)}/${id}">${data(request.orderId)}</a>${request.description === null ? null : html`<small>${data(request.description)}</small>`}`,
      ],
      [words.say('payments.amounts'), (one) => amounts(words, one), 'number lead'],
      [
        words.say('payments.network'),
        (one) => data([...new Set(networksOf(one).map((network) => networkTitle(config, network)))].join(', ') || '–'),
      ],
      [words.say('payments.status'), (one) => sessionState(words, one), 'lead'],
      [words.say('payments.refunded'), ({ id }) => data(refundedText(refunds.get(id) ?? []) || '–'), 'number'],
    ],
    rows: sessions,
    empty: '',
  });
}
