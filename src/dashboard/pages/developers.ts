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
import { ago, badge, facts, table, time } from '../show.ts';
import { signedCall } from '../signed-call.ts';

const KEYS_SHOWN = 100;
const NAME_CHARS_MAX = 64;
/** Ranges of one key. */
const SOURCES_MAX = 50;
const DAY_MS = 86_400_000;

const scopes: readonly (readonly [Scope, string])[] = [
  ['sessions:read', 'read payments'],
  ['sessions:write', 'create and cancel payments'],
  ['refunds:read', 'read refunds'],
  ['refunds:write', 'make and cancel refunds: whoever has this key can send money out'],
];
/** A key that leaks cannot pay out, unless it was made for refunds. */
const usualScopes: readonly Scope[] = ['sessions:read', 'sessions:write'];

const lives: readonly (readonly [string, string])[] = [
  ['', 'never'],
  ['30', 'in 30 days'],
  ['90', 'in 90 days'],
  ['365', 'in a year'],
];

/** Why a store that is not approved has no keys. */
const whyNoKeys = (store: MerchantStore | null): string =>
  store?.refusal
    ? `The operator has refused the store: ${store.refusal.because}`
    : 'Keys can be made once the operator has approved the store.';

const pathOf = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/developers`;

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

async function page({ database, config }: DashboardDeps, visit: Visit<StoreAt>, fault: string | null): Promise<Reply> {
  const { at, nowMs } = visit;
  const store = await database.findStore(at.storeId);
  if (!store) return null;
  const own = (await database.listKeys(at.storeId)).filter(({ mode }) => mode === at.mode).toReversed();
  return {
    title: 'Developers',
    status: fault === null ? 200 : 400,
    content: html`${fault === null ? null : html`<p class="message fault" role="alert">${fault}</p>`}
<section class="card" aria-labelledby="ids"><h2 id="ids">Your store in the API</h2>${facts([
      ['Merchant id', html`<code>${at.storeId}</code>`],
      ['Mode', at.mode],
    ])}</section>
<section aria-labelledby="keys"><h2 id="keys">API keys</h2>${keyTable(visit, own.slice(0, KEYS_SHOWN), nowMs)}</section>
${store.status === 'approved' ? keyForm(visit) : html`<p class="card">${whyNoKeys(store)}</p>`}
<p><a href="${pathOf(at)}/requests">The newest API requests</a></p>
<section class="card" aria-labelledby="call"><h2 id="call">A signed call to try</h2><p>Put your key and its secret into the first two lines. It
creates a payment; <a href="${config.baseUrl}/docs">the reference</a> describes every call.</p>
${callText(signedCall(at, config.baseUrl, { apiKey: `sk_${at.mode}_…`, apiSecret: 'ss_…' }))}</section>`,
  };
}

function keyTable(visit: Visit<StoreAt>, keys: readonly ApiKey[], nowMs: number): Html {
  const { at } = visit;
  if (keys.length === 0) return html`<p class="card">There is no key of ${at.mode} mode yet.</p>`;
  const revoke = (key: ApiKey) => html`<form method="post" action="${pathOf(at)}/keys/revoke">${changeFields(visit)}
