/**
 * A store's payments: the list, with one search box and filters, which live in the address; and the list as CSV.
 * @module
 */
import { isAllowed } from '../../core/access.ts';
import type { Mode } from '../../core/transfer.ts';
import type { SessionSummary } from '../../database/database.ts';
import { type Html, html } from '../../lib/html.ts';
import { parseSessionId } from '../../lib/session-id.ts';
import { actOf, type DashboardDeps } from '../deps.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { exportPayments } from '../payment-export.ts';
import { filterFields, type PaymentFilter, queryOfFilter, readFilter } from '../payment-filter.ts';
import { readSearch, SEARCHED_CHARS_MAX } from '../search.ts';
import { coins, price, sessionState, table, time } from '../show.ts';

const PAGE_ROWS = 50;
/** In the whole installation; others are asked to wait. */
const EXPORTS_AT_ONCE_MAX = 2;
const columns = ['Created', 'Order', 'Amount', 'Received', 'Status'];

export const paymentsPages = (deps: DashboardDeps): readonly StorePage[] => [
  {
    method: 'get',
    path: '/s/:store/:mode/payments',
    needs: 'payments:read',
    async answer(visit) {
      const text = (visit.query.get('q') ?? '').trim();
      return text === '' ? list(deps, visit) : find(deps, visit, text);
    },
  },
  exportPage(deps),
];

async function list(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { at, query, visitor, zone } = visit;
  const { networks } = deps.config;
  const filter = readFilter(at, query, networks, zone);
  const beforeId = parseSessionId(query.get('before') ?? '');
  const page = await deps.database.listSessions({ ...filter.sessions, beforeId, limit: PAGE_ROWS });
  const { sessions: shown, goOnId } = page;
  const isFiltered = Object.keys(filter.chosen).length > 0;
  const mayExport = isAllowed(visitor.person.memberships, { permission: 'payments:export', ...at });
  const link = (path: string, more: Readonly<Record<string, string>>, text: string) =>
    html`<a href="${path}${queryOfFilter(filter, more)}">${text}</a>`;
  const pager = html`<p class="pager">
${beforeId === null ? null : link(pathOf(at), {}, 'Newest')}
${goOnId === null ? null : link(pathOf(at), { before: goOnId }, 'Older')}
${mayExport ? link(`${pathOf(at)}.csv`, {}, isFiltered ? 'These as CSV' : 'All as CSV') : null}
</p>`;
  // A list by network or coin with a status looks at a bounded number of payments for each page.
  const rest = html`<p class="card">Nothing here yet; older payments may match.</p>`;
  const empty = goOnId === null ? emptyList(at, isFiltered || beforeId !== null) : html`${rest}${pager}`;
  const { archiveDays } = deps.config.retention;
  const archived =
    goOnId === null && archiveDays !== null
      ? html`<p>Sessions that were never paid are archived ${archiveDays} days after their end. They are not in this list or
its CSV; the search finds them by session, order or address.</p>`
      : null;
  const content = shown.length > 0 ? html`${rows(visit, shown)}${pager}${archived}` : empty;
  return { title: titleOf(at), content: html`${controls(at, '', filter, networks)}${content}` };
}

function exportPage(deps: DashboardDeps): StorePage {
  let running = 0;
  return {
    method: 'get',
    path: '/s/:store/:mode/payments.csv',
    needs: 'payments:export',
    async answer({ at, query, visitor, nowMs, zone }) {
      const filter = readFilter(at, query, deps.config.networks, zone);
      if (running >= EXPORTS_AT_ONCE_MAX) {
        const content = html`<p class="card">Other exports are running. Try again in a minute.
<a href="${pathOf(at)}${queryOfFilter(filter)}">Back to the payments</a></p>`;
        return { title: 'Too many exports', content, status: 503 };
      }
      running++;
      const end = () => {
        running--;
      };
      try {
        const after = { mode: at.mode, ...filter.chosen };
        const act = actOf(visitor.person, 'export payments', deps.clock);
        await deps.database.recordAct(act, { target: at.storeId, before: null, after });
      } catch (error) {
        end();
        throw error;
      }
      const day = new Date(nowMs).toISOString().slice(0, 10);
      return {
        file: `payments-${at.storeId}-${at.mode}-${day}-utc.csv`,
        type: 'text/csv; charset=utf-8',
        parts: exportPayments(deps, filter.sessions),
        end,
      };
    },
  };
}

