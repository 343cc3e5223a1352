/**
 * For developers: API keys, which are created, shown once and revoked.
 */
import type { Outcome } from '../../acts/act.ts';
import { createKey, KEY_NAME_CHARS_MAX, revokeKey, whyNoKeys } from '../../acts/keys.ts';
import type { Scope } from '../../database/column-values.ts';
import type { ApiKey } from '../../database/keys.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, list } from '../../web/list.ts';
import { actFacts, planAct } from '../act-form.ts';
import { changeFields, type Planned, storeChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { sentence } from '../sentence.ts';
import { ago, badge, copyCode, data, faultMessage, time } from '../show.ts';
import { signedCall } from '../signed-call.ts';
import type { TextKey, Words } from '../texts.ts';

const KEYS_SHOWN = 100;

const scopes = [
  ['sessions:read', 'developers.scope_sessions_read'],
  ['sessions:write', 'developers.scope_sessions_write'],
  ['refunds:read', 'developers.scope_refunds_read'],
  ['refunds:write', 'developers.scope_refunds_write'],
  ['webhooks:write', 'developers.scope_webhooks_write'],
] as const satisfies readonly (readonly [Scope, TextKey])[];
const lives = [
  ['', 'general.never'],
  ['30', 'developers.life_30'],
  ['90', 'developers.life_90'],
  ['365', 'developers.life_365'],
] as const;

const pathOf = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/developers`;

/** The line of a signed call that says whose key it is. */
const merchantHeader = ({ storeId }: StoreAt): string => `X-Merchant-Id: ${storeId}`;

export const developerPages = (deps: DashboardDeps): readonly StorePage[] => [
  {
    method: 'get',
    path: '/s/:store/:mode/developers',
    needs: 'keys:manage',
    answer: (visit) => page(deps, visit, null),
  },
  storeChange(deps, {
    path: '/s/:store/:mode/developers/keys',
    needs: createKey.needs,
    plan: (visit) => planKey(deps, visit),
  }),
  storeChange(deps, {
    path: '/s/:store/:mode/developers/keys/revoke',
    needs: revokeKey.needs,
    plan: (visit) =>
      planAct(deps, visit, revokeKey, {
        texts: { key: visit.form.key ?? '' },
        back: pathOf(visit.at),
        refused: (fault) => page(deps, visit, fault),
      }),
  }),
];

async function page(
  { database, config }: DashboardDeps,
  visit: Visit<StoreAt>,
  fault: Html | string | null,
): Promise<Reply> {
  const { at, nowMs, words } = visit;
  const store = await database.stores.find(at.storeId);
  if (!store) return null;
  const obstacle = whyNoKeys(store);
  const own = (await database.keys.list(at.storeId)).filter(({ mode }) => mode === at.mode).toReversed();
  return {
    title: words.say('frame.developers'),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}
<section class="card" aria-labelledby="ids"><h2 id="ids">${words.say('developers.store')}</h2>${facts([
      [words.say('developers.merchant_id'), copyCode(at.storeId)],
      [words.say('developers.header'), copyCode(merchantHeader(at))],
      [words.say('frame.mode'), words.say(`general.mode_${at.mode}`)],
    ])}</section>
<section aria-labelledby="keys"><h2 id="keys">${words.say('developers.keys')}</h2>${keyTable(visit, own.slice(0, KEYS_SHOWN), nowMs)}</section>
${obstacle ? html`<p class="card">${sentence(words, obstacle)}</p>` : keyForm(visit)}
<p class="hint">${words.html('developers.call_text', { reference: html`<a href="${config.baseUrl}/docs">${words.say('developers.reference')}</a>` })}</p>`,
  };
}

function keyTable(visit: Visit<StoreAt>, keys: readonly ApiKey[], nowMs: number): Html {
  const { at, words } = visit;
  const revoke = (key: ApiKey) => html`<form method="post" action="${pathOf(at)}/keys/revoke">${changeFields(visit)}
<input type="hidden" name="key" value="${key.id}"><button class="plain" aria-label="${words.say('general.act_on', { act: words.say('developers.revoke'), name: key.hint })}">${words.say('developers.revoke')}</button></form>`;
  return list<ApiKey>({
    caption: words.say('developers.keys'),
    columns: [
      [words.say('general.name'), ({ name }) => data(name ?? '–')],
      [words.say('general.key'), ({ id, hint }) => html`<code title="${id}">${hint}</code>`],
      [words.say('developers.may'), (key) => data(key.scopes.join(', '))],
      [
        words.say('developers.from'),
        ({ sources }) =>
          sources.length === 0
            ? html`<span class="word">${words.say('developers.anywhere')}</span>`
            : data(sources.join(', ')),
      ],
      [
        words.say('general.created'),
        ({ createdAtMs, createdBy }) =>
          html`${time(createdAtMs)}${createdBy === null ? null : html` <span class="hint">${words.html('developers.by', { person: createdBy })}</span>`}`,
      ],
      [
        words.say('developers.last_used'),
        ({ lastUsedAtMs, lastUsedFrom }) =>
          lastUsedAtMs === null
            ? words.say('general.never')
            : words.html('developers.used_from', {
                ago: ago(words, lastUsedAtMs, nowMs),
                address: lastUsedFrom ?? '–',
              }),
      ],
      [
        words.say('general.state'),
        (key) => html`<div>${keyState(words, key, nowMs)}${isWorking(key, nowMs) ? revoke(key) : null}</div>`,
        'lead',
      ],
    ],
    rows: keys,
    empty: words.say('developers.no_key'),
  });
}

