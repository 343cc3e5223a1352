/**
 * A store’s policy, look and people, and the form for a new store, which waits for the operator’s approval.
 */
import { linkPerson, membersOf, removePerson } from '../../acts/people.ts';
import { addStore } from '../../acts/store-add.ts';
import { storeSettings } from '../../acts/store-settings.ts';
import { setStore } from '../../acts/stores.ts';
import type { Person } from '../../database/people.ts';
import { type Html, html } from '../../lib/html.ts';
import { list, section } from '../../web/list.ts';
import { badge, data, time } from '../../web/show.ts';
import { formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Page, Reply, StoreAt, Visit } from '../page.ts';

const PATH = '/s/:store/:mode/settings';

const saving = formOf(setStore, { path: PATH, inputs: storeSettings.map(({ name }) => name) });

const requesting = formOf(addStore, {
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
    button: words.say('Continue'),
    look: 'main',
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
