/**
 * For developers: API keys, which are created, shown once and revoked.
 * @module
 */
import type { ApiKey, Scope } from '../../database/keys.ts';
import type { MerchantStore } from '../../database/stores.ts';
import { readRange } from '../../lib/address-range.ts';
import { type Html, html } from '../../lib/html.ts';
import { changeFields, type Plan, type Planned, storeChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { idOfForm } from '../once.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { ago, badge, copyCode, data, facts, faultMessage, table, time } from '../show.ts';
import { signedCall } from '../signed-call.ts';
import type { TextKey, Words } from '../texts.ts';

const KEYS_SHOWN = 100;
const NAME_CHARS_MAX = 64;
/** Ranges of one key. */
const SOURCES_MAX = 50;
const DAY_MS = 86_400_000;

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

/** Why a store that is not approved has no keys. */
const whyNoKeys = (words: Words, store: MerchantStore | null): Html | string =>
  store?.refusal
    ? words.html('developers.refused', { reason: store.refusal.because })
    : words.say('developers.not_approved');

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
    needs: 'keys:manage',
    plan: (visit) => planKey(deps, visit),
  }),
  storeChange(deps, {
    path: '/s/:store/:mode/developers/keys/revoke',
    needs: 'keys:manage',
    plan: (visit) => planRevoking(deps, visit),
  }),
];

