/**
 * The newest API requests of a store, for its developers.
 * @module
 */
import { type ApiRequest, REQUESTS_AGE_MS_MAX, REQUESTS_KEPT_MAX } from '../../database/request-log.ts';
import { type Html, html } from '../../lib/html.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { badge, plainText, table, time } from '../show.ts';

const PAGE_ROWS = 50;
const DAY_MS = 86_400_000;
const REQUEST_ID = /^req_\w{1,64}$/;

/** What the list can be limited to: a name in the address, in words, and HTTP statuses. */
const outcomes = [
  ['done', 'done', { from: 200, to: 399 }],
  ['refused', 'refused (4xx)', { from: 400, to: 499 }],
  ['failed', 'failed (5xx)', { from: 500, to: 599 }],
] as const;

const pathOf = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/developers/requests`;

export const requestsPage = (deps: DashboardDeps): StorePage => ({
  method: 'get',
  path: '/s/:store/:mode/developers/requests',
  needs: 'keys:manage',
  answer: (visit) => list(deps, visit),
});

async function list({ database }: DashboardDeps, { at, query, nowMs }: Visit<StoreAt>): Promise<Reply> {
  const chosen = outcomes.find(([name]) => name === query.get('outcome'));
  const asked = (query.get('id') ?? '').trim();
  const beforeId = Number(query.get('before') ?? '');
  const filter = {
    ...at,
    statuses: chosen?.[2] ?? null,
    requestId: asked === '' ? null : asked,
    beforeId: Number.isSafeInteger(beforeId) && beforeId > 0 ? beforeId : null,
    nowMs,
  };
  const isReadable = asked === '' || REQUEST_ID.test(asked);
  const found = isReadable ? await database.listRequests({ ...filter, limit: PAGE_ROWS + 1 }) : [];
  const shown = found.slice(0, PAGE_ROWS);
  const older = found.length > PAGE_ROWS ? shown.at(-1)?.id : undefined;
  const link = (before: string, text: string) => {
    const parts = new URLSearchParams({ ...(chosen && { outcome: chosen[0] }), ...(before !== '' && { before }) });
    return html`<a href="${pathOf(at)}?${parts.toString()}">${text}</a>`;
  };
  const pager = html`<p class="pager">${filter.beforeId === null ? null : link('', 'Newest')} ${
    older === undefined ? null : link(String(older), 'Older')
  }</p>`;
  const isFiltered = chosen !== undefined || asked !== '' || filter.beforeId !== null;
  const empty = isFiltered
    ? 'No request of the last days fits.'
    : `No call with a key of ${at.mode} mode in the last ${REQUESTS_AGE_MS_MAX / DAY_MS} days.`;
  return {
    title: 'API requests',
    content: html`<p class="hint">The newest ${REQUESTS_KEPT_MAX} of ${at.mode} mode, for ${REQUESTS_AGE_MS_MAX / DAY_MS} days, a few seconds after they were
answered. Bodies, headers and queries are not kept. Calls without a known key are not here: they got <code>invalid_api_key</code> or
<code>missing_header</code>.</p>
<form method="get" action="${pathOf(at)}" class="card filters">
<label>Outcome <select name="outcome"><option value="">all</option>${outcomes.map(
      ([name, text]) => html`<option value="${name}"${name === chosen?.[0] ? html` selected` : null}>${text}</option>`,
    )}</select></label>
<label>Request-Id <input name="id" value="${asked}" maxlength="70" spellcheck="false" placeholder="req_…"></label>
<button>Show</button></form>
${shown.length === 0 ? html`<p class="card">${empty}</p>` : html`${rows(shown)}${pager}`}`,
  };
}

const rows = (shown: readonly (ApiRequest & Readonly<{ keyHint: string }>)[]): Html =>
  table(
    'API requests',
    ['Time', 'Request', 'Status', 'Took', 'Key', 'Request-Id'],
    shown.map((one) => [
      time(one.atMs),
      html`<code>${one.method} ${plainText(one.path)}</code>`,
      outcome(one),
      html`<span class="word">${one.ms} ms</span>`,
      html`<code>${one.keyHint}</code>`,
      html`<code>${one.requestId}</code>`,
    ]),
  );

function outcome({ status, code }: ApiRequest): Html {
  const tone = status >= 500 ? 'danger' : status >= 400 ? 'attention' : 'good';
  return html`<div>${badge(String(status), tone)}${code === null ? null : html` <code>${code}</code>`}</div>`;
}