/** An empty result is never shown as an empty store. */
const emptyList = (at: StoreAt, isFiltered: boolean): Html =>
  isFiltered
    ? html`<p class="card">No payment matches. <a href="${pathOf(at)}">Show all</a></p>`
    : html`<p class="card">There are no ${at.mode} payments yet. Your shop creates one with
<code>POST /api/v1/checkout/sessions/create</code> and a key of this mode; <code>npm run demo</code> plays one through in the
sandbox.</p>`;

async function find(deps: DashboardDeps, visit: Visit<StoreAt>, text: string): Promise<Reply> {
  const { at, visitor, zone } = visit;
  const found = await search(deps, at, text);
  if (found.length === 1 && found[0]) return { to: `${pathOf(at)}/${found[0].id}` };
  const other: StoreAt = { ...at, mode: otherMode(at.mode) };
  const mayLook = isAllowed(visitor.person.memberships, { permission: 'payments:read', ...other });
  const elsewhere = mayLook ? (await search(deps, other, text)).length : 0;
  const hint =
    elsewhere > 0
      ? html`<p><a href="${pathOf(other)}?q=${encodeURIComponent(text)}">${elsewhere} in ${other.mode} mode</a></p>`
      : null;
  const content =
    found.length > 0
      ? rows(visit, found)
      : html`<p class="card">Nothing in ${at.mode} mode fits “${text}”. Search for a whole session id, transaction or
address, an amount such as 12.34 or 12.34 EUR, or the beginning of an order id. <a href="${pathOf(at)}">Show all</a></p>`;
  const { networks } = deps.config;
  const filter = readFilter(at, new URLSearchParams(), networks, zone);
  return { title: titleOf(at), content: html`${controls(at, text, filter, networks)}${content}${hint}` };
}

async function search(
  { database, config }: DashboardDeps,
  at: StoreAt,
  text: string,
): Promise<readonly SessionSummary[]> {
  const found = new Map<string, SessionSummary>();
  for (const one of readSearch(text, config.networks)) {
    if (one.kind === 'session') {
      const session = await database.findSession(one.id);
      if (session && session.storeId === at.storeId && session.mode === at.mode) return [session];
    } else {
      const some = await database.searchSessions(one, { ...at, limit: PAGE_ROWS });
      for (const session of some) found.set(session.id, session);
      // A number may be an order's and an amount; all else is one thing.
      if (some.length > 0 && one.kind !== 'order') break;
    }
  }
  return [...found.values()].slice(0, PAGE_ROWS);
}

const otherMode = (mode: Mode): Mode => (mode === 'live' ? 'test' : 'live');

const titleOf = ({ mode }: StoreAt): string => (mode === 'test' ? 'Test payments' : 'Payments');

export const pathOf = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/payments`;

const controls = (
  at: StoreAt,
  text: string,
  filter: PaymentFilter,
  networks: DashboardDeps['config']['networks'],
): Html => html`<form method="get" action="${pathOf(at)}" class="controls" role="search">
<label>Find <input name="q" type="search" value="${text}" maxlength="${SEARCHED_CHARS_MAX}" placeholder="Order, session, transaction, address or amount"></label>
<button class="plain">Find</button>
</form>
<details class="filter"${Object.keys(filter.chosen).length > 0 ? html` open` : null}><summary>Filter</summary>
<form method="get" action="${pathOf(at)}" class="controls">${filterFields(filter, at, networks)}
<button class="plain">Show</button></form></details>`;

const rows = ({ at, words }: Visit<StoreAt>, sessions: readonly SessionSummary[]): Html =>
  table(
    titleOf(at),
    columns,
    sessions.map((session) => [
      time(session.createdAtS * 1000),
      html`<a href="${pathOf(at)}/${session.id}">${session.request.orderId}</a>`,
      price(session),
      coins(session.standing.confirmedPar),
      sessionState(words, session),
    ]),
  );
