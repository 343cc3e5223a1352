/**
 * Stores and people of the installation, for the operator: stores that wait are approved or refused, an approved one is
 * suspended and resumed; who may sign in.
 */
import { REASON_CHARS_MAX } from '../../acts/act.ts';
import { decideStore, meanings, type StoreDecision, storeDecisions } from '../../acts/store-decisions.ts';
import type { Person } from '../../database/people/person.ts';
import type { MerchantStore } from '../../database/stores.ts';
import { type Html, html } from '../../lib/html.ts';
import { list, section } from '../../web/list.ts';
import { planAct } from '../act-form.ts';
import { changeFields, commonChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { badge, data, faultMessage, moreLink, time } from '../show.ts';
import { rolesText } from './account.ts';

const PATH = '/operator/stores';
const ROWS_MAX = 50;

export const operatorStorePages = (deps: DashboardDeps): readonly CommonPage[] => [
  { method: 'get', path: PATH, needs: 'installation:read', answer: (visit) => page(deps, visit, null) },
  ...storeDecisions.map((decision) =>
    commonChange(deps, {
      path: `${PATH}/:merchant/${decision}`,
      needs: decideStore.needs,
      plan: (visit) =>
        planAct(deps, visit, decideStore, {
          texts: { store: visit.params.merchant, decision },
          back: PATH,
          reason: meanings[decision].needsReason
            ? (visit.form.because ?? '').trim().slice(0, REASON_CHARS_MAX) || null
            : null,
          refused: (fault) => page(deps, visit, fault),
        }),
    }),
  ),
];

async function page({ database }: DashboardDeps, visit: Visit<null>, fault: Html | null): Promise<Reply> {
  const { words, query } = visit;
  const stores = (await database.stores.list()).toReversed();
  const last = query.get('after');
  const start = stores.findIndex(({ id }) => id === last) + 1;
  const people = await database.people.list();
  const shown = stores.slice(start, start + ROWS_MAX);
  const isMore = stores.length > start + ROWS_MAX;
  const older = isMore ? moreLink(words, `${PATH}?after=${shown.at(-1)?.id}`) : null;
  const names = new Map(stores.map(({ id, name }) => [id, name]));
  return {
    title: 'Stores and people',
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}${section('all', 'Stores', html`${storeList(visit, shown, people)}${older}`, 'plain')}
${last ? null : section('people', 'People', peopleList(visit, people, names), 'plain')}`,
  };
}

const ownersOf = ({ id }: MerchantStore, people: readonly Person[]): Html => {
  const owners = people.filter(({ memberships }) =>
    memberships.some(({ storeId, role }) => storeId === id && role === 'owner'),
  );
  return data(owners.map(({ name }) => name).join(', ') || 'none');
};

const form = (visit: Visit<null>, store: MerchantStore, decision: StoreDecision): Html => {
  const { needsReason, needsFactor, button } = meanings[decision];
  const look = needsReason || !needsFactor ? html` class="plain small"` : null;
  const reason = needsReason
    ? html`<label>Reason, which its owner sees <input name="because" maxlength="${REASON_CHARS_MAX}" required></label>`
    : null;
  const content = html`<form method="post" action="${PATH}/${store.id}/${decision}">${changeFields(visit)}${reason}<button${look} aria-label="${button}: ${store.name}">${button}</button></form>`;
  return needsReason ? html`<details><summary>${button}: ${data(store.name)}</summary>${content}</details>` : content;
};

function stateOf({ status, suspension, refusal }: MerchantStore): Html {
  const stopped = suspension ?? refusal;
  if (stopped) {
    return html`${badge(suspension ? 'suspended' : 'refused', 'danger')} <span class="hint">${data(stopped.because)}</span>`;
  }
  return status === 'approved' ? badge('approved', 'good') : badge('waiting', 'attention');
}

const storeList = (visit: Visit<null>, stores: readonly MerchantStore[], people: readonly Person[]): Html =>
  list<MerchantStore>({
    caption: 'Stores',
    columns: [
      ['Store', ({ name }) => data(name)],
      ['Merchant id', ({ id }) => html`<code>${id}</code>`],
      ['Owner', (store) => ownersOf(store, people)],
      ['Created', ({ createdAtMs }) => time(createdAtMs), 'newest'],
      ['State', stateOf, 'lead'],
      [
        'Change',
        (store) =>
          html`${storeDecisions.filter((one) => meanings[one].fits(store)).map((one) => form(visit, store, one))}`,
      ],
    ],
    rows: stores,
    empty: html`There is no store yet. <a href="/stores/new">Make one</a>.`,
  });

const peopleList = ({ words }: Visit<null>, people: readonly Person[], stores: ReadonlyMap<string, string>): Html =>
  html`${list<Person>({
    caption: 'People',
    columns: [
      ['Name', ({ name }) => data(name)],
      ['Roles', ({ memberships }) => rolesText(words, memberships, (id) => stores.get(id) ?? id)],
      ['Created', ({ createdAtMs }) => time(createdAtMs)],
      [
        'State',
        ({ removedAtMs, isReady }) =>
          removedAtMs !== null
            ? badge('removed', 'wait')
            : isReady
              ? badge('can sign in', 'good')
              : badge('has not used the link', 'wait'),
        'lead',
      ],
    ],
    rows: people,
    empty: '',
  })}
<p class="hint"><code>quayside user link NAME --role ROLE</code> adds somebody; <code>quayside user link NAME</code> makes a new link.</p>`;
