/**
 * A store's payments: the list, with one search box and a filter by status, both of which live in the address.
 * @module
 */
import { isAllowed } from '../../core/access.ts';
import type { SessionStatus } from '../../core/event.ts';
import type { Mode } from '../../core/transfer.ts';
import type { SessionSummary } from '../../database/database.ts';
import { type Html, html } from '../../lib/html.ts';
import { parseSessionId } from '../../lib/session-id.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { readSearch, SEARCHED_CHARS_MAX } from '../search.ts';
import { coins, price, sessionState, table, time } from '../show.ts';

const PAGE_ROWS = 50;
const statuses: readonly SessionStatus[] = ['pending', 'paid', 'expired', 'canceled', 'failed'];
const columns = ['Created (UTC)', 'Order', 'Amount', 'Received', 'Status'];

export const paymentsPage = (deps: DashboardDeps): StorePage => ({
  method: 'get',
  path: '/s/:store/:mode/payments',
  needs: 'payments:read',
  async answer(visit) {
    const text = (visit.query.get('q') ?? '').trim();
    return text === '' ? list(deps, visit) : find(deps, visit, text);
  },
});

async function list({ database }: DashboardDeps, { at, query }: Visit<StoreAt>): Promise<Reply> {
  const status = statuses.find((one) => one === query.get('status')) ?? null;
  const beforeId = parseSessionId(query.get('before') ?? '');
  const filter_ = { ...at, status, paidIn: null, fromMs: null, toMs: null };
  const { sessions: shown, goOnId } = await database.listSessions({ ...filter_, beforeId, limit: PAGE_ROWS });
  const filter = status === null ? '' : `status=${status}&`;
  const pager = html`<p class="pager">
${beforeId === null ? null : html`<a href="${pathOf(at)}?${filter}">Newest</a>`}
${goOnId ? html`<a href="${pathOf(at)}?${filter}before=${goOnId}" rel="next">Older</a>` : null}
</p>`;
  const content =
    shown.length > 0 ? html`${rows(at, shown)}${pager}` : emptyList(at, status !== null || beforeId !== null);
  return { title: titleOf(at), content: html`${controls(at, '', status)}${content}` };
}

/** An empty result is never shown as an empty store. */
const emptyList = (at: StoreAt, isFiltered: boolean): Html =>
  isFiltered
    ? html`<p class="card">No payment matches. <a href="${pathOf(at)}">Show all</a></p>`
    : html`<p class="card">There are no ${at.mode} payments yet. Your shop creates one with
<code>POST /api/v1/checkout/sessions/create</code> and a key of this mode; <code>npm run demo</code> plays one through in the
sandbox.</p>`;

async function find(deps: DashboardDeps, { at, visitor }: Visit<StoreAt>, text: string): Promise<Reply> {
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
      ? rows(at, found)
      : html`<p class="card">Nothing in ${at.mode} mode fits “${text}”. Search for a whole session id, transaction or
address, or the beginning of an order id. <a href="${pathOf(at)}">Show all</a></p>`;
  return { title: titleOf(at), content: html`${controls(at, text, null)}${content}${hint}` };
}

async function search(
  { database, config }: DashboardDeps,
  at: StoreAt,
  text: string,
): Promise<readonly SessionSummary[]> {
  for (const one of readSearch(text, config.networks)) {
    if (one.kind === 'session') {
      const session = await database.findSession(one.id);
      if (session && session.storeId === at.storeId && session.mode === at.mode) return [session];
    } else {
      const found = await database.searchSessions(one, { ...at, limit: PAGE_ROWS });
      if (found.length > 0) return found;
    }
  }
  return [];
}

const otherMode = (mode: Mode): Mode => (mode === 'live' ? 'test' : 'live');

const titleOf = ({ mode }: StoreAt): string => (mode === 'test' ? 'Test payments' : 'Payments');

export const pathOf = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/payments`;

const controls = (
  at: StoreAt,
  text: string,
  status: SessionStatus | null,
): Html => html`<form method="get" action="${pathOf(at)}" class="controls" role="search">
<label>Find <input name="q" type="search" value="${text}" maxlength="${SEARCHED_CHARS_MAX}" placeholder="Order, session, transaction or address"></label>
<label>Status <select name="status"><option value="">any</option>${statuses.map((one) =>
  one === status ? html`<option selected>${one}</option>` : html`<option>${one}</option>`,
)}</select></label>
<button class="plain">Show</button>
</form>`;

const rows = (at: StoreAt, sessions: readonly SessionSummary[]): Html =>
  table(
    titleOf(at),
    columns,
    sessions.map((session) => [
      time(session.createdAtS * 1000),
      html`<a href="${pathOf(at)}/${session.id}">${session.request.orderId}</a>`,
      price(session),
      coins(session.standing.confirmedPar),
      sessionState(session),
    ]),
  );