<input type="hidden" name="key" value="${key.id}"><button class="plain" aria-label="Revoke ${key.hint}">Revoke</button></form>`;
  return table(
    'API keys',
    ['Name', 'Key', 'May', 'From', 'Created', 'Last used', 'State'],
    keys.map((key) => [
      key.name ?? '–',
      html`<code title="${key.id}">${key.hint}</code>`,
      key.scopes.join(', '),
      key.sources.length === 0 ? html`<span class="word">anywhere</span>` : key.sources.join(', '),
      time(key.createdAtMs),
      key.lastUsedAtMs === null
        ? 'never'
        : html`${ago(visit.words, key.lastUsedAtMs, nowMs)} from ${key.lastUsedFrom ?? 'unknown'}`,
      html`<div>${keyState(key, nowMs)}${isWorking(key, nowMs) ? revoke(key) : null}</div>`,
    ]),
  );
}

const isWorking = ({ revokedAtMs, expiresAtMs }: ApiKey, nowMs: number): boolean =>
  revokedAtMs === null && (expiresAtMs === null || expiresAtMs > nowMs);

function keyState(key: ApiKey, nowMs: number): Html {
  if (key.revokedAtMs !== null) return badge('revoked', 'wait');
  if (!isWorking(key, nowMs)) return badge('expired', 'wait');
  const until = key.expiresAtMs === null ? null : html` <span class="hint">until ${time(key.expiresAtMs)}</span>`;
  return html`${badge('works', 'good')}${until}`;
}

const isChecked = (visit: Visit<StoreAt>, scope: Scope): boolean =>
  visit.form.once === undefined ? usualScopes.includes(scope) : visit.form[scope] === 'on';

const keyForm = (
  visit: Visit<StoreAt>,
): Html => html`<form method="post" action="${pathOf(visit.at)}/keys" class="card" aria-labelledby="new">
<h2 id="new">New ${visit.at.mode} key</h2>
${changeFields(visit)}
<label>Name <input name="name" maxlength="${NAME_CHARS_MAX}" value="${visit.form.name ?? ''}" required></label>
<fieldset><legend>It may</legend>${scopes.map(
  ([
    scope,
    text,
  ]) => html`<label class="check"><input type="checkbox" name="${scope}"${isChecked(visit, scope) ? html` checked` : null}>
<span><code>${scope}</code> ${text}</span></label>`,
)}</fieldset>
<label>It expires <select name="expires">${lives.map(
  ([days, text]) =>
    html`<option value="${days}"${visit.form.expires === days ? html` selected` : null}>${text}</option>`,
)}</select></label>
<label>Addresses that may use it <input name="sources" value="${visit.form.sources ?? ''}" placeholder="203.0.113.0/24, 2001:db8::7" spellcheck="false"></label>
<p class="hint">Of your shop’s servers. Empty: from anywhere.</p>
<button>Create the key</button>
</form>`;

async function planKey(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const { at, form, visitor, nowMs } = visit;
  const name = (form.name ?? '').trim();
  const granted = scopes.map(([scope]) => scope).filter((scope) => form[scope] === 'on');
  const texts = (form.sources ?? '').split(/[\s,]+/).filter((text) => text !== '');
  const sources = texts.flatMap((text) => readRange(text) ?? []);
  const life = lives.find(([days]) => days === (form.expires ?? ''));
  const store = await deps.database.findStore(at.storeId);
  const fault = (() => {
    if (store?.status !== 'approved') return whyNoKeys(store);
    if (name === '' || name.length > NAME_CHARS_MAX) return `A name has 1 to ${NAME_CHARS_MAX} characters.`;
    if (granted.length === 0) return 'Choose at least one thing that the key may do.';
    if (sources.length !== texts.length)
      return 'An address is not readable: write 203.0.113.7, 203.0.113.0/24 or 2001:db8::7.';
    if (sources.length > SOURCES_MAX) return `A key has at most ${SOURCES_MAX} ranges.`;
    return life ? null : 'Choose when the key expires.';
  })();
  if (fault !== null || !life) return page(deps, visit, fault);
  const expiresAtMs = life[0] === '' ? null : nowMs + Number(life[0]) * DAY_MS;
  const id = `key_${idOfForm(visitor, form.once, nowMs)}`;
  const missing = scopes.map(([scope]) => scope).filter((scope) => !granted.includes(scope));
  const isPaying = granted.includes('refunds:write');
  const described = facts([
    ['Name', name],
    ['Mode', at.mode],
    ['It may', granted.join(', ')],
    ['It may not', missing.join(', ') || 'nothing is left out'],
    ['From', sources.join(', ') || 'anywhere'],
    ['Expires', expiresAtMs === null ? 'never' : time(expiresAtMs)],
  ]);
  return {
    command: 'create API key',
    target: id,
    review: {
      title: 'Create this key?',
      consequence: html`${described}${isPaying ? html`<p class="message attention">Whoever has this key and its secret can send refunds, within the store’s limits.</p>` : null}`,
      button: 'Create the key',
      back: pathOf(at),
      needsSudo: true,
    },
    async act(database, act) {
      if (await database.showKey(id)) {
        return { to: pathOf(at), said: 'This key was made already, and was shown then. If it is lost, revoke it.' };
      }
      const { key, row } = deps.issue.key(at.storeId, at.mode, granted, nowMs, { expiresAtMs, sources });
      await database.createKey({ ...row, id, name }, act);
      return { title: 'Your new key', content: shownOnce(deps, at, { apiKey: key, apiSecret: row.secret }, described) };
    },
  };
}

const callText = (text: string): Html => html`<pre tabindex="0"><code>${text}</code></pre>`;

type Credentials = Parameters<typeof signedCall>[2];

const shownOnce = (
  { config }: DashboardDeps,
  at: StoreAt,
  made: Credentials,
  described: Html,
): Html => html`<section class="card">
<p class="message attention">Save both now: they are not shown again.</p>
${facts([
  ['API key', html`<code>${made.apiKey}</code>`],
  ['Secret', html`<code>${made.apiSecret}</code>`],
  ['Header', html`<code>X-Merchant-Id: ${at.storeId}</code>`],
])}
<p class="hint">The key is sent with each request; the secret only signs them, and is never sent.</p>
${described}
<details><summary>A signed call with this key, to paste into a terminal</summary>${callText(signedCall(at, config.baseUrl, made))}</details>
<p><a class="button" href="${pathOf(at)}">I have saved them</a></p></section>`;

async function planRevoking({ database }: DashboardDeps, { at, form }: Visit<StoreAt>): Promise<Plan | null> {
  const key = await database.showKey(form.key ?? '');
  if (!key || key.storeId !== at.storeId || key.mode !== at.mode) return null;
  return {
    command: 'revoke API key',
    target: key.id,
    review: {
      title: 'Revoke this key?',
      consequence: html`<p>From now on every request with <code>${key.hint}</code>${key.name === null ? null : html` (${key.name})`} is refused.
A revoked key cannot be used again.</p>
<p>${key.lastUsedAtMs === null ? 'It was never used.' : html`It was last used at ${time(key.lastUsedAtMs)}.`}</p>`,
      button: 'Revoke the key',
      back: pathOf(at),
      needsSudo: true,
      typed: key.hint.slice(-4),
      isDangerous: true,
    },
    async act(open, act) {
      await open.revokeKey(key.id, act);
      return { to: pathOf(at), said: `${key.hint} is revoked.` };
    },
  };
}
