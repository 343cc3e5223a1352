/**
 * For developers: API keys, which are created, shown once and revoked.
 */
import { createKey, revokeKey, whyNoKeys } from '../../acts/keys.ts';
import { scopes } from '../../database/column-values.ts';
import type { ApiKey } from '../../database/keys.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, list, section } from '../../web/list.ts';
import { formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Page, Reply, StoreAt, Visit } from '../page.ts';
import { sentence } from '../sentence.ts';
import { ago, badge, copyCode, data, time } from '../show.ts';
import type { Words } from '../texts.ts';

const KEYS_SHOWN = 100;
const PATH = '/s/:store/:mode/developers';

/** The line of a signed call that says whose key it is. */
const merchantHeader = ({ storeId }: StoreAt): string => `X-Merchant-Id: ${storeId}`;

const creating = formOf(createKey, {
  path: `${PATH}/keys`,
  inputs: ['name', 'scopes', 'expires', 'from'],
  below: (_deps, { words }) => html`<p class="hint">${words.say('developers.secret_hint')}</p>`,
});
const revoking = formOf(revokeKey, { path: `${PATH}/keys/revoke`, inputs: ['key'] });

export const developerPages = (deps: DashboardDeps): readonly Page[] =>
  pageWith(deps, { path: PATH, needs: 'keys:manage', answer: (visit) => page(deps, visit) }, [creating, revoking]);

async function page({ database, config }: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { at, nowMs, words } = visit;
  const store = await database.stores.find(at.storeId);
  if (!store) return null;
  const obstacle = whyNoKeys(store);
  const own = (await database.keys.list(at.storeId)).filter(({ mode }) => mode === at.mode).toReversed();
  // A test key may do everything, unless somebody says otherwise; a live key only what somebody has chosen.
  const texts = { scopes: at.mode === 'test' ? scopes.join(',') : '' };
  const form = creating.show(visit, { button: words.say('developers.create'), texts, look: 'main' });
  return {
    title: words.say('frame.developers'),
    content: html`${section(
      'ids',
      words.say('developers.store'),
      facts([
        [words.say('developers.merchant_id'), copyCode(at.storeId)],
        [words.say('developers.header'), copyCode(merchantHeader(at))],
        [words.say('frame.mode'), words.say(`general.mode_${at.mode}`)],
      ]),
    )}
${section('keys', words.say('developers.keys'), keyTable(visit, own.slice(0, KEYS_SHOWN), nowMs), 'plain')}
${obstacle ? html`<p class="card">${sentence(words, obstacle)}</p>` : section('new', words.say(`developers.new_${at.mode}`), html`${form}`)}
<p class="hint">${words.html('developers.call_text', { reference: html`<a href="${config.baseUrl}/docs">${words.say('developers.reference')}</a>` })}</p>`,
  };
}

function keyTable(visit: Visit<StoreAt>, keys: readonly ApiKey[], nowMs: number): Html {
  const { words } = visit;
  const button = words.say('developers.revoke');
  const revoke = ({ id, hint }: ApiKey) => revoking.show(visit, { button, given: { key: id }, about: hint });
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
