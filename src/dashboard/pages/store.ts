/**
 * A store’s policy, look and people, and the form for a new store, which waits for the operator’s approval.
 */
import { oneOf, refuse, type Sentence, say } from '../../acts/act.ts';
import { linkPerson, membersOf, removePerson } from '../../acts/people.ts';
import { NAME_CHARS_MAX, readName, storeSettings } from '../../acts/store-settings.ts';
import { setStore } from '../../acts/stores.ts';
import { currencies } from '../../core/transfer.ts';
import type { Person } from '../../database/people.ts';
import { WAITING_STORES_MAX } from '../../database/stores.ts';
import { type Html, html } from '../../lib/html.ts';
import { storeIdOf } from '../../lib/id.ts';
import { list, section } from '../../web/list.ts';
import { badge, data, time } from '../../web/show.ts';
import { browserAct, formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Page, Reply, StoreAt, Visit } from '../page.ts';

const PATH = '/s/:store/:mode/settings';

const saving = formOf(setStore, { path: PATH, inputs: storeSettings.map(({ name }) => name) });

const readCurrency = oneOf(currencies);
const storeName = (text: string): string | Sentence =>
  readName(text) ?? say('A store has a name of 1 to {count} characters and a coin.', { count: NAME_CHARS_MAX });

/** A store of one's own, which waits for the operator's approval. */
const requestStore = browserAct({
  name: 'store add',
  needs: 'to be signed in',
  asks: 'second factor',
  fields: {
    name: {
      label: say('Name, as payers see it'),
      charsMax: NAME_CHARS_MAX,
      isProse: true,
      isRequired: true,
      read: storeName,
    },
    settlement: {
      label: say('Stablecoin that other currencies are converted to'),
      choices: currencies,
      isRequired: true,
      read: readCurrency,
    },
  },
  async plan({ newId }, { name, settlement }) {
    return { id: storeIdOf(newId), name, settlement };
  },
  review: ({ name, settlement }) => ({
    title: say('Create {name}?', { name }),
    facts: [
      [say('Name'), name],
      [say('Stablecoin that other currencies are converted to'), settlement],
    ],
    button: say('Create the store'),
  }),
  async run({ database, issue, act, nowMs, visit }, { id, name, settlement }) {
    if (await database.stores.find(id)) return { said: say('This store was created already.'), json: { id } };
    const made = { ...issue.store(name, settlement, nowMs), id };
    const isMade = await database.stores.request(made, visit.visitor.person.id, act);
    return isMade
      ? { said: say('The store is created, and waits for approval.'), json: { id } }
      : refuse('refused', say('At most {count} of your stores can wait for approval.', { count: WAITING_STORES_MAX }));
  },
});
const requesting = formOf(requestStore, {
  path: '/stores/new',
  inputs: ['name', 'settlement'],
  to: '/s/:id/test/developers',
});

export const storePages = (deps: DashboardDeps): readonly Page[] => [
  ...pageWith(deps, { path: PATH, needs: 'store:manage', answer: (visit) => storePage(deps, visit) }, [
    ...[saving, inviting, removing],
  ]),
  ...pageWith(deps, { path: '/stores/new', needs: 'to be signed in', answer: async (visit) => newStorePage(visit) }, [
    requesting,
  ]),
];

async function storePage(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { at, words } = visit;
  const store = await deps.database.stores.find(at.storeId);
  if (!store) return null;
  const values = await deps.database.stores.values(at.storeId);
  const settings = saving.show(visit, {
    ...{ button: words.say('Continue'), look: 'main' },
    texts: Object.fromEntries(storeSettings.map(({ name, write }) => [name, write(values)])),
    headings: {
      settlement: words.say('Payments'),
      refundWindow: words.say('Refunds'),
      accent: words.say('Look of the payment page'),
    },
    below: html`<p class="hint">${words.html('Open payments keep their terms. The operator of this installation sets the logo, the conditions of credits, and refunds before a payment is final: `quayside store set`.')}</p>`,
  });
  return {
    title: words.say('Settings'),
    content: html`${section('policy', words.say('Settings'), html`${settings}`)}
${await teamSection(deps, visit)}`,
  };
}

const newStorePage = (visit: Visit<null>): Reply => ({
  title: visit.words.say('New store'),
  content: html`<div class="card">${requesting.show(visit, {
    button: visit.words.say('Continue'),
    below: html`<p class="hint">${visit.words.say('The operator approves it; then you can make keys. You become its owner.')}</p>`,
    look: 'main',
  })}</div>`,
});

const PEOPLE_PATH = '/s/:store/:mode/settings/people';

const inviting = formOf(linkPerson, { path: PEOPLE_PATH, inputs: ['name', 'role'] });
const removing = formOf(removePerson, { path: `${PEOPLE_PATH}/remove`, inputs: ['name'] });

async function teamSection(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Html> {
  const { at, visitor, words } = visit;
  const isOwn = ({ id }: Person): boolean => id === visitor.person.id;
  const role = ({ memberships, isReady }: Person): Html => {
    const own = memberships.find(({ storeId }) => storeId === at.storeId)?.role;
    return html`${own === undefined ? null : words.say(`general.role_${own}`)} ${isReady ? null : badge(words.say('link not used yet'), 'wait')}`;
  };
  const people = list<Person>({
    caption: words.say('People'),
    columns: [
      [words.say('Name'), (one) => (isOwn(one) ? words.html('{name} (you)', { name: one.name }) : data(one.name))],
      [words.say('Role'), role, 'lead'],
      [words.say('Created'), ({ createdAtMs }) => time(createdAtMs)],
      [
        words.say('Change'),
        (one) =>
          isOwn(one)
            ? html`<a href="/account">${words.say('My account')}</a>`
            : removing.show(visit, {
                button: words.say('Remove from the team'),
                given: { name: one.name },
                look: 'small',
              }),
      ],
    ],
    rows: await membersOf(deps.database.people, at.storeId),
    empty: '',
  });
  const invite = inviting.show(visit, {
    button: words.say('Continue'),
    texts: { role: 'staff' },
    below: html`<p class="hint">${words.say('You get a link to hand over. It works once, for a day, and sets their password and second factor.')}</p>`,
    opens: words.say('Add somebody'),
  });
  return section('people', words.say('People'), html`${people}<div class="card">${invite}</div>`, 'plain');
}