const isWorking = ({ revokedAtMs, expiresAtMs }: ApiKey, nowMs: number): boolean =>
  revokedAtMs === null && (expiresAtMs === null || expiresAtMs > nowMs);

function keyState(words: Words, key: ApiKey, nowMs: number): Html {
  if (key.revokedAtMs !== null) return badge(words.say('developers.revoked'), 'wait');
  if (!isWorking(key, nowMs)) return badge(words.say('developers.expired'), 'wait');
  const until =
    key.expiresAtMs === null
      ? null
      : html` <span class="hint">${words.html('developers.until', { time: time(key.expiresAtMs) })}</span>`;
  return html`${badge(words.say('developers.works'), 'good')}${until}`;
}

/** A test key may do everything, unless somebody says otherwise; a live key only what somebody has chosen. */
const isChecked = (visit: Visit<StoreAt>, scope: Scope): boolean =>
  visit.form.once === undefined ? visit.at.mode === 'test' : visit.form[scope] === 'on';

function keyForm(visit: Visit<StoreAt>): Html {
  const { at, form, words } = visit;
  return html`<form method="post" action="${pathOf(at)}/keys" class="card" aria-labelledby="new">
<h2 id="new">${words.say(`developers.new_${at.mode}`)}</h2>
${changeFields(visit)}
<label>${words.say('general.name')} <input name="name" maxlength="${KEY_NAME_CHARS_MAX}" value="${form.name ?? ''}" required></label>
<fieldset><legend>${words.say('developers.it_may')}</legend>${scopes.map(
    ([
      scope,
      text,
    ]) => html`<label class="check"><input type="checkbox" name="${scope}"${isChecked(visit, scope) ? html` checked` : null}>
<span><code>${scope}</code> ${words.say(text)}</span></label>`,
  )}</fieldset>
<label>${words.say('developers.expires')} <select name="expires">${lives.map(
    ([days, text]) =>
      html`<option value="${days}"${form.expires === days ? html` selected` : null}>${words.say(text)}</option>`,
  )}</select></label>
<label>${words.say('developers.sources')} <input name="sources" value="${form.sources ?? ''}" placeholder="203.0.113.0/24, 2001:db8::7" spellcheck="false" dir="ltr"></label>
<p class="hint">${words.say('developers.sources_hint')}</p>
<button>${words.say('developers.create')}</button>
</form>`;
}

function planKey(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const { at, form, words } = visit;
  const days = form.expires || undefined;
  return planAct(deps, visit, createKey, {
    texts: {
      store: at.storeId,
      mode: at.mode,
      name: form.name ?? '',
      scopes: scopes
        .map(([scope]) => scope)
        .filter((scope) => form[scope] === 'on')
        .join(','),
      expires: days && `${days}d`,
      from: form.sources ?? '',
    },
    back: pathOf(at),
    refused: (fault) => page(deps, visit, fault),
    page: (outcome) => ({ title: words.say('developers.new_title'), content: shownOnce(deps, visit, outcome) }),
  });
}

function shownOnce({ config }: DashboardDeps, visit: Visit<StoreAt>, { said, facts: made = [], json }: Outcome): Html {
  const { at, words } = visit;
  const credentials = { apiKey: String(json.api_key), apiSecret: String(json.api_secret) };
  return html`<section class="card">
<p class="message attention">${sentence(words, said)}</p>
${actFacts(visit, made)}
<p class="hint">${words.say('developers.secret_hint')}</p>
<details><summary>${words.say('developers.own_call')}</summary><pre tabindex="0"><code>${signedCall(at, config.baseUrl, credentials)}</code></pre></details>
<p><a class="button" href="${pathOf(at)}">${words.say('developers.saved')}</a></p></section>`;
}
