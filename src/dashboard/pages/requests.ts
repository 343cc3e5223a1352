/**
 * The newest API requests of a store, for its developers.
 * @module
 */
import type { Session } from '../../database/database.ts';
import { type ApiRequest, REQUESTS_AGE_MS_MAX, REQUESTS_KEPT_MAX } from '../../database/request-log.ts';
import { type Html, html } from '../../lib/html.ts';
import { parseSessionId } from '../../lib/session-id.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { badge, data, plainText, table, time } from '../show.ts';
import type { Words } from '../texts.ts';

const PAGE_ROWS = 50;
/** On the page of a payment. */
const OF_PAYMENT_MAX = 10;
const DAY_MS = 86_400_000;
const REQUEST_ID = /^req_\w{1,64}$/;

/** What the list can be limited to: a name in the address, in words, and HTTP statuses. */
const outcomes = [
  ['done', 'requests.done', { from: 200, to: 399 }],
  ['refused', 'requests.refused', { from: 400, to: 499 }],
  ['failed', 'requests.failed', { from: 500, to: 599 }],
] as const;

export const requestsPath = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/developers/requests`;

export const requestsPage = (deps: DashboardDeps): StorePage => ({
  method: 'get',
  path: '/s/:store/:mode/developers/requests',
  needs: 'keys:manage',
  answer: (visit) => list(deps, visit),
});

async function list({ database }: DashboardDeps, { at, query, nowMs, words }: Visit<StoreAt>): Promise<Reply> {
  const chosen = outcomes.find(([name]) => name === query.get('outcome'));
  const asked = (query.get('id') ?? '').trim();
  const payment = (query.get('session') ?? '').trim();
  const sessionId = parseSessionId(payment);
  const beforeId = Number(query.get('before') ?? '');
  const filter = {
    ...at,
    statuses: chosen?.[2] ?? null,
    requestId: asked === '' ? null : asked,
    sessionId,
    beforeId: Number.isSafeInteger(beforeId) && beforeId > 0 ? beforeId : null,
    nowMs,
  };
  const isReadable = (asked === '' || REQUEST_ID.test(asked)) && (payment === '' || sessionId !== null);
  const found = isReadable ? await database.listRequests({ ...filter, limit: PAGE_ROWS + 1 }) : [];
  const shown = found.slice(0, PAGE_ROWS);
  const older = found.length > PAGE_ROWS ? shown.at(-1)?.id : undefined;
  const link = (before: string, text: string) => {
    const kept = { ...(chosen && { outcome: chosen[0] }), ...(sessionId !== null && { session: sessionId }) };
    const parts = new URLSearchParams({ ...kept, ...(before !== '' && { before }) });
    return html`<a href="${requestsPath(at)}?${parts.toString()}">${text}</a>`;
  };
  const pager = html`<p class="pager">${filter.beforeId === null ? null : link('', words.say('general.newest'))} ${
    older === undefined ? null : link(String(older), words.say('general.older'))
  }</p>`;
  const isFiltered = chosen !== undefined || asked !== '' || payment !== '' || filter.beforeId !== null;
  const days = words.say('requests.days', { count: REQUESTS_AGE_MS_MAX / DAY_MS });
  const empty = isFiltered ? words.say('requests.none_fits') : words.say('requests.none', { days });
  return {
    title: words.say('requests.title'),
    content: html`<p class="hint">${words.html('requests.hint', { kept: REQUESTS_KEPT_MAX, days })}</p>
<form method="get" action="${requestsPath(at)}" class="controls">
<label>${words.say('requests.outcome')} <select name="outcome"><option value="">${words.say('requests.all')}</option>${outcomes.map(
      ([name, text]) =>
        html`<option value="${name}"${name === chosen?.[0] ? html` selected` : null}>${words.say(text)}</option>`,
    )}</select></label>
<label>${words.say('requests.id')} <input name="id" value="${asked}" maxlength="70" spellcheck="false" dir="ltr" placeholder="req_…"></label>
<label>${words.say('requests.session')} <input name="session" value="${payment}" maxlength="40" spellcheck="false" dir="ltr" placeholder="cs_…"></label>
<button class="plain">${words.say('general.show')}</button></form>
${shown.length === 0 ? html`<p class="card">${empty}</p>` : html`${rows(words, shown)}${pager}`}`,
  };
}

/** The newest requests that made or named a payment, for its page. `mayOpen`: whether the visitor may see the log. */
export async function requestSection(
  { database }: DashboardDeps,
  { at, nowMs, words }: Visit<StoreAt>,
  { id: sessionId }: Pick<Session, 'id'>,
  mayOpen: boolean,
): Promise<Html> {
  const all = { ...at, statuses: null, requestId: null, beforeId: null, nowMs };
  const found = await database.listRequests({ ...all, sessionId, limit: OF_PAYMENT_MAX + 1 });
  const items = found.slice(0, OF_PAYMENT_MAX).map((one) => {
    const id = html`<code data-copy>${one.requestId}</code>`;
    const link = html` <a href="${requestsPath(at)}?id=${one.requestId}">${words.say('requests.open')}</a>`;
    return html`<li>${time(one.atMs)} <div><code>${one.method} ${plainText(one.path)}</code> ${outcome(one)}${id}${mayOpen ? link : null}</div></li>`;
  });
  const days = words.say('requests.days', { count: REQUESTS_AGE_MS_MAX / DAY_MS });
  const more = html`<p><a href="${requestsPath(at)}?session=${sessionId}">${words.say('requests.of_payment')}</a></p>`;
  return html`<section class="card" aria-labelledby="requests"><h2 id="requests">${words.say('requests.title')}</h2>${
    found.length === 0
      ? html`<p>${words.say('requests.none_of_payment', { kept: REQUESTS_KEPT_MAX, days })}</p>`
      : html`<ol class="history">${items}</ol>`
  }${mayOpen && found.length > OF_PAYMENT_MAX ? more : null}</section>`;
}

const rows = (words: Words, shown: readonly (ApiRequest & Readonly<{ keyHint: string }>)[]): Html =>
  table(
    words.say('requests.title'),
    [
      words.say('requests.time'),
      words.say('requests.request'),
      words.say('requests.status'),
      words.say('general.took'),
      words.say('general.key'),
      words.say('requests.id'),
    ],
    shown.map((one) => [
      time(one.atMs),
      html`<code>${one.method} ${plainText(one.path)}</code>`,
      outcome(one),
      html`<span class="word">${data(`${one.ms} ms`)}</span>`,
      html`<code>${one.keyHint}</code>`,
      html`<code>${one.requestId}</code>`,
    ]),
  );

function outcome({ status, code }: ApiRequest): Html {
  const tone = status >= 500 ? 'danger' : status >= 400 ? 'attention' : 'good';
  return html`<div>${badge(String(status), tone)}${code === null ? null : html` <code>${code}</code>`}</div>`;
}
