/**
 * Stores and people of the installation, for the operator: stores are approved and suspended; who may sign in.
 */
import { say } from '../../acts/act.ts';
import { decideStore, meanings } from '../../acts/store-decisions.ts';
import type { Person } from '../../database/people.ts';
import { type MerchantStore, type StoreDecision, storeDecisions } from '../../database/stores.ts';
import { type Html, html } from '../../lib/html.ts';
import { list, section } from '../../web/list.ts';
import { badge, data, time } from '../../web/show.ts';
import { formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Page, Reply, Visit } from '../page.ts';
import { rolesText } from './account.ts';

const PATH = '/operator/stores';

const deciding = formOf(decideStore, { path: `${PATH}/:store/:decision` });

export const operatorStorePages = (deps: DashboardDeps): readonly Page[] =>
  pageWith(deps, { path: PATH, needs: 'installation:read', answer: (visit) => page(deps, visit) }, [deciding]);

async function page(deps: DashboardDeps, visit: Visit<null>): Promise<Reply> {
  const { people: persons, stores: shops } = deps.database;
  const [people, stores] = [await persons.list(), await shops.list()];
  const names = new Map(stores.map(({ id, name }) => [id, name]));
  return {
    title: 'Stores and people',
    content: html`${section('all', 'Stores', storeList(visit, stores, people), 'plain')}
${section('people', 'People', peopleList(visit, people, names), 'plain')}`,
  };
}

const ownersOf = ({ id }: MerchantStore, people: readonly Person[]): Html => {
  const owners = people.filter(({ memberships }) =>
    memberships.some(({ storeId, role }) => storeId === id && role === 'owner'),
  );
  return data(owners.map(({ name }) => name).join(', ') || 'none');
};

const form = (visit: Visit<null>, { id, name }: MerchantStore, decision: StoreDecision): Html | null => {
  const { needsReason, needsFactor, button } = meanings[decision];
  return deciding.show(visit, {
    button,
    given: { store: id, decision },
    about: name,
    look: needsReason || !needsFactor ? 'small' : 'main',
    ...(needsReason && { reason: say('Reason, which its owner sees'), opens: html`${button}: ${data(name)}` }),
  });
};

/** Shows the state of a store, and why it is stopped. */
function storeState({ status, suspension }: MerchantStore): Html {
  if (suspension) return html`${badge('suspended', 'danger')} ${data(suspension.because)}`;
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
      ['State', storeState, 'lead'],
      [
        'Change',
        (store) =>
          html`${storeDecisions.filter((one) => meanings[one].fits(store)).map((one) => form(visit, store, one))}`,
      ],
    ],
    rows: stores.toReversed(),
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
