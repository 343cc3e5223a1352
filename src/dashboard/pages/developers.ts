/**
 * For developers: API keys, which are created, shown once and revoked.
 */
import { createKey, revokeKey, whyNoKeys } from '../../acts/keys.ts';
import { scopes } from '../../database/column-values.ts';
import type { ApiKey } from '../../database/keys.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, list, section } from '../../web/list.ts';
import { ago, badge, copyCode, data, time } from '../../web/show.ts';
import { formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Page, Reply, StoreAt, Visit } from '../page.ts';
import { sentence } from '../texts.ts';

const KEYS_SHOWN = 100;
const PATH = '/s/:store/:mode/developers';

/** The line of a signed call that says whose key it is. */
const merchantHeader = ({ storeId }: StoreAt): string => `X-Merchant-Id: ${storeId}`;

const creating = formOf(createKey, {
  path: `${PATH}/keys`,
  inputs: ['name', 'scopes'],
  hint: 'The key is sent with each request; the secret only signs them, and is never sent.',
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
  const form = creating.show(visit, { button: words.say('Create the key'), texts, look: 'main' });
  return {
    title: words.say('API keys'),
    content: html`${section(
      'ids',
      words.say('Your store in the API'),
      facts([
        [words.say('Merchant id'), copyCode(at.storeId)],
        [words.say('Header'), copyCode(merchantHeader(at))],
        [words.say('Mode'), words.say(`general.mode_${at.mode}`)],
      ]),
    )}
${section('keys', words.say('API keys'), keyTable(visit, own.slice(0, KEYS_SHOWN), nowMs), 'plain')}
${obstacle ? html`<p class="card">${sentence(words, obstacle)}</p>` : section('new', words.say(`developers.new_${at.mode}`), html`${form}`)}
<p class="hint">${words.html('{reference} describes every call, with examples to copy.', { reference: html`<a href="${config.baseUrl}/docs">${words.say('The reference')}</a>` })}</p>`,
  };
}

function keyTable(visit: Visit<StoreAt>, keys: readonly ApiKey[], nowMs: number): Html {
  const { words } = visit;
  const button = words.say('Revoke');
  const revoke = ({ id, hint }: ApiKey) => revoking.show(visit, { button, given: { key: id }, about: hint });
  return list<ApiKey>({
    caption: words.say('API keys'),
    columns: [
      [words.say('Name'), ({ name }) => data(name ?? '–')],
      [words.say('Key'), ({ id, hint }) => html`<code title="${id}">${hint}</code>`],
      [words.say('Permissions'), (key) => data(key.scopes.join(', '))],
      [
        words.say('Created'),
        ({ createdAtMs, createdBy }) =>
          html`${time(createdAtMs)}${createdBy === null ? null : html` <span class="hint">${words.html('by {person}', { person: createdBy })}</span>`}`,
      ],
      [
        words.say('Last used'),
        ({ lastUsedAtMs, lastUsedFrom }) =>
          lastUsedAtMs === null
            ? words.say('never')
            : words.html('{ago} from {address}', {
                ago: ago(words, lastUsedAtMs, nowMs),
                address: lastUsedFrom ?? '–',
              }),
      ],
      [
        words.say('State'),
        (key) =>
          key.revokedAtMs === null
            ? html`<div>${badge(words.say('works'), 'good')}${revoke(key)}</div>`
            : badge(words.say('revoked'), 'wait'),
        'lead',
      ],
    ],
    rows: keys,
    empty: words.say('There is no key of this mode yet.'),
  });
}