async function page(
  { database, config }: DashboardDeps,
  visit: Visit<StoreAt>,
  fault: Html | string | null,
): Promise<Reply> {
  const { at, nowMs, words } = visit;
  const store = await database.findStore(at.storeId);
  if (!store) return null;
  const own = (await database.listKeys(at.storeId)).filter(({ mode }) => mode === at.mode).toReversed();
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
${store.status === 'approved' ? keyForm(visit) : html`<p class="card">${whyNoKeys(words, store)}</p>`}
<section class="card" aria-labelledby="call"><h2 id="call">${words.say('developers.call')}</h2><p>${words.html(
      'developers.call_text',
      { reference: html`<a href="${config.baseUrl}/docs">${words.say('developers.reference')}</a>` },
    )}</p>
${callText(signedCall(at, config.baseUrl, { apiKey: `sk_${at.mode}_…`, apiSecret: 'ss_…' }))}</section>`,
  };
}

function keyTable(visit: Visit<StoreAt>, keys: readonly ApiKey[], nowMs: number): Html {
  const { at, words } = visit;
  if (keys.length === 0) return html`<p class="card">${words.say('developers.no_key')}</p>`;
  const revoke = (key: ApiKey) => html`<form method="post" action="${pathOf(at)}/keys/revoke">${changeFields(visit)}
<input type="hidden" name="key" value="${key.id}"><button class="plain" aria-label="${words.say('general.act_on', { act: words.say('developers.revoke'), name: key.hint })}">${words.say('developers.revoke')}</button></form>`;
  return table(
    words.say('developers.keys'),
    [
      words.say('general.name'),
      words.say('general.key'),
      words.say('developers.may'),
      words.say('developers.from'),
      words.say('general.created'),
      words.say('developers.last_used'),
      words.say('general.state'),
    ],
    keys.map((key) => [
      data(key.name ?? '–'),
      html`<code title="${key.id}">${key.hint}</code>`,
      data(key.scopes.join(', ')),
      key.sources.length === 0
        ? html`<span class="word">${words.say('developers.anywhere')}</span>`
        : data(key.sources.join(', ')),
      html`<div>${time(key.createdAtMs)}${key.createdBy === null ? null : html` <span class="hint">${words.html('developers.by', { person: key.createdBy })}</span>`}</div>`,
      key.lastUsedAtMs === null
        ? words.say('general.never')
        : words.html('developers.used_from', {
            ago: ago(words, key.lastUsedAtMs, nowMs),
            address: key.lastUsedFrom ?? '–',
          }),
      html`<div>${keyState(words, key, nowMs)}${isWorking(key, nowMs) ? revoke(key) : null}</div>`,
    ]),
  );
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
<label>${words.say('general.name')} <input name="name" maxlength="${NAME_CHARS_MAX}" value="${form.name ?? ''}" required></label>
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

async function planKey(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const { at, form, visitor, nowMs, words } = visit;
  const name = (form.name ?? '').trim();
  const granted = scopes.map(([scope]) => scope).filter((scope) => form[scope] === 'on');
  const texts = (form.sources ?? '').split(/[\s,]+/).filter((text) => text !== '');
  const sources = texts.flatMap((text) => readRange(text) ?? []);
  const life = lives.find(([days]) => days === (form.expires ?? ''));
  const store = await deps.database.findStore(at.storeId);
  const fault = (() => {
    if (store?.status !== 'approved') return whyNoKeys(words, store);
    if (name === '' || name.length > NAME_CHARS_MAX)
      return words.say('developers.name_length', { count: NAME_CHARS_MAX });
    if (granted.length === 0) return words.say('developers.no_scope');
    if (sources.length !== texts.length) return words.say('developers.bad_source');
    if (sources.length > SOURCES_MAX) return words.say('developers.many_sources', { count: SOURCES_MAX });
    return life ? null : words.say('developers.choose_life');
  })();
  if (fault !== null || !life) return page(deps, visit, fault);
  const expiresAtMs = life[0] === '' ? null : nowMs + Number(life[0]) * DAY_MS;
  const id = `key_${idOfForm(visitor, form.once, nowMs)}`;
  const missing = scopes.map(([scope]) => scope).filter((scope) => !granted.includes(scope));
  const isPaying = granted.includes('refunds:write');
  const described = facts([
    [words.say('general.name'), data(name)],
    [words.say('frame.mode'), words.say(`general.mode_${at.mode}`)],
    [words.say('developers.it_may'), data(granted.join(', '))],
    [
      words.say('developers.it_may_not'),
      missing.length === 0 ? words.say('developers.nothing_missing') : data(missing.join(', ')),
    ],
    [words.say('developers.from'), sources.length === 0 ? words.say('developers.anywhere') : data(sources.join(', '))],
    [words.say('developers.expires'), expiresAtMs === null ? words.say('general.never') : time(expiresAtMs)],
  ]);
  return {
    command: 'create API key',
    target: id,
    review: {
      title: words.say('developers.create_title'),
      consequence: html`${described}${isPaying ? html`<p class="message attention">${words.say('developers.paying')}</p>` : null}`,
      button: words.say('developers.create'),
      back: pathOf(at),
      needsSudo: true,
    },
    async act(database, act) {
      if (await database.showKey(id)) {
        return { to: pathOf(at), said: words.say('developers.made_already') };
      }
      const { key, row } = deps.issue.key(at.storeId, at.mode, granted, nowMs, { expiresAtMs, sources });
      await database.createKey({ ...row, id, name }, act);
      const made = { apiKey: key, apiSecret: row.secret };
      return { title: words.say('developers.new_title'), content: shownOnce(deps, visit, made, described) };
    },
  };
}

const callText = (text: string): Html => html`<pre tabindex="0"><code>${text}</code></pre>`;

type Credentials = Parameters<typeof signedCall>[2];

const shownOnce = (
  { config }: DashboardDeps,
  { at, words }: Visit<StoreAt>,
  made: Credentials,
  described: Html,
): Html => html`<section class="card">
<p class="message attention">${words.say('developers.save_now')}</p>
${facts([
  [words.say('developers.api_key'), copyCode(made.apiKey)],
  [words.say('general.secret'), copyCode(made.apiSecret)],
  [words.say('developers.header'), copyCode(merchantHeader(at))],
])}
<p class="hint">${words.say('developers.secret_hint')}</p>
${described}
<details><summary>${words.say('developers.own_call')}</summary>${callText(signedCall(at, config.baseUrl, made))}</details>
<p><a class="button" href="${pathOf(at)}">${words.say('developers.saved')}</a></p></section>`;

/** Returns the key that a form names, of this store and mode. */
async function keyOfForm({ database }: DashboardDeps, { at, form }: Visit<StoreAt>): Promise<ApiKey | null> {
  const key = await database.showKey(form.key ?? '');
  return key?.storeId === at.storeId && key.mode === at.mode ? key : null;
}

const keyName = ({ hint, name }: ApiKey): Html =>
  html`<code>${hint}</code>${name === null ? null : html` (${data(name)})`}`;

async function planRevoking(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Plan | null> {
  const { at, words } = visit;
  const key = await keyOfForm(deps, visit);
  if (!key) return null;
  return {
    command: 'revoke API key',
    target: key.id,
    review: {
      title: words.say('developers.revoke_title'),
      consequence: html`<p>${words.html('developers.revoke_text', { key: keyName(key) })}</p>
<p>${
        key.lastUsedAtMs === null
          ? words.say('developers.never_used')
          : words.html('developers.last_used_at', { time: time(key.lastUsedAtMs) })
      }</p>`,
      button: words.say('developers.revoke_button'),
      back: pathOf(at),
      needsSudo: true,
      typed: key.hint.slice(-4),
      isDangerous: true,
    },
    async act(open, act) {
      await open.revokeKey(key.id, act);
      return { to: pathOf(at), said: words.say('developers.is_revoked', { key: key.hint }) };
    },
  };
}
